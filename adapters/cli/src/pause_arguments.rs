use std::env;

use claimstream_domain::QueueName;
use clap::Args;

use crate::failure::Failure;

/// Which queue is paused, and what is noted with it.
#[derive(Args)]
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
#[derive(Args)]
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

/// The name that is kept with a change.
#[derive(Args)]
pub(crate) struct OperatorName {
    /// Your name, which is kept; the one that USER or LOGNAME has unless given
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl OperatorName {
    /// The name that was given, or that of the account.
    pub(crate) fn find(self) -> Result<String, Failure> {
        let of_account = || ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
        let mut known = self.by.into_iter().chain(of_account()).filter(|name| !name.is_empty());
        known.next().ok_or_else(|| Failure::Usage("your name is not known here; give it with --by".into()))
    }
}
