use async_trait::async_trait;
use claimstream_domain::notification::provider::{Grant, ProviderName, Rate};

use crate::StoreError;

/// Hands out the tokens of a provider's rate, to all processes that share it.
///
/// Implementors owe: all callers together get no more tokens in any time than the rate allows and one
/// [block](Rate::block); a caller that asks again after [`Grant::next`] gets a token unless others were faster.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Takes up to `wanted` tokens, to be used at once.
    async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError>;
}
