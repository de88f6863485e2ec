use std::{io::Write, process::ExitCode};

use claimstream_domain::ShardCount;
use claimstream_sea_orm::{Dialect, SchemaExtra, SeaOrmOutbox};

use super::{reshard, schema_extra, schema_plan};
use crate::{
    config::{Config, DatabaseSettings},
    failure::Failure,
    schema_arguments::{DialectName, SchemaCommand},
};

/// Prints, plans or makes the tables.
pub(super) async fn run(
    command: SchemaCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        SchemaCommand::Print { dialect, shards } => {
            print(dialect, shards.unwrap_or(config.database.shards), config, out)
        }
        SchemaCommand::Plan { shards, sql, json } => {
            let shown = schema_plan::PlanView { statements: sql, as_json: json };
            schema_plan::run(shards, shown, &config.database, out).await
        }
        SchemaCommand::Apply { shards, json } => apply(shards, json, &config.database, out).await,
        SchemaCommand::Reshard(asked) => reshard::run(asked, &config.database, out).await,
        SchemaCommand::Routines(wish) => {
            schema_extra::run(SchemaExtra::EnqueueRoutine, &wish, &config.database, out).await
        }
        SchemaCommand::DebeziumView(wish) => {
            schema_extra::run(SchemaExtra::DebeziumView, &wish, &config.database, out).await
        }
    }
}

fn print(
    dialect: Option<DialectName>,
    shards: ShardCount,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let dialect = match (dialect, &config.database.url) {
        (Some(name), _) => name.into(),
        (None, Some(url)) if url.is_sqlite() => Dialect::Sqlite,
        (None, Some(_)) => Dialect::MySql,
        (None, None) => return Err(Failure::Usage("give --dialect mysql or --dialect sqlite".into())),
    };
    out.write_all(SeaOrmOutbox::printable_schema(dialect, shards).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

async fn apply(
    shards: Option<ShardCount>,
    as_json: bool,
    database: &DatabaseSettings,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let database = DatabaseSettings { shards: shards.unwrap_or(database.shards), ..database.clone() };
    let gone = database.plan().await?.gone;
    if !gone.is_empty() {
        let why = "restore them from a backup; tables made without rows would hide what was lost";
        return Err(Failure::Refused(format!("tables are gone: {}; {why}", gone.join(", "))));
    }
    let made = database.create().await?.shards();
    match as_json {
        true => writeln!(out, "{}", serde_json::json!({"shards": made.get()}))?,
        false => writeln!(out, "the tables are there; queues are cut into {} shards", made.get())?,
    }
    if made != database.shards {
        let _ = writeln!(
            std::io::stderr(),
            "warning: {} shards were asked for, and a database keeps the number it has; `claimstream schema reshard` multiplies it",
            database.shards.get()
        );
    }
    Ok(ExitCode::SUCCESS)
}
