use claimstream_domain::QueueName;
use clap::Args;

use crate::operator_name::OperatorName;

/// Which queue is paused, and what is noted with it.
#[derive(Clone, Args)]
pub(crate) struct PauseArguments {
    /// The queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueName,
    /// The reason, for those who look at the queue
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which queue is resumed, and by whom.
#[derive(Clone, Args)]
pub(crate) struct ResumeArguments {
    /// The queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueName,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
