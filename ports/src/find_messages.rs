use async_trait::async_trait;
use claimstream_domain::{MessageId, MessageStanding};

use crate::StoreError;

/// Answers people's questions about single messages; no decision is made by it.
///
/// Implementors owe: an answer is exact at one moment of the call; no call reads a queue as a whole.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait FindMessages: Send + Sync {
    /// Where messages stand; one answer for each, in order.
    ///
    /// `None` for a message that is finished or unknown, and for one that stands so far back in a long queue that the store does not
    /// look there.
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Option<MessageStanding>>, StoreError>;
}
