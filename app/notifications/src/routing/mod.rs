//! Which provider a message goes to, and what spares and limits each of them.

mod attempt;
mod guard;
mod limits;
mod local_rates;
mod named_provider;
mod providers;
mod route;
mod slots;
#[cfg(test)]
mod tests;
mod tokens;

pub use limits::ProviderLimits;
pub use local_rates::LocalRates;
pub use named_provider::{NamedProvider, ProviderState};
pub use providers::Providers;
pub use route::Route;

pub(super) use attempt::{DeliveryEnd, ProviderCall};
