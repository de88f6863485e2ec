use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The Python that `tests/interfaces` fetches.
pub(super) struct Tools(PathBuf);

/// The variable that makes its absence a failure.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_INTERFACES";
const NAME: &str = "CLAIMSTREAM_INTERFACES";

impl Tools {
    /// The one that the environment names. If it names none, the output says that `what` was skipped, unless it is required.
    pub(super) fn named(what: &str) -> Option<Self> {
        let named =
            |variable: &str| std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
        let python = named(NAME);
        if python.is_none() {
            assert!(named(REQUIRED).is_none(), "{REQUIRED} is set, and {NAME} is not");
            // Past the capture of a test's output, which would hide it as long as all is well.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: {what}, because {NAME} is not set; `eval \"$(tests/interfaces fetch)\"` sets it"
            );
        }
        python.map(Self)
    }

    /// Python in a folder, with nothing of this environment but the programs next to it.
    pub(super) fn python(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.current_dir(folder).env_clear().env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
        command.env("HOME", folder).env("PATH", self.0.parent().unwrap());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a module or a script says of an input; it must be content.
    #[track_caller]
    pub(super) fn run(&self, folder: &Path, arguments: &[&str], input: &str) -> String {
        said(self.python(folder).args(arguments), input)
    }
}

/// What a program says of an input; it must be content.
#[track_caller]
pub(super) fn said(command: &mut Command, input: &str) -> String {
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    // A program that does not read its input closes it.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ended = child.wait_with_output().unwrap();
    let _ = writer.join();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{command:?} says:\n{said}{}", String::from_utf8_lossy(&ended.stderr));
    said
}

/// A script of this folder.
pub(super) fn script(name: &str) -> String {
    format!("{}/tests/cli/interfaces/{name}", env!("CARGO_MANIFEST_DIR"))
}
