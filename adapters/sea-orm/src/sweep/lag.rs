use std::{fmt, sync::Arc, time::Duration};

/// Says how far the replicas are behind, as far as the service knows.
///
/// A sweep asks it once a second. It must not wait: let it answer with the value that was measured last.
///
/// ```
/// use std::time::Duration;
/// use claimstream_sea_orm::{LagGauge, OpenOptions};
///
/// # fn measured_last() -> Option<Duration> { None }
/// let options = OpenOptions { lag: Some(LagGauge::new(|| measured_last())), ..OpenOptions::default() };
/// ```
#[derive(Clone)]
pub struct LagGauge(Arc<dyn Fn() -> Option<Duration> + Send + Sync>);

impl LagGauge {
    /// A gauge that is read by a call; `None` where the lag is not known.
    pub fn new(read: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self) -> Option<Duration> {
        (self.0)()
    }
}

impl fmt::Debug for LagGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LagGauge").finish_non_exhaustive()
    }
}
