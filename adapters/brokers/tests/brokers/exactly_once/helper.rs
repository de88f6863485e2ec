use std::{
    process::{Child, Command, Stdio},
    sync::Mutex,
};

/// The variable that makes this program a relay or a consumer.
pub(super) const JOB: &str = "CLAIMSTREAM_TRIAL_JOB";

/// Another process of this program, which is killed with signal 9.
pub(super) struct Helper {
    job: &'static str,
    settings: Vec<(&'static str, String)>,
    child: Mutex<Child>,
}

impl Helper {
    pub(super) fn start(job: &'static str, settings: &[(&'static str, String)]) -> Self {
        let settings = settings.to_vec();
        let child = Mutex::new(started(job, &settings));
        Self { job, settings, child }
    }

    pub(super) fn kill_and_restart(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        *child = started(self.job, &self.settings);
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn started(job: &str, settings: &[(&'static str, String)]) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (name, value) in settings {
        command.env(format!("CLAIMSTREAM_TRIAL_{name}"), value);
    }
    command.env(JOB, job).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// A setting of this process.
pub(super) fn setting(name: &str) -> String {
    std::env::var(format!("CLAIMSTREAM_TRIAL_{name}")).unwrap()
}
