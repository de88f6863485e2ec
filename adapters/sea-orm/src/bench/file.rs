use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use claimstream_ports::{StoreError, StoreErrorKind};

use super::{
    name::BenchName,
    refused::{BENCH, misconfigured},
};

/// A database file in a bench's own folder next to the user's file, and the file whose lock marks its run as alive.
///
/// A connection that is still being opened while the bench ends can create no file in a folder that is gone.
#[derive(Debug)]
pub(super) struct BenchFile {
    folder: PathBuf,
    name: BenchName,
    lock: File,
}

impl BenchFile {
    /// Takes a name and creates its folder, and removes those of runs that are no longer alive.
    pub(super) fn make(url: &str) -> Result<(Self, Vec<String>), StoreError> {
        let folder = folder_of(url)?;
        let leftovers = remove_leftovers(&folder).map_err(|e| unavailable(&folder, &e))?;
        let name = BenchName::fresh();
        let own = folder.join(name.as_str());
        let lock = OpenOptions::new().write(true).create_new(true).open(lock_of(&own));
        let lock = lock.map_err(|e| unavailable(&folder, &e))?;
        lock.try_lock().map_err(|e| unavailable(&folder, &e.into()))?;
        fs::create_dir(&own).map_err(|e| {
            let _ = fs::remove_file(lock_of(&own));
            unavailable(&folder, &e)
        })?;
        Ok((Self { folder: own, name, lock }, leftovers))
    }

    pub(super) fn url(&self) -> String {
        format!("sqlite://{}", self.folder.join("outbox.db").display())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    pub(super) fn remove(self) -> Result<(), StoreError> {
        let removed = remove(&self.folder).map_err(|e| unavailable(&self.folder, &e));
        drop(self.lock);
        removed
    }
}

/// The folder of the user's file, as the driver understands the URL.
#[cfg(feature = "sqlite")]
fn folder_of(url: &str) -> Result<PathBuf, StoreError> {
    let options = url.parse::<sea_orm::sqlx::sqlite::SqliteConnectOptions>();
    let options = options.map_err(|_| misconfigured("the database URL cannot be read"))?;
    let file = options.get_filename();
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(misconfigured("SQLite in memory has no disk to measure; name a file"));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.to_owned())
}

#[cfg(not(feature = "sqlite"))]
fn folder_of(_: &str) -> Result<PathBuf, StoreError> {
    Err(misconfigured("this build has no SQLite"))
}

fn remove_leftovers(folder: &Path) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.file_name();
        let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".lock")).and_then(BenchName::of)
        else {
            continue;
        };
        let path = folder.join(name.as_str());
        let lock = OpenOptions::new().write(true).open(lock_of(&path))?;
        // A run that lives has locked it.
        if lock.try_lock().is_ok() {
            remove(&path)?;
            removed.push(name.as_str().to_owned());
        }
    }
    Ok(removed)
}

/// How often a folder is emptied in which a connection that is still being opened creates another file.
const REMOVALS: u32 = 100;

/// Removes a bench's folder, and then its lock.
fn remove(folder: &Path) -> io::Result<()> {
    let mut removed = fs::remove_dir_all(folder);
    for _ in 1..REMOVALS {
        if !matches!(&removed, Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty) {
            break;
        }
        removed = fs::remove_dir_all(folder);
    }
    unless_missing(removed)?;
    unless_missing(fs::remove_file(lock_of(folder)))
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The file next to a bench's folder that its run has locked.
fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

fn unavailable(place: &Path, error: &io::Error) -> StoreError {
    let why = format!("no file of the bench's own can be made or removed in {}: {error}", place.display());
    StoreError::new(StoreErrorKind::Unavailable, BENCH, why)
}
