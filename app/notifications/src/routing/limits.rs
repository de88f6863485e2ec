use std::time::Duration;

use claimstream_domain::{
    Invalid,
    notification::provider::{BreakerPolicy, Rate},
};

/// What one provider is asked for at most, and when it is left alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProviderLimits {
    /// When its circuit opens, and for how long.
    pub breaker: BreakerPolicy,
    /// How long it may take for one message; after that, whether it has the message is unknown. As long as it likes by default.
    pub timeout: Option<Duration>,
    /// How many messages of this process it handles at a time; as many as come by default.
    pub concurrency: Option<u32>,
    /// How many messages it takes in a time, from all processes that share the rate limiter; as many as come by default.
    pub rate: Option<Rate>,
}

impl ProviderLimits {
    /// Refuses limits that let nothing pass.
    pub fn check(&self) -> Result<(), Invalid> {
        self.breaker.check()?;
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(none("timeout of a provider", "longer than zero"));
        }
        if self.concurrency == Some(0) {
            return Err(none("concurrency of a provider", "at least 1"));
        }
        Ok(())
    }
}

fn none(what: &'static str, allowed: &str) -> Invalid {
    Invalid::OutOfRange { what, given: "0".into(), allowed: allowed.into() }
}
