use claimstream_domain::ShardCount;
use claimstream_sea_orm::Dialect;
use clap::{Subcommand, ValueEnum};

use crate::{config::CapabilityList, operator_name::OperatorName};

/// What can be done with the tables.
#[derive(Clone, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the tables as a script for another tool
    Print {
        /// For which kind of database; that of database.url unless given
        #[arg(long)]
        dialect: Option<DialectName>,
        #[command(flatten)]
        uses: Uses,
        /// Into how many shards queues are cut, 1 to 256 [key: database.shards]
        #[arg(long, value_name = "N", value_parser = shards)]
        shards: Option<ShardCount>,
    },
    /// Show what `schema apply` would send to this database, how long each statement takes and whether writers wait; changes nothing
    ///
    /// Numbers of rows, and so the durations, are estimates by the server's statistics. The exit code is 0, whether or not there is
    /// something to do.
    Plan {
        #[command(flatten)]
        uses: Uses,
        /// Into how many shards queues are cut if the tables are new, 1 to 256 [key: database.shards]
        #[arg(long, value_name = "N", value_parser = shards)]
        shards: Option<ShardCount>,
        /// Print the statements too
        #[arg(long)]
        sql: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the tables of the outbox that are missing, and those of what else it is used for; those that are there stay as they are
    Apply {
        #[command(flatten)]
        uses: Uses,
        /// Into how many shards queues are cut, 1 to 256; `schema reshard` multiplies it later [key: database.shards]
        #[arg(long, value_name = "N", value_parser = shards)]
        shards: Option<ShardCount>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Cut the queues into more shards while they are at work, or show what that would do
    ///
    /// Each message with an ordering key goes to its new shard, and keys stay in order. It may be stopped at any point and run again.
    /// docs/resharding.md says what it takes.
    Reshard(ReshardArguments),
    /// Print the stored procedure by which programs in other languages write messages, or make it with --apply
    ///
    /// For MySQL and MariaDB. The procedure runs with the rights of the user that made it, not of the user that calls it; docs/other-languages.md shows the call.
    Routines(ExtraWish),
    /// Print the view of stored messages under the names of Debezium's outbox event router, or make it with --apply
    ///
    /// For MySQL and MariaDB, and for programs that read with SELECT. Debezium itself reads no views.
    DebeziumView(ExtraWish),
}

/// What the database is used for besides the outbox.
#[derive(Clone, clap::Args)]
pub(crate) struct Uses {
    /// What else the database is used for, such as notifications or steps, with commas; what is configured is added [key: database.capabilities]
    #[arg(long = "for", value_name = "NAMES", value_parser = CapabilityList::of_names)]
    pub(crate) list: Option<CapabilityList>,
}

/// What is to be done about more shards.
#[derive(Clone, clap::Args)]
pub(crate) struct ReshardArguments {
    /// Into how many shards: a multiple of the number that there is, 256 at most; without it, how far it is
    #[arg(value_name = "N", value_parser = shards, conflicts_with = "end")]
    pub(crate) shards: Option<ShardCount>,
    /// Take the triggers away by which messages find their new shards, once every program that writes messages was restarted
    #[arg(long)]
    pub(crate) end: bool,
    /// Do it; otherwise say what would be done
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) operator: OperatorName,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether an optional part of the schema is printed or made.
#[derive(Clone, clap::Args)]
pub(crate) struct ExtraWish {
    /// Make it in the database, in place of an earlier one
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum DialectName {
    /// MySQL and MariaDB
    #[value(alias = "mariadb")]
    Mysql,
    /// SQLite
    Sqlite,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Mysql => Self::MySql,
            DialectName::Sqlite => Self::Sqlite,
        }
    }
}

fn shards(text: &str) -> Result<ShardCount, String> {
    let count = text.parse().map_err(|_| "it must be a whole number from 1 to 256".to_owned())?;
    ShardCount::new(count).map_err(|e| e.to_string())
}
