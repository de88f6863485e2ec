use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

/// The programs that `tests/prometheus` fetches.
pub(crate) struct Programs {
    prometheus: PathBuf,
    promtool: PathBuf,
}

/// The variable that makes their absence a failure.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_PROMETHEUS";

impl Programs {
    /// Those that the environment names. If it names none, the output says that `what` was skipped, unless they are required.
    pub(crate) fn named(what: &str) -> Option<Self> {
        let named =
            |variable: &str| std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
        match (named("CLAIMSTREAM_PROMETHEUS"), named("CLAIMSTREAM_PROMTOOL")) {
            (Some(prometheus), Some(promtool)) => Some(Self { prometheus, promtool }),
            _ => {
                assert!(
                    named(REQUIRED).is_none(),
                    "{REQUIRED} is set, and the variables of tests/prometheus are not"
                );
                // Past the capture of a test's output, which would hide it as long as all is well.
                let _ = writeln!(
                    std::io::stderr(),
                    "skipped: {what} with Prometheus, because none is named; `eval \"$(tests/prometheus fetch)\"` fetches one"
                );
                None
            }
        }
    }

    /// What promtool says; it must be content.
    pub(super) fn promtool(&self, arguments: &[&str]) -> String {
        let ended = Command::new(&self.promtool).args(arguments).stdin(Stdio::null()).output().unwrap();
        let said =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(ended.status.success(), "promtool {arguments:?} says:\n{said}");
        said
    }

    /// What promtool says of metrics; it must be content.
    #[track_caller]
    pub(crate) fn check_metrics(&self, metrics: &str) -> String {
        let mut command = Command::new(&self.promtool);
        command
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        running.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
        let ended = running.wait_with_output().unwrap();
        let said =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(ended.status.success(), "promtool says of the metrics:\n{said}");
        said
    }

    pub(super) fn prometheus(&self) -> Command {
        Command::new(&self.prometheus)
    }
}
