use std::{path::Path, str::FromStr};

use claimstream_domain::Invalid;
use claimstream_memory::{MemoryDirectory, MemoryTemplates};

use crate::config::{ConfigError, Notifications};

/// The users and segments that a configuration names; nobody if it names none.
pub fn directory(notifications: &Notifications) -> Result<MemoryDirectory, ConfigError> {
    match &notifications.directory {
        Some(path) => read("notifications.directory", path),
        None => Ok(MemoryDirectory::new()),
    }
}

/// The templates that a configuration names; none if it names none.
pub fn templates(notifications: &Notifications) -> Result<MemoryTemplates, ConfigError> {
    match &notifications.templates {
        Some(path) => read("notifications.templates", path),
        None => Ok(MemoryTemplates::new("en")),
    }
}

fn read<T: FromStr<Err = Invalid>>(key: &str, path: &Path) -> Result<T, ConfigError> {
    let refused = |why: String| ConfigError::new(format!("`{key}`: the file {} {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| refused(format!("cannot be read: {e}")))?;
    text.trim_start_matches('\u{feff}').parse().map_err(|e| refused(format!("cannot be used: {e}")))
}
