use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use claimstream_testbed::trial_folder;

/// The variable that lists the brokers without which the trials must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_BROKERS";

/// The URL of a broker that runs, from the environment. If there is none, the output says that its trials are skipped, unless they are
/// required.
pub(crate) fn named(name: &str) -> Option<String> {
    let variable = variable(name);
    let url = std::env::var(&variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let required = std::env::var(REQUIRED).unwrap_or_default();
        let is_required = required.split([' ', ',']).any(|one| one == "1" || one == name);
        assert!(!is_required, "{REQUIRED} names {name}, and {variable} is not set");
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {name}, because {variable} is not set; `tests/brokers up {name}` starts one"
        );
    }
    url
}

fn variable(name: &str) -> String {
    format!("CLAIMSTREAM_{}_URL", name.to_uppercase().replace(['-', '.'], "_"))
}

/// A broker of this trial alone, to be killed.
pub(crate) struct OwnBroker(Own);

#[derive(Clone)]
struct Own {
    name: &'static str,
    directory: PathBuf,
}

impl OwnBroker {
    pub(crate) fn start(name: &'static str) -> Self {
        let broker = Self(Own { name, directory: trial_folder("broker") });
        broker.0.script("up");
        broker
    }

    pub(crate) fn url(&self) -> String {
        self.0.script("url").trim().to_owned()
    }

    /// Kills it with signal 9 and starts it again, with its data and on its port.
    pub(crate) async fn kill_and_restart(&self) {
        self.on_another_thread("kill").await;
        self.on_another_thread("restart").await;
    }

    /// Others go on meanwhile.
    async fn on_another_thread(&self, command: &'static str) {
        let own = self.0.clone();
        tokio::task::spawn_blocking(move || own.script(command)).await.unwrap();
    }
}

impl Own {
    fn script(&self, command: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/brokers");
        let mut script = Command::new(script);
        let script = script.args([command, self.name]).env("CLAIMSTREAM_BROKERS_DIR", &self.directory);
        let done = script.env_remove(variable(self.name)).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "tests/brokers {command} {}: {said}", self.name);
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for OwnBroker {
    fn drop(&mut self) {
        self.0.script("down");
        let _ = std::fs::remove_dir_all(&self.0.directory);
    }
}
