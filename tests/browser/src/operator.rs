use std::{
    fs::{self, File},
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::Stdio,
};

use serde_json::Value;
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::{Failure, eventually};

/// An operator who runs the real program `claimstream` in a folder of its own.
pub struct Operator {
    folder: PathBuf,
    program: PathBuf,
}

impl Operator {
    /// With this configuration, and a database that has its tables.
    pub async fn new(configuration: &str) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("claimstream-night-{}", Uuid::new_v4()));
        fs::create_dir_all(&folder)?;
        let operator = Self { folder, program: program()? };
        operator.write("claimstream.toml", configuration)?;
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).await?;
        Ok(operator)
    }

    /// Where a file of the folder is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        Ok(File::create(self.path(name))?.write_all(text.as_bytes())?)
    }

    /// What a command prints; any end but a good one is a failure.
    pub async fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        let ended = self.command(arguments).stdin(Stdio::null()).output().await?;
        match ended.status.success() {
            true => Ok(String::from_utf8(ended.stdout)?),
            false => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr)).into()),
        }
    }

    /// A process that runs during the test, and whose log is a file of this name.
    pub fn start(&self, name: &str, arguments: &[&str]) -> Result<Running, Failure> {
        let log = self.path(&format!("{name}.log"));
        let file = File::create(&log)?;
        let mut command = self.command(arguments);
        command.args(["--log-format", "json"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Ok(Running { child: command.kill_on_drop(true).spawn()?, log })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).env_clear();
        command
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program lies next to the folder of the tests' own program.
fn program() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()?;
    let program = own.ancestors().nth(2).map(|folder| folder.join("claimstream")).filter(|it| it.is_file());
    program.ok_or_else(|| "there is no program; `cargo build -p claimstream-cli` makes it".into())
}

/// A process of the program; killed when this value is dropped.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// The address that its log names under this field.
    pub async fn address(&self, field: &str) -> Result<SocketAddr, Failure> {
        let named = || -> Result<Option<SocketAddr>, Failure> {
            let log = fs::read_to_string(&self.log)?;
            let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut addresses = events.filter_map(|event| event[field].as_str()?.parse().ok());
            Ok(addresses.next())
        };
        eventually(&format!("{} names {field}", self.log.display()), || async {
            Ok::<_, Failure>(named()?.is_some())
        })
        .await?;
        Ok(named()?.ok_or("the log has become shorter")?)
    }

    /// Sends a signal, such as `STOP` or `CONT`.
    pub async fn signal(&self, name: &str) -> Result<(), Failure> {
        let process = self.child.id().ok_or("the process has ended")?.to_string();
        let ended = Command::new("kill").args(["-s", name, &process]).status().await?;
        if ended.success() { Ok(()) } else { Err(format!("no signal {name} to {process}").into()) }
    }
}
