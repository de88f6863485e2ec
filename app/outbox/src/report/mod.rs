//! What a pipeline reports: its health, its counts, its dead letters, and its log.

mod dead_letter_event;
mod log_limit;
mod pipeline_monitor;
mod pipeline_report;
mod redact;

pub(crate) use dead_letter_event::{Attempted, Hook};
pub use dead_letter_event::{DeadLetterClass, DeadLetterEvent};
pub(crate) use log_limit::{LogLimit, Unlogged};
pub(crate) use pipeline_monitor::Health;
pub use pipeline_monitor::{PipelineMonitor, PipelineState};
pub use pipeline_report::PipelineReport;
pub(crate) use redact::shown;
