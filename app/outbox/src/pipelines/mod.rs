//! Handles claimed messages: pipelines of single messages and of batches.

mod attempt;
mod attempts;
mod batch_attempts;
mod batch_call;
mod batch_pipeline;
mod failed_attempts;
mod future_set;
mod handler_fn;
mod pipeline;
mod run;
mod time_limit;
mod verdict_box;
mod work;

pub use batch_pipeline::BatchPipeline;
pub use handler_fn::handler_fn;
pub use pipeline::Pipeline;
