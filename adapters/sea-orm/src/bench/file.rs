use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use claimstream_ports::{StoreError, StoreErrorKind};

use super::{
    name::BenchName,
    refused::{BENCH, misconfigured},
};

/// A file of a bench's own beside a user's file, and the file whose lock says that its run lives.
#[derive(Debug)]
pub(super) struct BenchFile {
    path: PathBuf,
    name: BenchName,
    lock: File,
}

/// The endings of the files that SQLite makes; the lock goes last.
const ENDINGS: [&str; 5] = ["", "-wal", "-shm", "-journal", ".lock"];

impl BenchFile {
    /// Takes a name, and removes the files of runs that do not live any more. SQLite makes the file.
    pub(super) fn make(url: &str) -> Result<(Self, Vec<String>), StoreError> {
        let folder = folder_of(url)?;
        let leftovers = remove_leftovers(&folder).map_err(|e| unavailable(&folder, &e))?;
        let name = BenchName::fresh();
        let path = folder.join(name.as_str());
        let lock = OpenOptions::new().write(true).create_new(true).open(with(&path, ".lock"));
        let lock = lock.map_err(|e| unavailable(&folder, &e))?;
        lock.try_lock().map_err(|e| unavailable(&folder, &e.into()))?;
        Ok((Self { path, name, lock }, leftovers))
    }

    pub(super) fn url(&self) -> String {
        format!("sqlite://{}", self.path.display())
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    pub(super) fn remove(self) -> Result<(), StoreError> {
        let removed = remove(&self.path).map_err(|e| unavailable(&self.path, &e));
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
        let lock = OpenOptions::new().write(true).open(with(&path, ".lock"))?;
        // A run that lives has locked it.
        if lock.try_lock().is_ok() {
            remove(&path)?;
            removed.push(name.as_str().to_owned());
        }
    }
    Ok(removed)
}

fn remove(path: &Path) -> io::Result<()> {
    for ending in ENDINGS {
        match fs::remove_file(with(path, ending)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn unavailable(place: &Path, error: &io::Error) -> StoreError {
    let why = format!("no file of the bench's own can be made or removed in {}: {error}", place.display());
    StoreError::new(StoreErrorKind::Unavailable, BENCH, why)
}
