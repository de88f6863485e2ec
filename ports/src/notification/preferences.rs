use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    Fingerprint, Invalid,
    notification::consent::{Address, PreferenceChange, Preferences, SuppressedAddress, Suppression},
};

use crate::{StoreError, StoreErrorKind};

/// Keeps what recipients want.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PreferenceRepository: Send + Sync {
    /// Reads what recipients want, by the keys of [`preference_key`](claimstream_domain::notification::consent::preference_key),
    /// and which addresses are suppressed: all that one step of a fan-out needs, in as few statements as the store can.
    ///
    /// Implementors owe: one answer for each recipient and one for each address, in order; preferences that say nothing
    /// where none are kept; the store's own time.
    async fn consents(
        &self,
        recipients: &[String],
        addresses: &[Address],
    ) -> Result<ConsentsRead, StoreError>;

    /// Changes the preferences of one recipient and answers what they are then.
    ///
    /// Implementors owe: all changes are made or none is; two calls for the same recipient follow each other, and none is lost;
    /// what [`PreferenceChange::apply`] refuses is the error of [`refused_change`], and nothing changes.
    async fn change(&self, recipient: &str, changes: &[PreferenceChange]) -> Result<Preferences, StoreError>;
}

/// The error of a change that is refused: of the kind `Conflict` if the preferences have changed meanwhile, else `Corrupt`.
pub fn refused_change(invalid: Invalid) -> StoreError {
    let kind = match invalid {
        Invalid::Changed { .. } => StoreErrorKind::Conflict,
        _ => StoreErrorKind::Corrupt,
    };
    StoreError::new(kind, "preferences", invalid)
}

/// What is known of recipients and addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsentsRead {
    /// What each recipient wants, in order.
    pub preferences: Vec<Preferences>,
    /// Why each address must not be written to, in order; `None` for one that may be.
    pub suppressed: Vec<Option<Suppression>>,
    /// How long ago 1970-01-01 00:00 UTC was when this was so, by the store's clock: quiet hours are hours of a day, and only this says
    /// which one it is.
    pub since_1970: Duration,
}

/// Keeps addresses that must not be written to.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Suppressions: Send + Sync {
    /// Suppresses an address.
    ///
    /// Implementors owe: of two reasons the stronger one is kept, and the moment of the first; a note replaces the one before.
    async fn suppress(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<String>,
    ) -> Result<(), StoreError>;

    /// Lets an address be written to again; says whether it was suppressed.
    async fn lift(&self, address: &Address) -> Result<bool, StoreError>;

    /// A page of the suppressed addresses, at most `limit`, after the one of the key `after`, in an order that does not change.
    async fn suppressed(
        &self,
        after: Option<Fingerprint>,
        limit: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError>;
}
