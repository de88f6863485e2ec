use std::{ops::Bound, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Fingerprint,
    notification::consent::{Address, PreferenceChange, Preferences, SuppressedAddress, Suppression},
};
use claimstream_ports::{
    StoreError,
    notification::{ConsentsRead, PreferenceRepository, Suppressions, refused_change},
};

use crate::{store::MemoryStore, tables::SuppressionRow};

#[async_trait]
impl PreferenceRepository for MemoryStore {
    async fn consents(
        &self,
        recipients: &[String],
        addresses: &[Address],
    ) -> Result<ConsentsRead, StoreError> {
        let now = self.database.now();
        let tables = self.database.tables();
        let consents = &tables.consents;
        let wants = |key: &String| consents.preferences.get(key).cloned().unwrap_or_default();
        Ok(ConsentsRead {
            preferences: recipients.iter().map(wants).collect(),
            suppressed: addresses.iter().map(|address| consents.suppression(address)).collect(),
            since_1970: Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or(0)),
        })
    }

    async fn change(&self, recipient: &str, changes: &[PreferenceChange]) -> Result<Preferences, StoreError> {
        let mut tables = self.database.tables();
        let kept = &mut tables.consents.preferences;
        let before = kept.get(recipient).cloned().unwrap_or_default();
        let after = changes.iter().try_fold(before, |before, change| change.apply(before));
        let after = after.map_err(refused_change)?;
        kept.insert(recipient.to_owned(), after.clone());
        Ok(after)
    }
}

#[async_trait]
impl Suppressions for MemoryStore {
    async fn suppress(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<String>,
    ) -> Result<(), StoreError> {
        let since = self.database.now();
        self.database.tables().consents.suppress(address, reason, note, since);
        Ok(())
    }

    async fn lift(&self, address: &Address) -> Result<bool, StoreError> {
        let mut tables = self.database.tables();
        Ok(tables.consents.suppressed.remove(address.fingerprint().as_bytes()).is_some())
    }

    async fn suppressed(
        &self,
        after: Option<Fingerprint>,
        limit: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError> {
        let now = self.database.now();
        let tables = self.database.tables();
        let after = after.map_or(Bound::Unbounded, |after| Bound::Excluded(*after.as_bytes()));
        let page = tables.consents.suppressed.range((after, Bound::Unbounded)).take(limit as usize);
        let age = |row: &SuppressionRow| {
            let micros = now.as_micros().saturating_sub(row.since.as_micros());
            Duration::from_micros(u64::try_from(micros).unwrap_or(0))
        };
        let shown = |row: &SuppressionRow| SuppressedAddress {
            key: row.key,
            address: row.address.clone(),
            reason: row.reason,
            note: row.note.clone(),
            age: age(row),
        };
        Ok(page.map(|(_, row)| shown(row)).collect())
    }
}
