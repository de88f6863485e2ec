use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Stdio,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{programs::Programs, rules};
use crate::{
    operator::{Running, STUCK, eventually},
    server::free_address,
};

/// A Prometheus that looks at one process twice a second and judges it by the shipped rules.
pub(super) struct Scraping {
    address: SocketAddr,
    _running: Running,
}

/// Queries that may show nothing here, because what they count does not happen on SQLite. The crate's own test writes them.
const SELDOM: &str = "claimstream_restarts_total";

impl Scraping {
    /// Starts it in a directory; `target` need not answer yet.
    pub(super) fn start(programs: &Programs, directory: &Path, target: SocketAddr) -> Self {
        let address = free_address();
        let configuration = format!(
            "global: {{ scrape_interval: 500ms, scrape_timeout: 450ms, evaluation_interval: 500ms }}\n\
             rule_files: [rules.yml]\n\
             scrape_configs:\n  - job_name: claimstream\n    static_configs: [{{ targets: [\"{target}\"] }}]\n"
        );
        std::fs::write(directory.join("prometheus.yml"), configuration).unwrap();
        std::fs::write(directory.join("rules.yml"), rules::at_once()).unwrap();
        let mut command = programs.prometheus();
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=series", "--log.level=warn"]);
        command.arg(format!("--web.listen-address={address}")).current_dir(directory);
        let log = File::create(directory.join("prometheus.log")).unwrap();
        let running = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let scraping = Self { address, _running: Running(running) };
        eventually("Prometheus is ready", || scraping.get("/-/ready").is_some());
        scraping
    }

    /// How often the process was looked at while it answered, up to now.
    pub(super) fn looks(&self) -> usize {
        let found = self.query("count_over_time(claimstream_build_info[1m])");
        found.first().map_or(0, |one| one.value as usize)
    }

    /// Whether a query finds anything.
    pub(super) fn shows(&self, query: &str) -> bool {
        !self.query(query).is_empty()
    }

    /// The queues that have pipelines.
    pub(super) fn pipelines(&self) -> BTreeSet<String> {
        let queues: BTreeSet<_> =
            self.query("claimstream_pipeline_working").iter().map(|one| text(&one.labels["queue"])).collect();
        assert!(!queues.is_empty());
        queues
    }

    /// The alerts that fire, with their queues.
    pub(super) fn firing(&self) -> BTreeSet<(String, String)> {
        let answer = self.get("/api/v1/alerts").unwrap();
        let alerts = answer["data"]["alerts"].as_array().unwrap();
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        firing.inspect(|alert| can_be_read(alert)).map(named).collect()
    }

    /// Waits until these alerts fire and no other, and answers their names.
    #[track_caller]
    pub(super) fn fires(&self, expected: &[(&str, &str)]) -> Vec<String> {
        let expected: BTreeSet<_> =
            expected.iter().map(|(alert, queue)| ((*alert).to_owned(), (*queue).to_owned())).collect();
        eventually(&format!("these alerts fire: {expected:?}"), || {
            let firing = self.firing();
            let others: Vec<_> = firing.difference(&expected).collect();
            assert!(others.is_empty() || others == [&no_process()], "for no reason: {others:?}");
            firing == expected
        });
        expected.into_iter().map(|(alert, _)| alert).collect()
    }

    /// Waits until an alert fires, whatever else does.
    pub(super) fn fires_among_others(&self, alert: &str) {
        eventually(alert, || self.firing().iter().any(|(firing, _)| firing == alert));
    }

    /// Every query of the dashboard finds something, with a value for each label of its legend.
    pub(super) fn answers_the_dashboard(&self) {
        for rules::Query { expression, labels } in rules::dashboard() {
            let mut found = self.query(&expression);
            if found.is_empty() && expression.contains(SELDOM) {
                continue;
            }
            eventually(&format!("{expression} finds something"), || {
                found = self.query(&expression);
                !found.is_empty()
            });
            for one in found {
                let missing = labels.iter().find(|label| one.labels[label.as_str()].as_str().is_none());
                assert_eq!(missing, None, "{expression} has no such label: {}", one.labels);
            }
        }
    }

    fn query(&self, query: &str) -> Vec<Found> {
        let path = format!("/api/v1/query?query={}", utf8_percent_encode(query, NON_ALPHANUMERIC));
        let answer = self.get(&path).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let all = answer["data"]["result"].as_array().unwrap().iter();
        all.map(|one| Found {
            labels: one["metric"].clone(),
            value: one["value"][1].as_str().unwrap().parse().unwrap(),
        })
        .collect()
    }

    /// The answer to a request; an HTTP of before chunks keeps it plain. `None` if no server answers with a 200 or an error of a query.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(STUCK)).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", self.address).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?;
        matches!(status, "200" | "400" | "422").then(|| serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

/// A series that a query has found.
struct Found {
    labels: Value,
    value: f64,
}

fn named(alert: &Value) -> (String, String) {
    (text(&alert["labels"]["alertname"]), text(&alert["labels"]["queue"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What fires until the first look at the program.
fn no_process() -> (String, String) {
    ("ClaimstreamNobodyReports".to_owned(), String::new())
}

/// Its sentences have all that they mention.
#[track_caller]
fn can_be_read(alert: &Value) {
    for annotation in ["summary", "action"] {
        let text =
            alert["annotations"][annotation].as_str().unwrap_or_else(|| panic!("no {annotation}: {alert}"));
        let is_whole = !text.contains("{{") && !text.contains("<error") && !text.contains("<no value>");
        assert!(is_whole && !text.contains("  ") && !text.contains(" ,"), "{text}");
    }
    let severity = alert["labels"]["severity"].as_str();
    assert!(matches!(severity, Some("page" | "ticket")), "{alert}");
}
