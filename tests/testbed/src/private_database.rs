use std::{
    io,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{Server, test_folder};

/// A database server for one test, with options of its own; stopped with it.
///
/// It panics where it cannot be had: a suite that has the server has the means to start another.
pub struct PrivateDatabase {
    folder: PathBuf,
    server: Server,
    options: String,
    url: String,
}

impl PrivateDatabase {
    /// Starts one with these options besides the usual ones.
    pub fn start(server: Server, options: &str) -> Self {
        let folder = test_folder("database");
        let mut database = Self { folder, server, options: options.to_owned(), url: String::new() };
        database.servers("up").expect("a server of our own");
        database.url = database.servers("url").expect("its URL");
        database
    }

    /// Where its database is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without a warning and starts it again with its data, where it was.
    pub fn restart(&self) {
        self.servers("restart").expect("a restart");
    }

    fn servers(&self, command: &str) -> io::Result<String> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../servers");
        let output = Command::new(script)
            .args([command, self.server.name])
            .env("CLAIMSTREAM_SERVERS_DIR", &self.folder)
            .env("CLAIMSTREAM_SERVER_MEMORY", "64M")
            .env("CLAIMSTREAM_SERVER_OPTIONS", &self.options)
            .env_remove(self.server.variable)
            .stdin(Stdio::null())
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
}

impl Drop for PrivateDatabase {
    fn drop(&mut self) {
        let _ = self.servers("down");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
