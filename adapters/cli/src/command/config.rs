use std::{io::Write, process::ExitCode};

use serde_json::{Map, Value, json};

use crate::{
    arguments::ConfigCommand,
    config::{Loaded, Setting},
    failure::Failure,
};

/// Prints the configuration as a file would have it, each value with where it was set.
pub(super) fn run(
    command: ConfigCommand,
    loaded: &Loaded,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Print { json: true } => print_json(loaded, out),
        ConfigCommand::Print { json: false } => print(loaded, out),
    }
}

fn print(loaded: &Loaded, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut lines = Vec::new();
    // The list of keys is a walk over values that could be changed.
    loaded.config.clone().each(&mut |key, setting| lines.extend(Line::of(key, setting)));
    let width = lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
    let mut section = String::new();
    for line in lines {
        if line.section != section {
            section = line.section;
            writeln!(out, "\n[{section}]")?;
        }
        writeln!(out, "{:<width$}  # {}", line.text, loaded.origin(&line.key))?;
    }
    Ok(ExitCode::SUCCESS)
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

struct Line {
    key: String,
    section: String,
    text: String,
}

impl Line {
    /// The line of a key; none for what a channel or a provider leaves to the defaults of all channels.
    fn of(key: &str, setting: &dyn Setting) -> Option<Self> {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let is_channel = section.starts_with("channels.") && section != "channels.default";
        let inherits = is_channel || section.starts_with("providers.");
        let text = match setting.written() {
            Some(value) => format!("{name} = {value}"),
            None if inherits => return None,
            None => format!("# {name} is not set"),
        };
        Some(Self { key: key.to_owned(), section: section.to_owned(), text })
    }
}
