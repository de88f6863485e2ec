use std::collections::BTreeMap;

use claimstream_domain::{
    Fingerprint, Timestamp,
    notification::{
        ERASED,
        consent::{Address, Preferences, Suppression},
    },
};

/// What recipients want, and the addresses that must not be written to.
#[derive(Debug, Default)]
pub(crate) struct Consents {
    pub(crate) preferences: BTreeMap<String, Preferences>,
    /// By the bytes of their fingerprints, which is the order of their pages.
    pub(crate) suppressed: BTreeMap<[u8; Fingerprint::BYTES], SuppressionRow>,
}

/// An address that must not be written to.
#[derive(Clone, Debug)]
pub(crate) struct SuppressionRow {
    pub(crate) key: Fingerprint,
    pub(crate) address: Address,
    pub(crate) reason: Suppression,
    pub(crate) note: Option<String>,
    pub(crate) since: Timestamp,
}

impl Consents {
    /// Forgets whose some addresses are; they are suppressed as before.
    pub(crate) fn forget_owner(&mut self, addresses: &[Address]) {
        for address in addresses {
            if let Some(row) = self.suppressed.get_mut(address.fingerprint().as_bytes()) {
                (row.address, row.note) = (Address::new(address.channel(), ERASED), None);
            }
        }
    }

    /// Spells a suppressed address, whether its owner was forgotten before or not.
    pub(crate) fn spell(&mut self, address: Address) {
        if let Some(row) = self.suppressed.get_mut(address.fingerprint().as_bytes()) {
            row.address = address;
        }
    }

    /// Why an address must not be written to.
    pub(crate) fn suppression(&self, address: &Address) -> Option<Suppression> {
        self.suppressed.get(address.fingerprint().as_bytes()).map(|row| row.reason)
    }

    /// Suppresses an address; of two reasons the stronger one stays.
    pub(crate) fn suppress(
        &mut self,
        address: &Address,
        reason: Suppression,
        note: Option<String>,
        since: Timestamp,
    ) {
        let new = SuppressionRow {
            key: address.fingerprint(),
            address: address.clone(),
            reason,
            note: None,
            since,
        };
        let row = self.suppressed.entry(*address.fingerprint().as_bytes()).or_insert(new);
        row.reason = reason.or(Some(row.reason));
        row.note = note.or(row.note.take());
    }
}
