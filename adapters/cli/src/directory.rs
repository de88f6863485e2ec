use std::{path::Path, str::FromStr, sync::Arc};

use claimstream_channels::{HttpDirectory, HttpDirectoryConfig};
use claimstream_domain::Invalid;
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{CachedDirectory, CompiledTemplate, RecipientDirectory};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::config::{Config, ConfigError, DirectorySource, NotificationSettings};

/// The directory that a configuration chooses.
pub fn recipients(
    config: &Config,
    outbox: &Arc<SeaOrmOutbox>,
) -> Result<Arc<dyn RecipientDirectory>, ConfigError> {
    Ok(match config.directory.source {
        DirectorySource::File => Arc::new(directory(&config.notifications)?),
        DirectorySource::None => Arc::new(MemoryDirectory::new()),
        DirectorySource::Database => Arc::clone(outbox) as Arc<dyn RecipientDirectory>,
        DirectorySource::Http => {
            let (timer, fresh) = (Arc::new(TokioTimer::new()), config.directory.fresh);
            Arc::new(CachedDirectory::new(Arc::new(over_http(config)?), timer, fresh))
        }
    })
}

fn over_http(config: &Config) -> Result<HttpDirectory, ConfigError> {
    let settings = &config.directory;
    let refused = |key: &str, why: String| ConfigError::new(format!("`directory.{key}`: {why}"));
    let url = settings.url.clone().ok_or_else(|| refused("url", "it is not set".into()))?;
    let token = settings.token.read().map_err(|why| refused("token", why))?;
    let token = token.map(|token| claimstream_channels::Secret::new(token.reveal()));
    let config = HttpDirectoryConfig { token, timeout: settings.timeout, ..HttpDirectoryConfig::new(url) };
    HttpDirectory::new(config).map_err(|e| refused("url", e.to_string()))
}

/// The users and segments of the file that a configuration names; an empty directory if it names none.
pub fn directory(notifications: &NotificationSettings) -> Result<MemoryDirectory, ConfigError> {
    match &notifications.directory {
        Some(path) => read("notifications.directory", path),
        None => Ok(MemoryDirectory::new()),
    }
}

/// The templates that a configuration names; none if it names none. Refuses one that cannot be used, with its place and line.
pub fn templates(notifications: &NotificationSettings) -> Result<MemoryTemplates, ConfigError> {
    let Some(path) = &notifications.templates else { return Ok(MemoryTemplates::new("en")) };
    let templates: MemoryTemplates = read(TEMPLATES, path)?;
    for version in templates.all() {
        if let Err(invalid) = CompiledTemplate::of(Arc::clone(version)) {
            let why = format!("{:?} in the file {} cannot be used: {invalid}", version.id, path.display());
            return Err(ConfigError::new(format!("`{TEMPLATES}`: {why}")));
        }
    }
    Ok(templates)
}

const TEMPLATES: &str = "notifications.templates";

fn read<T: FromStr<Err = Invalid>>(key: &str, path: &Path) -> Result<T, ConfigError> {
    let refused = |why: String| ConfigError::new(format!("`{key}`: the file {} {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| refused(format!("cannot be read: {e}")))?;
    text.trim_start_matches('\u{feff}').parse().map_err(|e| refused(format!("cannot be used: {e}")))
}
