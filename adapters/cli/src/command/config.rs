use std::{io::Write, process::ExitCode};

use serde_json::{Map, Value, json};

use crate::{arguments::ConfigCommand, config::Loaded, failure::Failure};

/// Prints the configuration as a file would have it, each value with where it was set.
pub(super) fn run(
    command: ConfigCommand,
    loaded: &Loaded,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Print { json: true } => print_json(loaded, out),
        ConfigCommand::Print { json: false } => {
            write!(out, "{}", loaded.printed())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// One object with a field for each key that is set: its value, and where it was set.
fn print_json(loaded: &Loaded, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut settings = Map::new();
    loaded.config.clone().each(&mut |key, setting| {
        let Some(written) = setting.written() else { return };
        // What TOML and JSON write alike is a value; anything else is the text of the file.
        let value = serde_json::from_str(&written).unwrap_or(Value::String(written));
        settings.insert(key.to_owned(), json!({"value": value, "origin": loaded.origin(key).to_string()}));
    });
    writeln!(out, "{}", Value::Object(settings))?;
    Ok(ExitCode::SUCCESS)
}
