use std::{sync::Arc, task::Context, time::Duration};

use claimstream_domain::Invalid;
use claimstream_ports::Timer;
use futures::{FutureExt, future::BoxFuture};

use crate::{config::RelayConfig, setup::sleep};

/// Says when messages that wait are handed out as a batch: when there are enough of them, or when they have lingered
/// for long enough.
pub(crate) struct Linger {
    pub(crate) size: u32,
    pub(crate) age: Duration,
    wait: Wait,
}

/// How long those have waited that wait now.
enum Wait {
    /// Nothing waits, or it was not looked at yet.
    Unbegun,
    /// Not long enough until this is over.
    Until(BoxFuture<'static, ()>),
    /// Long enough; it may be that they cannot be handed out yet.
    Over,
}

impl Linger {
    /// As many as can be settled in one call, and no message lingers.
    pub(crate) fn of(config: &RelayConfig) -> Self {
        Self { size: config.settle_batch, age: Duration::ZERO, wait: Wait::Unbegun }
    }

    /// Refuses what could never work.
    pub(crate) fn check(&self, config: &RelayConfig) -> Result<(), Invalid> {
        let out_of_range = |what, given, allowed| Err(Invalid::OutOfRange { what, given, allowed });
        let longest = config.lease.renew_after();
        if self.size == 0 {
            return out_of_range("size of a batch", "0".to_owned(), "at least 1".to_owned());
        }
        if self.age >= longest {
            let allowed = format!("shorter than a third of the lease, {longest:?}");
            return out_of_range("age of a batch", format!("{:?}", self.age), allowed);
        }
        Ok(())
    }

    /// Whether the messages that wait, so many, are to be handed out now.
    pub(crate) fn is_due(&mut self, cx: &mut Context<'_>, waiting: usize, timer: &Arc<dyn Timer>) -> bool {
        if waiting == 0 {
            self.wait = Wait::Unbegun;
            return false;
        }
        if self.age.is_zero() || waiting >= self.size as usize {
            return true;
        }
        if let Wait::Unbegun = self.wait {
            self.wait = Wait::Until(sleep(timer, self.age));
        }
        if let Wait::Until(wait) = &mut self.wait
            && wait.poll_unpin(cx).is_ready()
        {
            self.wait = Wait::Over;
        }
        matches!(self.wait, Wait::Over)
    }

    /// A batch has been handed out; what is left lingers from now.
    pub(crate) fn handed_out(&mut self) {
        self.wait = Wait::Unbegun;
    }
}
