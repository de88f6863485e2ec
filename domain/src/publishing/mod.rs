//! What becomes of a message that goes to a broker: its place, its CloudEvent, its copies for several brokers, and what
//! follows when a broker does not confirm it.

mod cloud_event;
mod copy;
mod outage_pacing;
mod route;
mod template;

pub use cloud_event::{CloudEvent, EventDescription};
pub use copy::{Origin, copy_for};
pub use outage_pacing::{Confirmed, NextStep, OutagePacing, Unconfirmed};
pub use route::{EventMode, Route};
pub use template::{Facts, RouteTemplate};
