use std::{
    io,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::test_folder;

/// A Redis for one test, which may be killed and started again; stopped with it.
///
/// It panics where it cannot be had: a suite that has a Redis has the means to start another.
pub struct PrivateRedis {
    folder: PathBuf,
    url: String,
}

impl PrivateRedis {
    /// Starts one.
    pub fn start() -> Self {
        let mut redis = Self { folder: test_folder("redis"), url: String::new() };
        redis.servers(&["up", "redis"]).expect("a Redis of our own");
        redis.url = redis.servers(&["url", "redis"]).expect("its URL");
        redis
    }

    /// Where it is; it stays there.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without a warning.
    pub fn kill(&self) {
        let pid = std::fs::read_to_string(self.folder.join("redis/pid")).expect("its process");
        let killed = Command::new("kill").args(["-KILL", pid.trim()]).status().expect("kill");
        assert!(killed.success(), "it had ended by itself");
    }

    /// Starts it again, killing it first if it runs; it has forgotten everything.
    pub fn start_again(&self) {
        self.servers(&["restart", "redis"]).expect("a restart");
    }

    fn servers(&self, arguments: &[&str]) -> io::Result<String> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../servers");
        let mut command = Command::new(script);
        let command = command.args(arguments).env("CLAIMSTREAM_SERVERS_DIR", &self.folder);
        let output = command.env_remove(crate::servers::REDIS_VARIABLE).stdin(Stdio::null()).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        let _ = self.servers(&["down", "redis"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
