use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// An operator who runs the program in an empty directory and an empty environment.
pub(crate) struct Operator {
    directory: TempDir,
    variables: Vec<(String, String)>,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Operator {
    /// Without a database.
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// With the URL of a database. A server is waited for as long as a busy machine may take; the program itself gives it two seconds.
    pub(crate) fn at(url: &str) -> Self {
        let operator = Self::new().set("CLAIMSTREAM_DATABASE__URL", url);
        match url.starts_with("sqlite:") {
            true => operator,
            false => operator.set("CLAIMSTREAM_DATABASE__ACQUIRE_TIMEOUT", "10m"),
        }
    }

    /// With a database that has its tables.
    pub(crate) fn with_database() -> Self {
        let operator = Self::at("sqlite://claimstream.db");
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        operator
    }

    /// With one more variable in the environment.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The lines of a file; none if there is no file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_claimstream"));
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, b"")
    }

    /// Runs it with an input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that does not read its input closes it.
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let ended = child.wait_with_output().unwrap();
        let _ = writer.join();
        Ended {
            code: ended.status.code(),
            out: String::from_utf8(ended.stdout).unwrap(),
            err: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    /// Runs `relay --until-empty` with every channel writing to the file `out.jsonl`.
    pub(crate) fn deliver(&self, more: &[&str]) -> Ended {
        let relay = ["relay", "--until-empty", "--set", "channels.default.provider=log"];
        self.run(&[&relay[..], &["--set", "channels.default.file=out.jsonl"], more].concat())
    }
}

impl Ended {
    /// What it printed; it must have ended well.
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// What it complained of; it must have ended with this exit code.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.err
    }
}

/// A program that runs during the test, and does not outlive it.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Sends it a signal.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "SIG{name} was not sent");
    }

    /// Waits until it has ended.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the program has ended", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until it holds, however long that takes; `claimstream_testbed::eventually` where nothing is asynchronous.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < STUCK, "stuck for {STUCK:?} before {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// It proves nothing and is no promise: it only ends a test that would never end.
pub(crate) const STUCK: Duration = Duration::from_secs(300);

/// A request to two people given by address, on the channels that are named.
pub(crate) fn request(number: u32, channels: &str) -> String {
    format!(
        r#"{{"id":"{}","requester":{{"type":"service","id":"test"}},"recipients":[{{"email":"a{number}@example.com","phone":"+49{number:05}"}}],"channels":[{channels}],"content":{{"title":"t","body":"b{number}"}}}}"#,
        id(number)
    )
}

/// The id of the request with this number.
pub(crate) fn id(number: u32) -> String {
    format!("01900000-0000-7000-8000-{number:012}")
}

/// A file of the requests, people and templates that `tests/kills` delivers.
pub(crate) fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kills/notifications").join(name);
    path.to_str().unwrap().to_owned()
}
