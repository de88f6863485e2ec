use std::pin::Pin;

use claimstream_ports::StoreError;

use crate::{database::capability::Capability, sweep::round::Round};

/// What a part of a sweep is doing, within a round.
pub(crate) type Sweeping<'a> = Pin<Box<dyn Future<Output = Result<Vec<Deleted>, StoreError>> + Send + 'a>>;

/// How many rows of what are gone.
pub(crate) type Deleted = (&'static str, u64);

type Run = dyn for<'a> Fn(&'a mut Round, i64) -> Sweeping<'a> + Send + Sync;

/// A part of a sweep that another capability than the outbox adds.
pub(crate) struct Part {
    /// Its name in logs.
    pub(crate) name: &'static str,
    /// Where its tables are missing, it is left out.
    pub(crate) capability: Capability,
    run: Box<Run>,
}

impl Part {
    /// Deletes in a round what is old at this moment, in microseconds since 1970.
    pub(crate) fn run<'a>(&self, round: &'a mut Round, now: i64) -> Sweeping<'a> {
        (self.run)(round, now)
    }

    pub(crate) fn new(
        name: &'static str,
        capability: Capability,
        run: impl for<'a> Fn(&'a mut Round, i64) -> Sweeping<'a> + Send + Sync + 'static,
    ) -> Self {
        Self { name, capability, run: Box::new(run) }
    }
}
