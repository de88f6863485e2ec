use std::time::Duration;

use claimstream_domain::{DeadLetterFilter, DeadLetterPlace, MessageId, QueueName, Reason};
use clap::{Args, Subcommand};
use uuid::Uuid;

use crate::{ids::uuid, operator_name::OperatorName};

/// What is done with dead letters.
#[derive(Clone, Subcommand)]
pub(crate) enum DeadCommand {
    /// List the newest dead letters, without what they carry
    List {
        #[command(flatten)]
        filter: DeadFilter,
        /// The most to list
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Read on from here: the place that the page before named
        #[arg(long, value_name = "PLACE")]
        after: Option<DeadLetterPlace>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Count dead letters by queue and reason, the most frequent first
    Reasons {
        #[command(flatten)]
        filter: DeadFilter,
        /// Look at so many of the newest
        #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one dead letter with its payload
    Show {
        /// The message's id
        #[arg(value_name = "ID", value_parser = uuid)]
        id: Uuid,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put dead letters back into their queues, with no attempts counted
    ///
    /// Without --yes it says how many there are, asks on a terminal, and changes nothing elsewhere.
    Revive(DeadChange),
    /// Delete dead letters for good
    ///
    /// Without --yes it says how many there are, asks on a terminal, and changes nothing elsewhere.
    Purge(DeadChange),
}

#[derive(Clone, Args)]
pub(crate) struct DeadFilter {
    /// Only those of this queue
    #[arg(long)]
    pub(crate) queue: Option<QueueName>,
    /// Only this message; may be given again
    #[arg(long = "id", value_name = "ID", value_parser = message_id)]
    pub(crate) ids: Vec<MessageId>,
    /// Only those that have been dead for this long, such as 7d
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,
    /// Only those that were given up for exactly this reason
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Args)]
pub(crate) struct DeadChange {
    #[command(flatten)]
    pub(crate) filter: DeadFilter,
    /// At most this many, the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// All of them; needed where nothing else is given
    #[arg(long, conflicts_with_all = ["queue", "ids", "older_than", "reason", "limit"])]
    pub(crate) all: bool,
    /// Do it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON, and never ask
    #[arg(long)]
    pub(crate) json: bool,
}

impl DeadChange {
    /// Whether it says which letters are meant, so that none is changed by a slip.
    pub(crate) fn says_which(&self) -> bool {
        let DeadFilter { queue, ids, older_than, reason } = &self.filter;
        let is_filtered = queue.is_some() || !ids.is_empty() || older_than.is_some() || reason.is_some();
        is_filtered || self.all || self.limit.is_some()
    }
}

impl From<DeadFilter> for DeadLetterFilter {
    fn from(filter: DeadFilter) -> Self {
        let DeadFilter { queue, ids, older_than, reason } = filter;
        Self { queue, ids, dead_for: older_than, reason: reason.map(Reason::new) }
    }
}

fn message_id(text: &str) -> Result<MessageId, String> {
    uuid(text).map(MessageId::new)
}

/// Reads a duration such as `7d`.
pub(crate) fn duration(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}
