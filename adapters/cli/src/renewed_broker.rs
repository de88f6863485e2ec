use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use claimstream_domain::{Publication, Published};
use claimstream_ports::Publish;

use crate::{broker::Broker, config::TargetSettings};

/// The broker of a target, which is made again with what its files of secrets hold now when it confirms nothing.
///
/// A password that was changed would otherwise be wrong until the process ends. Files are read only after a call without a confirmation, and one
/// that cannot be read changes nothing.
pub(crate) struct RenewedBroker {
    settings: TargetSettings,
    current: Mutex<Current>,
}

struct Current {
    /// The settings with the secrets that the files held.
    read: Option<TargetSettings>,
    publisher: Arc<dyn Publish>,
}

impl RenewedBroker {
    /// Begins with this broker, which was made of these settings.
    pub(crate) fn new(settings: TargetSettings, broker: &Broker) -> Self {
        let current = Current { read: settings.with_secrets().ok(), publisher: broker.publisher() };
        Self { settings, current: Mutex::new(current) }
    }

    fn publisher(&self) -> Arc<dyn Publish> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).publisher)
    }

    /// Makes the broker again if its files hold other secrets than before.
    fn renew(&self) {
        let Ok(read) = self.settings.with_secrets() else { return };
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.read.as_ref() == Some(&read) {
            return;
        }
        if let Ok(broker) = Broker::of(&read) {
            tracing::info!(
                broker = read.to.as_ref().map(tracing::field::display),
                "a secret was changed; the broker is connected to with the new one"
            );
            *current = Current { publisher: broker.publisher(), read: Some(read) };
        }
    }
}

#[async_trait]
impl Publish for RenewedBroker {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let answers = self.publisher().publish(publications).await;
        if !answers.contains(&Published::Confirmed) && self.settings.has_secret_files() {
            self.renew();
        }
        answers
    }
}

#[cfg(all(test, feature = "redis-streams"))]
mod tests {
    use super::*;
    use crate::config::{Config, Secret, Sources};

    /// Guard: a password that is changed is read again | `renew`: returns at once
    #[test]
    fn a_changed_password_is_taken_and_a_file_that_is_missing_for_a_moment_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, "old\n").unwrap();
        let written = directory.path().join("claimstream.toml");
        let target =
            format!("[publish.orders]\nto = 'redis://127.0.0.1:1'\npassword_file = '{}'\n", file.display());
        std::fs::write(&written, target).unwrap();
        let config = Config::load(&Sources { file: Some(written), ..Sources::default() }).unwrap().config;
        let settings = config.publish.of(&"orders".parse().unwrap()).unwrap();
        let broker = RenewedBroker::new(settings.clone(), &Broker::of(&settings).unwrap());
        let known = || {
            let current = broker.current.lock().unwrap();
            current.read.as_ref().and_then(|read| read.password.value.clone())
        };
        let first = broker.publisher();
        broker.renew();
        assert!(Arc::ptr_eq(&first, &broker.publisher()), "nothing has changed");
        std::fs::remove_file(&file).unwrap();
        broker.renew();
        assert_eq!(known(), Some(Secret::new("old")));
        std::fs::write(&file, "new\n").unwrap();
        broker.renew();
        assert_eq!(known(), Some(Secret::new("new")));
        assert!(!Arc::ptr_eq(&first, &broker.publisher()));
    }
}
