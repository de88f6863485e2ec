use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::config::Sources;

/// The flags that every command has: where its configuration comes from.
#[derive(Clone, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct SettingFlags {
    /// Read this file instead of the one that CLAIMSTREAM_CONFIG names, or else ./claimstream.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The database, such as mysql://user@host/database or sqlite://file.db [key: database.url]; or, of several, the name of one
    #[arg(long, global = true, value_name = "URL|NAME")]
    database: Option<String>,
    /// How messages are claimed: auto, skip_locked, preemptive_update, shard_lease or lock_guarded [key: database.strategy]
    #[arg(long, global = true, value_name = "WORD")]
    strategy: Option<String>,
    /// Log level: off, error, warn, info, debug or trace [key: log.level]
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How a line of the log looks: text or json [key: log.format]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Set any key, such as relay.batch=50; give secrets in other ways, other users see these arguments
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl SettingFlags {
    const NAMES: [&str; 6] = ["--config", "--database", "--strategy", "--log-level", "--log-format", "--set"];

    /// The arguments with these flags in front of the command: of a flag that stands both in front of the command and behind it,
    /// clap keeps only what stands behind it.
    pub(crate) fn first(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Vec<OsString> {
        let mut arguments = arguments.into_iter().map(Into::into);
        let mut first: Vec<OsString> = arguments.next().into_iter().collect();
        let mut others = Vec::new();
        while let Some(argument) = arguments.next() {
            let name = argument.to_str().unwrap_or_default();
            match name.split_once('=') {
                _ if name == "--" => {
                    others.push(argument);
                    others.extend(arguments.by_ref());
                }
                Some((name, _)) if Self::NAMES.contains(&name) => first.push(argument),
                None if Self::NAMES.contains(&name) => match arguments.next() {
                    Some(value) => first.extend([argument, value]),
                    None => others.push(argument),
                },
                _ => others.push(argument),
            }
        }
        first.extend(others);
        first
    }

    /// The name of one of several databases, if --database gives one; a URL has a colon.
    pub(crate) fn database_name(&self) -> Option<&str> {
        self.database.as_deref().filter(|given| !given.contains(':'))
    }

    /// The sources of the process, with these flags over them.
    pub(crate) fn sources(&self) -> Result<Sources, String> {
        let mut sources = Sources::of_process();
        sources.file = self.config.clone().or(sources.file);
        for assignment in &self.set {
            // The value stays out of the message: it may be a secret.
            let (key, value) =
                assignment.split_once('=').ok_or("--set takes KEY=VALUE, such as relay.batch=50")?;
            let key = key.trim().to_owned();
            sources.flags.push((key.clone(), value.to_owned(), format!("--set {key}")));
        }
        let url = self.database.clone().filter(|_| self.database_name().is_none());
        let named = [
            ("database.url", &url, "--database"),
            ("database.strategy", &self.strategy, "--strategy"),
            ("log.level", &self.log_level, "--log-level"),
            ("log.format", &self.log_format, "--log-format"),
        ];
        for (key, value, flag) in named {
            sources.flags.extend(value.clone().map(|value| (key.to_owned(), value, flag.to_owned())));
        }
        Ok(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(line: &str) -> String {
        let arguments = SettingFlags::first(line.split(' '));
        arguments.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn flags_of_the_configuration_stand_in_front_of_the_command() {
        let line = "claimstream --set a=1 status --watch --set b=2 --log-level=warn orders";
        assert_eq!(first(line), "claimstream --set a=1 --set b=2 --log-level=warn status --watch orders");
        assert_eq!(first("claimstream status --set"), "claimstream status --set");
        assert_eq!(first("claimstream pause -- --set a=1"), "claimstream pause -- --set a=1");
        assert_eq!(first("claimstream"), "claimstream");
    }
}
