use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{Handler, Verdict};
use claimstream_domain::{ClaimId, Claimed, MessageId};

use crate::{journal::Journal, said::Said, sim::Process};

/// A handler that is at a message, until it is dropped.
pub(crate) struct Running {
    pub(crate) journal: Arc<Journal>,
    pub(crate) id: MessageId,
    pub(crate) claim: ClaimId,
    pub(crate) process: Process,
}

impl Running {
    /// The handler gives its verdict.
    pub(crate) fn says(&self, verdict: Verdict) -> Verdict {
        let said = Said::of(&verdict);
        self.journal.said(self.process, self.id, self.claim, said);
        verdict
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.journal.leaves(self.process, self.id);
    }
}

/// A handler whose verdicts are noted in the journal.
pub(crate) struct Noted<H> {
    pub(crate) handler: H,
    pub(crate) journal: Arc<Journal>,
    pub(crate) process: Process,
}

#[async_trait]
impl<H: Handler> Handler for Noted<H> {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let running = self.journal.begins(self.process, claimed);
        running.says(self.handler.handle(claimed).await)
    }
}
