use std::{net::SocketAddr, path::PathBuf};

use claimstream_browser_tests::{Alerts, Failure, Operator, Provider, Running, Session, free_address};
use serde_json::{Value, json};
use uuid::Uuid;

/// A shop that notifies its customers: a server with a board, relays as a test starts them, a provider, and an operator who is called by
/// alerts at night.
pub(super) struct Shop {
    pub(super) provider: Provider,
    pub(super) alerts: Alerts,
    operator: Operator,
    probes: [SocketAddr; 2],
    board: SocketAddr,
    requests: Vec<Uuid>,
    _server: Running,
}

impl Shop {
    /// With a server and no relay; `None` where no Prometheus is named.
    pub(super) async fn open(strategy: &str) -> Result<Option<Self>, Failure> {
        let environment = |name: &str| std::env::var(name).ok();
        let Some(prometheus) = Alerts::program(environment) else {
            let is_required = environment("CLAIMSTREAM_REQUIRE_PROMETHEUS").is_some_and(|it| !it.is_empty());
            if is_required {
                return Err("CLAIMSTREAM_REQUIRE_PROMETHEUS is set, and CLAIMSTREAM_PROMETHEUS is not".into());
            }
            println!(
                "skipped: a night, because no Prometheus is named; `eval \"$(tests/prometheus fetch)\"` fetches one"
            );
            return Ok(None);
        };
        let provider = Provider::start().await?;
        let operator = Operator::new(&configuration(strategy, &provider)).await?;
        let probes = [free_address()?, free_address()?, free_address()?];
        let alerts = Alerts::start(&prometheus, &operator.path(""), &probes).await?;
        let server = operator.start("server", &["serve", "--board", "--set", &probed_at(probes[0])])?;
        let board = server.address("board").await?;
        let probes = [probes[1], probes[2]];
        Ok(Some(Self { provider, alerts, operator, probes, board, requests: Vec::new(), _server: server }))
    }

    /// Starts the relay with this number, 1 or 2.
    pub(super) fn relay(&self, number: usize) -> Result<Running, Failure> {
        let probes = probed_at(self.probes(number));
        self.operator.start(&format!("relay-{number}"), &["relay", "--set", &probes])
    }

    /// Where the relay with this number is probed.
    pub(super) fn probes(&self, number: usize) -> SocketAddr {
        self.probes[number - 1]
    }

    /// Runs the program.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        self.operator.run(arguments).await
    }

    /// Hands in requests of one recipient each.
    pub(super) async fn send(&mut self, count: usize) -> Result<(), Failure> {
        let new: Vec<_> = (0..count).map(|_| Uuid::now_v7()).collect();
        let line = |id: &Uuid| {
            let request = json!({
                "id": id, "requester": {"type": "service", "id": "shop"}, "channels": ["sms"],
                "recipients": [{"phone": "+4917012345"}], "content": {"title": "Paid"},
            });
            format!("{request}\n")
        };
        self.operator.write("requests.jsonl", &new.iter().map(line).collect::<String>())?;
        self.run(&["notify", "requests.jsonl"]).await?;
        self.requests.extend(new);
        Ok(())
    }

    /// Whether each request has been delivered.
    pub(super) async fn is_delivered(&self) -> Result<bool, Failure> {
        for id in &self.requests {
            let shown: Value = serde_json::from_str(&self.run(&["show", &id.to_string(), "--json"]).await?)?;
            let is_delivered = shown["messages"]
                .as_array()
                .is_some_and(|messages| messages.len() == 1 && messages[0]["status"] == "DELIVERED");
            if !is_delivered {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a page of the board.
    pub(super) async fn show(&self, session: &Session, path: &str) -> Result<(), Failure> {
        Ok(session.goto(format!("http://{}{path}", self.board)).await?)
    }

    /// The file of a database; that of the shop is `shop`.
    pub(super) fn database(&self, name: &str) -> PathBuf {
        self.operator.path(&format!("{name}.db"))
    }
}

fn probed_at(address: SocketAddr) -> String {
    format!("probes.listen={address}")
}

/// Leases that outlast every test.
fn configuration(strategy: &str, provider: &Provider) -> String {
    format!(
        "[database]\nurl = \"sqlite://shop.db\"\nstrategy = \"{strategy}\"\nshards = 4\n\
         [relay]\nlease = \"10m\"\nidle_max = \"200ms\"\n\
         [probes]\ncount_every = \"1s\"\n\
         [serve]\nlisten = \"127.0.0.1:0\"\nanonymous = true\n\
         [board]\nlisten = \"127.0.0.1:0\"\n\
         [channels.sms]\nprovider = \"webhook\"\nurl = \"{}\"\nproxy = false\nbreaker_failures = 1000\n",
        provider.url()
    )
}
