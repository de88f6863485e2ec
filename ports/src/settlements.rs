use async_trait::async_trait;
use claimstream_domain::{Lease, Receipt, Renewed, Settled, Settlement};

use crate::StoreError;

/// Ends and extends claims; every write shows its receipt.
///
/// Implementors owe:
/// * one answer for each entry, in the order of the entries;
/// * `Accepted` only if the claim was still the message's newest one and the disposition is durable, with what a
///   `Done` or a `Dead` emits in the same transaction;
/// * `Superseded`, and no change at all to that message, if the claim was lost;
/// * at most one `Accepted` for each claim of a message, also when a call is repeated;
/// * an answer of unknown outcome is found out by reading the claim back, not guessed; if it cannot be found out, the
///   error's kind is `Unavailable`;
/// * what is known is answered: trouble with some entries makes those `Unknown` and leaves the others their answers. A call
///   of which nothing is known ends with an error instead, so an error says that no entry was accepted or superseded as far
///   as the store knows, and a call about one entry is never answered with `Unknown`;
/// * an end in bounded time, well within a lease. A caller may give up a renewal that takes longer, as if it had ended
///   with `Unavailable`.
///
/// Callers owe: a receipt goes back to the store handle that it came from, or to a clone; another handle may answer it with
/// `Superseded`.
///
/// Callers may rely on: after an error, the same call may be made again, and so may one about the entries that were answered
/// with `Unknown`; a receipt whose renewal ended in an error or is `Unknown` settles and renews the claim whether or not the
/// renewal took effect.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Settlements: Send + Sync {
    /// Ends claims, each as its settlement says; answers one outcome for each.
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError>;

    /// Moves the end of claims to a whole `lease` from now. The receipts that come back replace the old ones.
    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError>;
}
