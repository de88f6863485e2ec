use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use serde_json::{Value, json};

use crate::{failure::Failure, table::Table};

/// Prints a page of a list as JSON.
pub(super) fn as_list(
    items: impl Iterator<Item = Value>,
    next: Option<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    writeln!(out, "{}", json!({"items": items.collect::<Vec<_>>(), "next": next}))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a page of a list as a table, and to the standard error where it is read on.
pub(super) fn as_table<const N: usize>(
    table: &Table<N>,
    is_empty: bool,
    none: &str,
    next: Option<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match is_empty {
        true => writeln!(out, "{none}")?,
        false => write!(out, "{table}")?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that a place in a list is none.
pub(super) fn place(of: &str) -> String {
    format!("--after is not the place of {of}; take it from the page before")
}
