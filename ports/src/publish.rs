use async_trait::async_trait;
use claimstream_domain::{Publication, Published};

/// A broker that takes messages out of the outbox.
///
/// Implementors owe:
///
/// * An answer for each publication, in the order in which they were given, in bounded time. `Confirmed` is said only of what
///   the broker itself has confirmed as kept.
/// * The publications of one key reach the broker in the order in which they were given. After one that is not confirmed, a later one of
///   the same key and the same call is not confirmed either, and is not sent where that can be helped.
/// * A lost connection makes publications `Unconfirmed`; the next call connects again.
///
/// Callers may publish again what was not confirmed. The broker may then have it twice, under the same id.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Publish: Send + Sync {
    /// Publishes messages, all of one call together.
    async fn publish(&self, publications: &[Publication]) -> Vec<Published>;
}
