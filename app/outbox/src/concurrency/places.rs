use std::task::Context;

use super::shared_concurrency::ConcurrencyShare;

/// The places that a run holds of the limit that it shares with others; without a share there are always enough.
pub(crate) struct Places {
    share: Option<ConcurrencyShare>,
    asker: u64,
    held: usize,
}

impl Places {
    pub(crate) fn of(share: Option<ConcurrencyShare>) -> Self {
        Self { share, asker: ConcurrencyShare::fresh_asker(), held: 0 }
    }

    /// Room for up to `wanted` messages more; if there is none, the task is woken when there is.
    ///
    /// What is not made use of goes back by [`keep`](Self::keep).
    pub(crate) fn take(&mut self, cx: &mut Context<'_>, wanted: usize) -> usize {
        let Some(share) = &self.share else { return wanted };
        let taken = share.take(self.asker, u32::try_from(wanted).unwrap_or(u32::MAX), cx.waker()) as usize;
        self.held += taken;
        taken
    }

    /// Gives back all places but as many as are in use.
    pub(crate) fn keep(&mut self, in_use: usize) {
        let Some(share) = &self.share else { return };
        let freed = self.held.saturating_sub(in_use);
        self.held -= freed;
        share.give_back(u32::try_from(freed).unwrap_or(u32::MAX));
    }

    /// Asks for no more.
    pub(crate) fn stop(&self) {
        if let Some(share) = &self.share {
            share.withdraw(self.asker);
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.stop();
        self.keep(0);
    }
}
