use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::notification::{
    Priority,
    provider::{ProviderName, Rate},
};
use claimstream_ports::{Timer, notification::RateLimiter};

use super::slots::Slots;

/// The tokens of one provider that this process holds, and how it gets more.
pub(super) struct Tokens {
    rate: Rate,
    limiter: Arc<dyn RateLimiter>,
    stock: Mutex<Stock>,
    /// One message at a time asks for more; the others wait for what it brings, the most urgent first.
    asking: Arc<Slots>,
}

const PRIORITIES: usize = Priority::ALL.len();

#[derive(Debug, Default)]
struct Stock {
    tokens: u32,
    /// Tokens that are not used by then are forfeited, so that no process hoards them.
    until: Duration,
    /// When the last message of each priority that was put off is to come again: a one-time code does not wait for a campaign.
    lines: [Duration; PRIORITIES],
}

impl Tokens {
    /// How long tokens that were taken may be used.
    const KEPT: Duration = Duration::from_secs(1);
    /// How long messages wait while the limiter cannot be asked.
    const AWAY: Duration = Duration::from_secs(1);

    pub(super) fn new(rate: Rate, limiter: Arc<dyn RateLimiter>) -> Self {
        Self { rate, limiter, stock: Mutex::default(), asking: Slots::new(1) }
    }

    /// Takes a token, waiting for one until `deadline` at most.
    pub(super) async fn take(
        &self,
        name: &ProviderName,
        timer: &dyn Timer,
        deadline: Duration,
        priority: Priority,
    ) -> bool {
        if self.take_held(timer.now()) {
            return true;
        }
        let _asking = self.asking.take(priority).await;
        loop {
            let now = timer.now();
            if self.take_held(now) {
                return true;
            }
            if now >= deadline {
                return false;
            }
            match self.limiter.grant(name, self.rate, self.rate.block()).await {
                Ok(grant) if grant.tokens > 0 => self.keep(grant.tokens, timer.now()),
                Ok(grant) if timer.now() + grant.next <= deadline => timer.sleep(grant.next).await,
                Ok(_) => return false,
                Err(error) => {
                    tracing::warn!(provider = %name, %error, "no tokens can be had; messages wait");
                    let back = timer.now() + Self::AWAY;
                    let line = &mut self.stock().lines[priority as usize];
                    *line = back.max(*line);
                    return false;
                }
            }
        }
    }

    /// How long a message without a token waits: until its place in the line of its priority, which moves at the rate.
    pub(super) fn wait_in_line(&self, now: Duration, priority: Priority) -> Duration {
        let line = &mut self.stock().lines[priority as usize];
        *line = now.max(*line).saturating_add(self.rate.span(1));
        line.saturating_sub(now)
    }

    fn take_held(&self, now: Duration) -> bool {
        let mut stock = self.stock();
        if now >= stock.until {
            stock.tokens = 0;
        }
        let has = stock.tokens > 0;
        stock.tokens = stock.tokens.saturating_sub(1);
        has
    }

    fn keep(&self, tokens: u32, now: Duration) {
        let mut stock = self.stock();
        *stock = Stock { tokens: stock.tokens + tokens, until: now + Self::KEPT, lines: stock.lines };
    }

    fn stock(&self) -> std::sync::MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("rate", &self.rate).finish_non_exhaustive()
    }
}
