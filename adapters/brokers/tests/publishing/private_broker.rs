use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use claimstream_testbed::trial_folder;

/// A broker for one trial, which may be killed and started again with its data; stopped with it.
pub(crate) struct PrivateBroker {
    name: &'static str,
    folder: PathBuf,
    url: String,
}

/// The variable that lists the brokers without which a trial must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_BROKERS";

impl PrivateBroker {
    /// Starts one. If the environment names no broker of this kind, the output says that `what` was skipped, unless one is required.
    pub(crate) fn start(name: &'static str, what: &str) -> Option<Self> {
        known_url(name, what)?;
        let mut broker = Self { name, folder: trial_folder("broker"), url: String::new() };
        broker.script("up");
        broker.url = broker.script("url");
        Some(broker)
    }

    /// Where it is; it stays there.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&self) {
        self.script("kill");
    }

    /// Starts it again with its data, killing it first if it runs.
    pub(crate) fn start_again(&self) {
        self.script("restart");
    }

    fn script(&self, command: &str) -> String {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/brokers");
        let mut run = Command::new(script);
        let run = run.args([command, self.name]).env("CLAIMSTREAM_BROKERS_DIR", &self.folder);
        let ended = run.env_remove(variable(self.name)).stdin(Stdio::null()).output().unwrap();
        assert!(
            ended.status.success(),
            "tests/brokers {command}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    }
}

impl Drop for PrivateBroker {
    fn drop(&mut self) {
        self.script("down");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The URL of the broker that the environment names.
pub(crate) fn known_url(name: &str, what: &str) -> Option<String> {
    let variable = variable(name);
    let url = std::env::var(&variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let required = std::env::var(REQUIRED).unwrap_or_default();
        let is_required = required.split([' ', ',']).any(|listed| listed == "1" || listed == name);
        assert!(!is_required, "{REQUIRED} asks for {name}, but {variable} is not set");
        // Past the capture of a test's output, which would hide it as long as all is well.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {what}, because {variable} is not set; see tests/brokers help"
        );
    }
    url
}

fn variable(name: &str) -> String {
    format!("CLAIMSTREAM_{}_URL", name.to_uppercase().replace('-', "_"))
}
