use std::{path::PathBuf, sync::Arc, time::Duration};

use claimstream::LockGuarded;
use claimstream_ports::{DistributedLock, LockingStrategy, StoreError, Telemetry};
use claimstream_sea_orm::{BenchPlace, Capability, OpenOptions, SchemaPlan, SeaOrmOutbox};

use crate::{
    config::{ClaimingChoice, ConfigError, DatabaseSettings, DatabaseUrl, LockPlace, Secret},
    password_file::PasswordFile,
    redis::lock_on,
};

/// Why an outbox cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configuration does not say where it is, or its secret is not to be had.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file with its password cannot be read, as while it is replaced.
    #[error(transparent)]
    NoSecret(ConfigError),
    /// There is no such file, and the command makes none.
    #[error("there is no database {path}; make it with `claimstream schema apply`", path = .0.display())]
    NoFile(PathBuf),
    /// The store refused.
    #[error("cannot open {url}: {error}")]
    Store {
        /// Where it is, without the password.
        url: DatabaseUrl,
        /// What the store said.
        error: StoreError,
    },
}

impl DatabaseSettings {
    /// Opens the outbox, and makes the tables if they are missing and [`create_schema`](Self::create_schema) allows it.
    pub async fn open(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_to_run(self.options(self.create_schema)).await
    }

    /// The same, measured by `telemetry`.
    pub async fn open_measured(&self, telemetry: Arc<dyn Telemetry>) -> Result<SeaOrmOutbox, OpenError> {
        self.open_to_run(OpenOptions { telemetry: Some(telemetry), ..self.options(self.create_schema) }).await
    }

    /// The same for one of several databases: a server that is silent delays no other database, and is asked again.
    pub(crate) async fn open_one_of_several(
        &self,
        telemetry: Option<Arc<dyn Telemetry>>,
    ) -> Result<SeaOrmOutbox, OpenError> {
        let options = self.options(self.create_schema);
        self.open_to_run(OpenOptions { telemetry, answer_within: self.answer_within(), ..options }).await
    }

    /// The same for a command on a terminal: a server that is silent is named within two seconds.
    pub(crate) async fn open_soon(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_by(OpenOptions { answer_within: self.answer_within(), ..self.options(self.create_schema) })
            .await
    }

    /// Opens an outbox that has its tables already; a server that is silent is named within two seconds.
    ///
    /// Tables of other [capabilities](Capability) than the outbox and what its strategy needs may be missing.
    pub async fn open_existing(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_existing_for(&[]).await
    }

    /// The same for a command that needs the tables of these capabilities, too.
    pub(crate) async fn open_existing_for(&self, needed: &[Capability]) -> Result<SeaOrmOutbox, OpenError> {
        let capabilities = needed.iter().copied().collect();
        let options =
            OpenOptions { capabilities, answer_within: self.answer_within(), ..self.options(false) };
        self.open_by(options).await
    }

    /// Opens the outbox and makes the tables if they are missing, whatever the configuration says; a server that is silent is named
    /// within two seconds.
    pub async fn create(&self) -> Result<SeaOrmOutbox, OpenError> {
        self.open_by(OpenOptions { answer_within: self.answer_within(), ..self.options(true) }).await
    }

    /// How long a server may be silent: as long as the configuration lets a connection take, or two seconds.
    fn answer_within(&self) -> Option<Duration> {
        (self.acquire_timeout == OpenOptions::default().acquire_timeout).then_some(SOON)
    }

    /// What [`create`](Self::create) would send to the database; changes nothing.
    pub async fn plan(&self) -> Result<SchemaPlan, OpenError> {
        let url = self.location()?;
        let options = OpenOptions { answer_within: self.answer_within(), ..self.options(true) };
        let planned = SeaOrmOutbox::schema_plan(url.reveal(), options).await;
        planned.map_err(|error| OpenError::Store { url, error })
    }

    /// Makes a place for measurements next to the database.
    pub(crate) async fn bench_place(&self) -> Result<BenchPlace, OpenError> {
        let url = self.location()?;
        if let Some(path) = url.file().filter(|path| !path.exists()) {
            return Err(OpenError::NoFile(path));
        }
        let made = BenchPlace::make(url.reveal(), self.answer_within()).await;
        made.map_err(|error| OpenError::Store { url, error })
    }

