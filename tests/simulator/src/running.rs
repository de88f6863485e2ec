use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use claimstream::{BatchHandler, Handler, Verdict, Verdicts};
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

#[async_trait]
impl<H: BatchHandler> BatchHandler for Noted<H> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let running = batch.iter().map(|claimed| Some(self.journal.begins(self.process, claimed)));
        let noted = NotedVerdicts { running: Mutex::new(running.collect()), verdicts };
        self.handler.handle_batch(batch, &noted).await;
    }
}

/// The verdicts of a batch; with its verdict the handler has left a message.
struct NotedVerdicts<'a> {
    running: Mutex<Vec<Option<Running>>>,
    verdicts: &'a dyn Verdicts,
}

impl Verdicts for NotedVerdicts<'_> {
    fn give(&self, index: usize, verdict: Verdict) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.get_mut(index).and_then(Option::take);
        let verdict = match &running {
            Some(running) => running.says(verdict),
            None => verdict,
        };
        drop(running);
        self.verdicts.give(index, verdict);
    }
}
