use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::{Child, Command},
};

use crate::{Failure, eventually};

/// The shipped alerts, judged by a real Prometheus that looks at processes twice a second.
pub struct Alerts {
    address: SocketAddr,
    _running: Child,
}

const RULES: &str = include_str!("../../../docs/alerts.yml");

impl Alerts {
    /// The server that the environment names; `None` if it names none.
    pub fn program(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        environment("CLAIMSTREAM_PROMETHEUS").filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Starts it in a folder. Nothing is changed of the rules but for how long a fault has to last.
    pub async fn start(program: &Path, folder: &Path, targets: &[SocketAddr]) -> Result<Self, Failure> {
        let address = free_address()?;
        let targets: Vec<_> = targets.iter().map(|target| format!("\"{target}\"")).collect();
        let configuration = format!(
            "global: {{ scrape_interval: 500ms, scrape_timeout: 450ms, evaluation_interval: 500ms }}\n\
             rule_files: [rules.yml]\n\
             scrape_configs:\n  - job_name: claimstream\n    static_configs: [{{ targets: [{}] }}]\n",
            targets.join(", ")
        );
        fs::write(folder.join("prometheus.yml"), configuration)?;
        fs::write(folder.join("rules.yml"), at_once(RULES))?;
        let log = File::create(folder.join("prometheus.log"))?;
        let mut command = Command::new(program);
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=series", "--log.level=warn"]);
        command.arg(format!("--web.listen-address={address}")).current_dir(folder).kill_on_drop(true);
        let running = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let alerts = Self { address, _running: running };
        eventually("Prometheus is ready", || async { Ok(alerts.get("/-/ready").await.is_ok()) }).await?;
        Ok(alerts)
    }

    /// Waits until an alert fires, and answers its summary.
    pub async fn fires(&self, name: &str) -> Result<String, Failure> {
        let fires = || async { Ok::<_, Failure>(self.firing(name).await?.is_some()) };
        eventually(&format!("{name} fires"), fires).await?;
        let summary = self.firing(name).await?.ok_or_else(|| format!("{name} has ended at once"))?;
        println!("the alert {name} fires: {summary}");
        Ok(summary)
    }

    /// Waits until an alert does not fire any more.
    pub async fn ends(&self, name: &str) -> Result<(), Failure> {
        eventually(&format!("{name} ends"), || async { Ok(self.firing(name).await?.is_none()) }).await
    }

    /// Waits until a query finds something.
    pub async fn sees(&self, query: &str) -> Result<(), Failure> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/v1/query?query={encoded}");
        let finds = || async {
            let answer: Value = serde_json::from_str(&self.get(&path).await?)?;
            Ok(answer["data"]["result"].as_array().is_some_and(|found| !found.is_empty()))
        };
        eventually(query, finds).await
    }

    /// The summary of an alert that fires.
    async fn firing(&self, name: &str) -> Result<Option<String>, Failure> {
        let answer: Value = serde_json::from_str(&self.get("/api/v1/alerts").await?)?;
        let alerts = answer["data"]["alerts"].as_array().ok_or("Prometheus lists no alerts")?;
        let found = alerts.iter().find(|one| one["labels"]["alertname"] == name && one["state"] == "firing");
        Ok(found.map(|one| one["annotations"]["summary"].as_str().unwrap_or_default().to_owned()))
    }

    async fn get(&self, path: &str) -> Result<String, Failure> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without an end of its head")?;
        let is_ok = head.lines().next().is_some_and(|line| line.contains(" 200 "));
        if is_ok { Ok(body.to_owned()) } else { Err(format!("{path}: {head}").into()) }
    }
}

/// An address of this machine that has no listener.
pub fn free_address() -> Result<SocketAddr, Failure> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// The rules, which wait for nothing.
fn at_once(rules: &str) -> String {
    let shortened = |line: &str| match line.trim_start().strip_prefix("for: ") {
        Some(time) => line.replace(time, "0s"),
        None => line.to_owned(),
    };
    rules.lines().map(|line| shortened(line) + "\n").collect()
}
