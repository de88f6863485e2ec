use std::{
    env,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::test_folder;

/// A broker for one test, which may be killed and started again with its data; stopped with it.
///
/// It panics where it does not obey: a test that has lost its broker shows nothing.
pub struct PrivateBroker {
    script: Script,
    url: String,
}

/// `tests/brokers` for one broker, in a folder of its own.
#[derive(Clone)]
struct Script {
    name: &'static str,
    folder: PathBuf,
}

/// The variable that lists the brokers without which a test must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_BROKERS";

impl PrivateBroker {
    /// Starts the broker that `tests/brokers` calls so.
    pub fn start(name: &'static str) -> Self {
        let script = Script { name, folder: test_folder("broker") };
        let mut broker = Self { script, url: String::new() };
        broker.script.run("up");
        broker.url = broker.script.run("url");
        broker
    }

    /// Starts one if the environment names a broker of this kind. Otherwise the output says that `what` was skipped, unless one is required.
    pub fn start_if_known(name: &'static str, what: &str) -> Option<Self> {
        known_broker(name, what).map(|_| Self::start(name))
    }

    /// Where it is; it stays there.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without a warning.
    pub fn kill(&self) {
        self.script.run("kill");
    }

    /// Starts it again with its data, killing it first if it runs.
    pub fn start_again(&self) {
        self.script.run("restart");
    }

    /// Ends it without a warning and starts it again with its data, while other tasks work.
    pub async fn kill_and_restart(&self) {
        self.kill_and_restart_with(&[]).await;
    }

    /// The same, with settings of `tests/brokers` for this start.
    pub async fn kill_and_restart_with(&self, settings: &'static [(&'static str, &'static str)]) {
        for command in ["kill", "restart"] {
            let script = self.script.clone();
            let run = move || script.run_with(command, settings);
            tokio::task::spawn_blocking(run).await.expect("it obeys");
        }
    }
}

impl Script {
    fn run(&self, command: &str) -> String {
        self.run_with(command, &[])
    }

    fn run_with(&self, command: &str, settings: &[(&str, &str)]) -> String {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../brokers");
        let mut run = Command::new(script);
        let run = run
            .args([command, self.name])
            .env("CLAIMSTREAM_BROKERS_DIR", &self.folder)
            .envs(settings.iter().copied());
        let ended = run.env_remove(variable(self.name)).stdin(Stdio::null()).output().expect("tests/brokers");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "tests/brokers {command} {}: {said}", self.name);
        String::from_utf8_lossy(&ended.stdout).trim().to_owned()
    }
}

impl Drop for PrivateBroker {
    fn drop(&mut self) {
        self.script.run("down");
        let _ = std::fs::remove_dir_all(&self.script.folder);
    }
}

/// The URL of the broker that the environment names. If it names none, the output says that `what` was skipped, unless one is required.
pub fn known_broker(name: &str, what: &str) -> Option<String> {
    let variable = variable(name);
    let url = env::var(&variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let required = env::var(REQUIRED).unwrap_or_default();
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
    format!("CLAIMSTREAM_{}_URL", name.to_uppercase().replace(['-', '.'], "_"))
}
