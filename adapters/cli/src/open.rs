use std::path::PathBuf;

use claimstream_ports::StoreError;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

use crate::config::{ConfigError, Database, DatabaseUrl};

/// Why an outbox cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configuration does not say where it is, or its secret is not to be had.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such file, and the command makes none.
    #[error("there is no database {path}; make it with `claimstream schema apply`", path = .0.display())]
    NoFile(PathBuf),
    /// The store refused.
    #[error("cannot open {url}: {source}")]
    Store {
        /// Where it is, without the password.
        url: DatabaseUrl,
        /// What the store said.
        source: StoreError,
    },
}

impl Database {
    /// Opens the outbox, and makes the tables if they are missing and [`create_schema`](Self::create_schema) allows it.
    pub async fn open(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_with(self.create_schema).await
    }

    /// Opens an outbox that has its tables already.
    pub async fn open_existing(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_with(false).await
    }

    /// Opens the outbox and makes the tables if they are missing, whatever the configuration says.
    pub async fn create(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_with(true).await
    }

    async fn open_with(&self, create_schema: bool) -> Result<SeaOrmOutbox, OpenError> {
        let url = self.location()?;
        // SQLite makes a file for whoever asks for one, under any misspelt name.
        if let Some(path) = url.file().filter(|path| !create_schema && !path.exists()) {
            return Err(OpenError::NoFile(path));
        }
        let options = OpenOptions {
            strategy: self.strategy,
            order: self.order,
            create_schema,
            shards: self.shards,
            retention: self.retention,
            max_connections: self.max_connections,
            acquire_timeout: self.acquire_timeout,
            ..OpenOptions::default()
        };
        let opened = SeaOrmOutbox::open(url.reveal(), options).await;
        opened.map_err(|source| OpenError::Store { url, source })
    }

    /// The URL with its password.
    fn location(&self) -> Result<DatabaseUrl, ConfigError> {
        let url = self.url.clone().ok_or_else(|| ConfigError::new(UNSET.into()))?;
        let refused = |why: String| ConfigError::new(format!("`database.password`: {why}"));
        match self.password.read().map_err(refused)? {
            Some(password) => url.with_password(&password).map_err(refused),
            None => Ok(url),
        }
    }
}

const UNSET: &str = "`database.url` is not set; use --database URL, CLAIMSTREAM_DATABASE__URL or the file, with a URL \
                     such as mysql://user@host/database or sqlite://file.db";
