use std::time::Duration;

use claimstream_ports::Timer;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::config::{Secret, SecretSource};

/// The file with the password of a database, which is read again as long as the process runs.
///
/// A password that was changed would otherwise be wrong for every new connection until the process ends. A file that cannot be read changes
/// nothing.
pub(crate) struct PasswordFile {
    source: SecretSource,
    /// What it held last.
    known: Option<Secret>,
}

impl PasswordFile {
    /// How often it is read.
    const EVERY: Duration = Duration::from_secs(5);

    /// The file of a password that stands in one, and held `known`. What can be read only once, such as a pipe, is not read again.
    pub(crate) fn of(source: &SecretSource, known: Option<Secret>) -> Option<Self> {
        source.file.as_ref().filter(|file| file.is_file())?;
        Some(Self { source: source.clone(), known })
    }

    /// Has the connections of this outbox log in with what the file holds, until it is dropped.
    pub(crate) fn follow(mut self, outbox: &SeaOrmOutbox) {
        let login = outbox.login();
        tokio::spawn(async move {
            while login.is_open() {
                TokioTimer::new().sleep(Self::EVERY).await;
                // A file of a mount that hangs holds up no other task.
                let read = tokio::task::spawn_blocking(move || (self.changed(), self));
                let Ok((password, file)) = read.await else { return };
                self = file;
                if let Some(password) = password {
                    login.use_password(password.reveal());
                    tracing::info!(
                        "the password of the database was changed; new connections log in with the new one"
                    );
                }
            }
        });
    }

    /// What it holds, if that is another password than before.
    fn changed(&mut self) -> Option<Secret> {
        let read = self.source.read().ok().flatten()?;
        let is_new = self.known.as_ref() != Some(&read);
        is_new.then(|| self.known.insert(read).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_password_is_taken_once_and_a_file_that_is_missing_for_a_moment_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, "old\n").unwrap();
        let source = SecretSource { file: Some(file.clone()), ..SecretSource::default() };
        let mut password = PasswordFile::of(&source, source.read().unwrap()).unwrap();
        assert_eq!(password.changed(), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(password.changed(), None);
        std::fs::write(&file, "new\n").unwrap();
        assert_eq!(password.changed(), Some(Secret::new("new")));
        assert_eq!(password.changed(), None);
        assert!(PasswordFile::of(&SecretSource::default(), None).is_none());
    }
}
