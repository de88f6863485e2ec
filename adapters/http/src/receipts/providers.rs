use std::collections::BTreeMap;

use claimstream_domain::{Invalid, notification::provider::ProviderName};

use super::{ReceiptCheck, ReceiptMapping};

/// The providers whose receipts are taken, by their names.
#[derive(Clone, Debug, Default)]
pub struct ReceiptProviders(BTreeMap<ProviderName, ReceiptSource>);

/// How the receipts of one provider are checked and read.
#[derive(Clone, Debug)]
pub(crate) struct ReceiptSource {
    pub(crate) check: ReceiptCheck,
    pub(crate) mapping: ReceiptMapping,
}

impl ReceiptProviders {
    /// Takes the receipts of one more provider; refuses what [`ReceiptMapping::check`] refuses.
    pub fn with(
        mut self,
        provider: ProviderName,
        check: ReceiptCheck,
        mapping: ReceiptMapping,
    ) -> Result<Self, Invalid> {
        mapping.check()?;
        self.0.insert(provider, ReceiptSource { check, mapping });
        Ok(self)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &ProviderName> {
        self.0.keys()
    }

    pub(crate) fn of(&self, provider: &ProviderName) -> Option<&ReceiptSource> {
        self.0.get(provider)
    }
}
