use std::{io::Write, process::ExitCode};

use claimstream_domain::ShardCount;
use claimstream_sea_orm::{Dialect, SchemaExtra, SeaOrmOutbox};

use super::{doctor_capabilities::used_capabilities, reshard, schema_extra, schema_plan};
use crate::{
    config::{Config, DatabaseSettings},
    failure::Failure,
    schema_arguments::{DialectName, SchemaCommand, Uses},
};

/// Prints, plans or makes the tables.
pub(super) async fn run(
    command: SchemaCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        SchemaCommand::Print { dialect, uses, shards } => print(dialect, &wanted(config, uses, shards), out),
        SchemaCommand::Plan { uses, shards, sql, json } => {
            let shown = schema_plan::PlanView { statements: sql, as_json: json };
            schema_plan::run(&wanted(config, uses, shards), shown, out).await
        }
        SchemaCommand::Apply { uses, shards, json } => apply(&wanted(config, uses, shards), json, out).await,
        SchemaCommand::Reshard(asked) => reshard::run(asked, &config.database, out).await,
        SchemaCommand::Routines(wish) => {
            schema_extra::run(SchemaExtra::EnqueueRoutine, &wish, &config.database, out).await
        }
        SchemaCommand::DebeziumView(wish) => {
            schema_extra::run(SchemaExtra::DebeziumView, &wish, &config.database, out).await
        }
    }
}

/// The database as it is to be: for what the configuration uses, and what these arguments add.
fn wanted(config: &Config, uses: Uses, shards: Option<ShardCount>) -> DatabaseSettings {
    let mut database = config.database.clone();
    database.shards = shards.unwrap_or(database.shards);
    let added = uses.list.into_iter().flat_map(|list| list.0).chain(used_capabilities(config));
    added.fold(database, |database, capability| database.used_for(capability))
}

fn print(
    dialect: Option<DialectName>,
    database: &DatabaseSettings,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let dialect = match (dialect, &database.url) {
        (Some(name), _) => name.into(),
        (None, Some(url)) if url.is_sqlite() => Dialect::Sqlite,
        (None, Some(_)) => Dialect::MySql,
        (None, None) => return Err(Failure::Usage("give --dialect mysql or --dialect sqlite".into())),
    };
    out.write_all(
        SeaOrmOutbox::printable_schema(dialect, &database.all_capabilities(), database.shards).as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}

async fn apply(
    database: &DatabaseSettings,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let gone = database.plan().await?.gone;
    if !gone.is_empty() {
        let why = "restore them from a backup; tables made without rows would hide what was lost";
        return Err(Failure::Refused(format!("tables are gone: {}; {why}", gone.join(", "))));
    }
    let outbox = database.create().await?;
    let (made, capabilities) = (outbox.shards(), outbox.capabilities().await?);
    let names: Vec<_> = capabilities.iter().map(|capability| capability.name()).collect();
    match as_json {
        true => writeln!(out, "{}", serde_json::json!({"shards": made.get(), "capabilities": names}))?,
        false => {
            let names = names.join(", ");
            writeln!(out, "the tables are there, for {names}; queues are cut into {} shards", made.get())?;
        }
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
