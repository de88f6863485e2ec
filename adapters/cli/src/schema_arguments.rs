use claimstream_domain::ShardCount;
use claimstream_sea_orm::Dialect;
use clap::{Subcommand, ValueEnum};

/// What can be done with the tables.
#[derive(Clone, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the tables as a script for another tool
    Print {
        /// For which kind of database; that of database.url unless given
        #[arg(long)]
        dialect: Option<DialectName>,
        /// Into how many shards queues are cut, 1 to 256 [key: database.shards]
        #[arg(long, value_name = "N", value_parser = shards)]
        shards: Option<ShardCount>,
    },
    /// Show what `schema apply` would send to this database, how long each statement takes and whether writers wait; changes nothing
    ///
    /// Numbers of rows, and so the durations, are estimates by the server's statistics. The exit code is 0, whether or not there is
    /// something to do.
    Plan {
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
    /// Make the tables that are missing; those that are there stay as they are
    Apply {
        /// Into how many shards queues are cut, 1 to 256; cannot be changed later [key: database.shards]
        #[arg(long, value_name = "N", value_parser = shards)]
        shards: Option<ShardCount>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the stored procedure by which programs in other languages write messages, or make it with --apply
    ///
    /// For MySQL and MariaDB. The procedure runs with the rights of the user that made it, not of the user that calls it; docs/other-languages.md shows the call.
    Routines(ExtraWish),
    /// Print the view of stored messages under the names of Debezium's outbox event router, or make it with --apply
    ///
    /// For MySQL and MariaDB, and for programs that read with SELECT. Debezium itself reads no views.
    DebeziumView(ExtraWish),
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
