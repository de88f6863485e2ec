use std::path::PathBuf;

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
