use std::{
    io,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use super::receipt_calls::ReceiptCalls;
use crate::{Failure, load::FILES};

/// The processes that serve: where each listens, and what they have in common.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) database: String,
    pub(crate) strategy: String,
    pub(crate) folder: PathBuf,
    pub(crate) lease: Duration,
    /// Where the providers are.
    pub(crate) providers: SocketAddr,
    /// The secret of the receipts of mails.
    pub(crate) secret: String,
    /// Where the process of each place listens.
    pub(crate) servers: Vec<SocketAddr>,
}

impl Served {
    /// So many addresses of this machine without a listener.
    pub(crate) fn addresses(count: u16) -> io::Result<Vec<SocketAddr>> {
        // All are held until each has one, so that none is given twice.
        let held: Vec<TcpListener> =
            (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        held.iter().map(TcpListener::local_addr).collect()
    }

    /// Starts the process of a place, which is the program with a configuration of its own.
    pub(crate) fn command(&self, place: u16, process: u32) -> Result<Command, Failure> {
        let path = self.folder.join(format!("process-{process}.toml"));
        std::fs::write(&path, self.configuration(place, process))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--member").arg(path);
        Ok(command)
    }

    /// A provider knows by its URL which process it is called by.
    fn configuration(&self, place: u16, process: u32) -> String {
        let Self { database, strategy, providers, secret, servers, .. } = self;
        let words = ReceiptCalls::words();
        let (lease, server) = (humantime::format_duration(self.lease), servers[usize::from(place)]);
        format!(
            r#"
[database]
url = "{database}"
strategy = "{strategy}"
[serve]
listen = "{server}"
anonymous = true
[relay]
lease = "{lease}"
idle_max = "500ms"
[requests.retry]
base = "200ms"
cap = "2s"
max_attempts = 5
[messages.retry]
base = "200ms"
cap = "2s"
max_attempts = 5
[notifications]
directory = "{FILES}/directory.json"
templates = "{FILES}/templates.json"
[channels.default]
providers = "primary, secondary"
[channels.email]
providers = "mailer"
[providers.mailer]
type = "gateway"
request_url = "http://{providers}/mailer/{process}"
request_body = '{{"id": {{{{ id }}}}, "request_id": {{{{ request_id }}}}, "address": {{{{ address }}}}}}'
reference = "/reference"
proxy = false
breaker_pause = "500ms"
receipts_check = "standard"
receipts_secret = "{secret}"
receipts_events = "/events"
receipts_kind = "/event"
receipts_kinds = "{words}"
receipts_reference = "/reference"
receipts_message = "/message"
receipts_address = "/recipient"
receipts_at = "/at"
[providers.primary]
type = "webhook"
url = "http://{providers}/primary/{process}"
proxy = false
breaker_pause = "500ms"
[providers.secondary]
type = "webhook"
url = "http://{providers}/secondary/{process}"
proxy = false
breaker_pause = "500ms"
[log]
level = "error"
"#
        )
    }
}

/// The life of a process that serves: until its standard input ends, or until it is killed.
pub(crate) fn live(configuration: &Path) -> ExitCode {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        // The program ends in order by a signal, as it would under a supervisor.
        let _ = Command::new("kill").arg("-TERM").arg(std::process::id().to_string()).status();
    });
    let configuration = configuration.display().to_string();
    claimstream_cli::run_with(["claimstream", "--config", &configuration, "serve", "--relay"])
}
