//! What becomes of a message that goes to a broker: its place, its CloudEvent, and its copies for several brokers.

mod cloud_event;
mod copy;
mod route;
mod template;

pub use cloud_event::{CloudEvent, EventDescription};
pub use copy::{Origin, copy_for};
pub use route::{EventMode, Route};
pub use template::{Facts, RouteTemplate};
