use std::time::Duration;

use claimstream_domain::{
    Timestamp,
    saga::SagaId,
    step::{RunEnds, RunFilter, RunKind, RunPlace},
    tcc::GlobalId,
    timer_event::{SchemeName, TimerPlace},
};
use clap::{Args, Subcommand};

use crate::{dead_arguments::duration, ids::uuid, operator_name::OperatorName};

/// Which runs are listed, and how.
#[derive(Clone, Args)]
pub(crate) struct RunListing {
    /// Only those in which nothing has changed for this long, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    stuck_for: Option<Duration>,
    /// Those that have ended too, as long as their rows are kept
    #[arg(long)]
    all: bool,
    /// The most to list
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Read on from here: the place that the page before named
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<RunPlace>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunListing {
    /// The runs of a kind that are meant; all of that kind, or those of one name.
    pub(crate) fn filter(&self, kind: RunKind, name: Option<&str>) -> RunFilter {
        RunFilter {
            kind,
            scope: name.map(|name| kind.scope(name).into()),
            ends: if self.all { RunEnds::All } else { RunEnds::Open },
            quiet_for: self.stuck_for.unwrap_or_default(),
        }
    }
}

/// The sagas of the database that is their home.
#[derive(Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SagaArguments {
    #[command(subcommand)]
    pub(crate) command: Option<SagaCommand>,
    /// Only sagas of this name, such as transfer
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) listing: RunListing,
}

/// What is done with one saga.
#[derive(Clone, Subcommand)]
pub(crate) enum SagaCommand {
    /// Show a saga with its steps and its messages, without its input
    Show(SagaNamed),
    /// Enqueue a message that continues a saga at once
    ///
    /// It does what the saga's check message does; a relay of the saga's queue does the rest. Nothing is enqueued while a message of the saga is
    /// due or held, or is a dead letter, and the command says so. It may be given at any time and any number of times. The exit code is 1 if nothing
    /// will continue the saga.
    Continue(SagaContinuing),
}

/// One saga.
#[derive(Clone, Args)]
pub(crate) struct SagaNamed {
    /// The name of the saga, such as transfer
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Its id
    #[arg(value_name = "ID", value_parser = saga_id)]
    pub(crate) id: SagaId,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A saga that is to be continued, and by whom.
#[derive(Clone, Args)]
pub(crate) struct SagaContinuing {
    #[command(flatten)]
    pub(crate) saga: SagaNamed,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
}

/// The TCC transactions of the database of their coordinator, or the branches of the database of their resource.
#[derive(Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TccArguments {
    #[command(subcommand)]
    pub(crate) command: Option<TccCommand>,
    /// List the branches in this database, whose transactions may be in others
    #[arg(long)]
    pub(crate) branches: bool,
    #[command(flatten)]
    pub(crate) listing: RunListing,
}

/// What is done with one TCC transaction.
#[derive(Clone, Subcommand)]
pub(crate) enum TccCommand {
    /// Show a transaction with its branches, as far as they are in this database
    Show {
        /// The transaction's id
        #[arg(value_name = "ID")]
        id: GlobalId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The timers of a database.
#[derive(Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TimerArguments {
    #[command(subcommand)]
    pub(crate) command: Option<TimerCommand>,
    /// The most to list
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Read on from here: the place that the page before named
    #[arg(long, value_name = "PLACE")]
    pub(crate) after: Option<TimerPlace>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is shown of the events of timers.
#[derive(Clone, Subcommand)]
pub(crate) enum TimerCommand {
    /// List the events that were begun and have not ended
    Events {
        /// Only those of this scheme
        #[arg(long, value_name = "SCHEME")]
        scheme: Option<SchemeName>,
        #[command(flatten)]
        listing: RunListing,
    },
    /// Show one event with its decisions and its messages
    Show {
        /// The scheme
        #[arg(value_name = "SCHEME")]
        scheme: SchemeName,
        /// The occurrence, such as 2026-12-01T02:00:00Z
        #[arg(value_name = "OCCURRENCE")]
        occurrence: Timestamp,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn saga_id(text: &str) -> Result<SagaId, String> {
    uuid(text).map(SagaId::new)
}
