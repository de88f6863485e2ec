use claimstream_domain::{Event, Settled};

/// What became of the messages that a pipeline claimed.
///
/// Every claimed message is counted exactly once among `acked`, `nacked`, `buried`, `released`, `superseded` and
/// `unsettled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PipelineReport {
    /// Messages taken with a lease.
    pub claimed: u64,
    /// Finished.
    pub acked: u64,
    /// Put off to be tried again.
    pub nacked: u64,
    /// Given up and kept with the dead letters: by the handler's verdict, because their last attempt failed, because they
    /// had used up their attempts without one that ended, or because the store refused their children for good.
    pub buried: u64,
    /// Given back untried.
    pub released: u64,
    /// Leases that were lost; another instance has the message.
    pub superseded: u64,
    /// Settlements that the store did not take in time; these messages come back when their leases end.
    pub unsettled: u64,
    /// Handlers that panicked; their messages are counted above. One that was at a batch is counted as one.
    pub panicked: u64,
    /// Handlers that were stopped after [`handle_timeout`](crate::config::RelayConfig::handle_timeout); their messages are counted
    /// above. One that was at a batch is counted as one.
    pub timed_out: u64,
}

impl PipelineReport {
    /// Counts one settlement; `None` if the store could not say how it ended.
    pub(crate) fn count(&mut self, event: Event, settled: Option<Settled>) {
        let counter = match (settled, event) {
            (None | Some(Settled::Unknown), _) => &mut self.unsettled,
            (Some(Settled::Superseded), _) => &mut self.superseded,
            (Some(Settled::Accepted), Event::Ack) => &mut self.acked,
            (Some(Settled::Accepted), Event::Bury) => &mut self.buried,
            (Some(Settled::Accepted), Event::Release) => &mut self.released,
            (Some(Settled::Accepted), _) => &mut self.nacked,
        };
        *counter += 1;
    }
}