    /// For a process that runs on: a password that its file holds later is taken.
    async fn open_to_run(&self, options: OpenOptions) -> Result<SeaOrmOutbox, OpenError> {
        let (url, password) = self.location_and_password()?;
        let outbox = self.open_at(url, options).await?;
        if let Some(password) = PasswordFile::of(&self.password, password) {
            password.follow(&outbox);
        }
        Ok(outbox)
    }

    async fn open_by(&self, options: OpenOptions) -> Result<SeaOrmOutbox, OpenError> {
        self.open_at(self.location()?, options).await
    }

    async fn open_at(&self, url: DatabaseUrl, options: OpenOptions) -> Result<SeaOrmOutbox, OpenError> {
        // SQLite creates a file under any misspelt name.
        if let Some(path) = url.file().filter(|path| !options.create_schema && !path.exists()) {
            return Err(OpenError::NoFile(path));
        }
        let opened = SeaOrmOutbox::open(url.reveal(), options).await;
        opened.map_err(|error| OpenError::Store { url, error })
    }

    fn options(&self, create_schema: bool) -> OpenOptions {
        OpenOptions {
            strategy: self.choice(),
            order: self.order,
            capabilities: self.all_capabilities(),
            create_schema,
            shards: self.shards,
            retention: self.retention,
            step_retention: self.step_retention,
            in_app_retention: self.in_app_retention,
            max_connections: self.max_connections,
            relay_connections: self.relay_connections,
            acquire_timeout: self.acquire_timeout,
            ..OpenOptions::default()
        }
    }

    /// How messages of this outbox are claimed: by its strategy, or by that behind a lock.
    pub fn claiming(&self, outbox: &Arc<SeaOrmOutbox>) -> Arc<dyn LockingStrategy> {
        let guarded = |lock: Arc<dyn DistributedLock>| LockGuarded::new(outbox.clone(), lock);
        match (self.strategy, &self.lock) {
            (ClaimingChoice::LockGuarded, Some(LockPlace::Database)) => Arc::new(guarded(outbox.clone())),
            (ClaimingChoice::LockGuarded, Some(LockPlace::Redis(place))) => {
                let name = self.url.as_ref().and_then(DatabaseUrl::database).unwrap_or_default();
                Arc::new(guarded(lock_on(place)).of_database(&name))
            }
            // Without a place the configuration is refused.
            (ClaimingChoice::Bare(_), _) | (ClaimingChoice::LockGuarded, None) => outbox.clone(),
        }
    }

    /// The URL with its password.
    pub(crate) fn location(&self) -> Result<DatabaseUrl, OpenError> {
        self.location_and_password().map(|(url, _)| url)
    }

    fn location_and_password(&self) -> Result<(DatabaseUrl, Option<Secret>), OpenError> {
        let url = self.url.clone().ok_or_else(|| ConfigError::new(UNSET.into()))?;
        let refused = |why: String| ConfigError::new(format!("`database.password`: {why}"));
        let secret = self.password.read().map_err(|why| match self.password.file {
            Some(_) => OpenError::NoSecret(refused(why)),
            None => OpenError::Config(refused(why)),
        });
        match secret? {
            Some(password) => Ok((url.with_password(&password).map_err(refused)?, Some(password))),
            None => Ok((url, None)),
        }
    }
}

/// Less than an operator waits before looking elsewhere.
const SOON: Duration = Duration::from_millis(1_900);

const UNSET: &str = "`database.url` is not set; use --database URL, CLAIMSTREAM_DATABASE__URL or the file, with a URL \
                     such as mysql://user@host/database or sqlite://file.db";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SecretSource;

    /// Guard: a password file that is missing for a moment ends no relay of several databases | `location`: `Config` for a
    /// file as well; or one_relay.rs `open`: `NoSecret` ends it
    #[test]
    fn a_password_file_that_is_missing_is_distinguished_from_a_configuration_that_is_wrong() {
        let database = |password| DatabaseSettings {
            url: DatabaseUrl::new("mysql://app@127.0.0.1/shop").ok(),
            password,
            ..DatabaseSettings::default()
        };
        let file = SecretSource { file: Some("/no/such/file".into()), ..SecretSource::default() };
        assert!(matches!(database(file).location(), Err(OpenError::NoSecret(_))));
        let variable = SecretSource { env: Some("NO_SUCH_THING".into()), ..SecretSource::default() };
        assert!(matches!(database(variable).location(), Err(OpenError::Config(_))));
    }
}
