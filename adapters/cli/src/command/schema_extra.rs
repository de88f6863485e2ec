use std::{io::Write, process::ExitCode};

use claimstream_sea_orm::SchemaExtra;

use crate::{config::DatabaseSettings, failure::Failure, schema_arguments::ExtraWish};

/// Prints or makes a part of the schema for programs in other languages.
pub(super) async fn run(
    extra: SchemaExtra,
    wish: &ExtraWish,
    database: &DatabaseSettings,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match wish.apply {
        false => out.write_all(extra.script().as_bytes())?,
        true => {
            database.open_existing().await?.make_extra(extra).await?;
            writeln!(out, "{} is there", extra.object())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
