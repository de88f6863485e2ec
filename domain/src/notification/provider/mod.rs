//! How the providers of a channel are chosen, spared and limited: pure rules, time handed in.

mod answer_window;
mod breaker;
mod breaker_policy;
mod in_flight;
mod name;
mod rate;
mod selection;

pub use breaker::{Admission, Breaker, BreakerState, BreakerTurn, Pass};
pub use breaker_policy::BreakerPolicy;
pub use in_flight::InFlight;
pub use name::ProviderName;
pub use rate::{Grant, Rate, TokenSchedule};
pub use selection::{AfterUnknown, Selection};
