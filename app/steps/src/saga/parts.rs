use std::sync::Arc;

use claimstream_domain::{Lease, QueueName, Reason, saga::SagaPlan};
use claimstream_ports::{DistributedLock, Timer};
use futures::future::BoxFuture;

use super::{SagaConfig, SagaHome, SagaRun, StepFailure, step::Step, tally::Counters};

/// What a kind of saga consists of.
pub(super) struct SagaParts<I, H: SagaHome> {
    /// The queue of its messages, whose name is the scope of its rows as well.
    pub(super) queue: QueueName,
    pub(super) home: H,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) config: SagaConfig,
    pub(super) plan: SagaPlan,
    pub(super) steps: Vec<Box<dyn Step<I>>>,
    pub(super) called_off: Option<CalledOff<I, H::Tx>>,
    pub(super) lock: Option<(Arc<dyn DistributedLock>, Lease)>,
    pub(super) counters: Counters,
}

/// What else is written when a saga is called off.
pub(super) type CalledOff<I, Tx> = Box<
    dyn for<'a> Fn(&'a Tx, &'a SagaRun<I>, &'a Reason) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync,
>;
