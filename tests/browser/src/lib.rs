//! What the tests of the board in a browser stand on: Chromium, a board with content, a walk over its pages, and what each page is
//! examined for.

mod alerts;
mod axe;
mod chromium;
mod eventually;
mod log;
mod operator;
mod provider;
mod requests;
mod screenshots;
mod session;
mod shape;
mod site;
mod walk;

pub use alerts::{Alerts, free_address};
pub use axe::{Axe, Findings};
pub use chromium::{Absent, Chromium};
pub use eventually::eventually;
pub use log::Log;
pub use operator::{Operator, Running};
pub use provider::{Mood, Provider};
pub use requests::USER;
pub use screenshots::Screenshots;
pub use session::Session;
pub use site::{HOSTILE, LEASED, QUEUE, Site, Tokens};
pub use walk::{Step, Stop, Walk};

/// Why a test could not go on.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
