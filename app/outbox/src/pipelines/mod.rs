//! Handles claimed messages: pipelines of single messages and of batches.

mod batch_pipeline;
mod batch_progress;
mod call;
mod ended_attempt;
mod engine;
mod failed_attempts;
mod future_set;
mod handler_call;
mod handler_fn;
mod pipeline;
mod run;
mod time_limit;
mod verdict_box;

pub use batch_pipeline::BatchPipeline;
pub use handler_fn::handler_fn;
pub use pipeline::Pipeline;
