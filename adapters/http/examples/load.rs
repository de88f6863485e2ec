//! Hands notifications in at a fixed rate, or as fast as the server answers, and prints how long the answers took.
//!
//! ```sh
//! cargo run --release -p claimstream-http --example load -- 127.0.0.1:8080 connections=64 rate=2000 seconds=30
//! ```
//!
//! With a rate, a request that has to wait for a connection is counted from the moment when it should have been sent.
#![allow(clippy::print_stdout, reason = "a program that reports")]

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use uuid::Uuid;

/// What is asked for on the command line.
#[derive(Clone)]
struct Plan {
    address: String,
    token: Option<String>,
    connections: u64,
    /// Requests a second; 0 is as fast as answers come.
    rate: u64,
    seconds: u64,
}

/// What came back, and how long each answer took.
#[derive(Default)]
struct LoadCounts {
    took: Vec<Duration>,
    answers: BTreeMap<u16, u64>,
    broken: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plan = Plan::read(std::env::args().skip(1))?;
    let (run, next, began) = (Uuid::now_v7(), Arc::new(AtomicU64::new(0)), Instant::now());
    let mut clients = JoinSet::new();
    for _ in 0..plan.connections {
        let client = Client { plan: plan.clone(), run, next: Arc::clone(&next), began, connection: None };
        clients.spawn(client.work());
    }
    let mut all = LoadCounts::default();
    while let Some(tally) = clients.join_next().await {
        all.add(tally?);
    }
    all.print(began.elapsed());
    Ok(())
}

impl Plan {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let address = arguments.next().ok_or("give the address of the server, such as 127.0.0.1:8080")?;
        let mut plan = Self { address, token: None, connections: 64, rate: 0, seconds: 10 };
        for argument in arguments {
            let (name, value) = argument.split_once('=').ok_or("write NAME=VALUE")?;
            match name {
                "connections" => plan.connections = value.parse()?,
                "rate" => plan.rate = value.parse()?,
                "seconds" => plan.seconds = value.parse()?,
                "token" => plan.token = Some(value.to_owned()),
                _ => return Err("there are connections, rate, seconds and token".into()),
            }
        }
        Ok(plan)
    }
}

/// One connection, which sends one request after another.
struct Client {
    plan: Plan,
    run: Uuid,
    next: Arc<AtomicU64>,
    began: Instant,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    async fn work(mut self) -> LoadCounts {
        let mut tally = LoadCounts::default();
        let end = self.began + Duration::from_secs(self.plan.seconds);
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let due = match self.plan.rate {
                0 => Instant::now(),
                rate => self.began + Duration::from_secs_f64(number as f64 / rate as f64),
            };
            if due >= end {
                return tally;
            }
            sleep_until(due).await;
            match self.send(number).await {
                Ok(status) => {
                    tally.took.push(due.elapsed());
                    *tally.answers.entry(status.as_u16()).or_default() += 1;
                }
                Err(_) => {
                    tally.broken += 1;
                    self.connection = None;
                    sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }

    async fn send(&mut self, number: u64) -> Result<StatusCode, Box<dyn Error + Send + Sync>> {
        let body = format!(
            r#"{{"requester":{{"type":"service","id":"load"}},"recipients":[{{"email":"a{number}@example.com"}}],"channels":["email"],"content":{{"title":"Paid","body":"Thank you for order {number}."}}}}"#
        );
        let mut request = Request::post("/v1/notifications")
            .header("host", &self.plan.address)
            .header("content-type", "application/json")
            .header("idempotency-key", format!("{}-{number}", self.run));
        if let Some(token) = &self.plan.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        let answer = self.connection().await?.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }

    /// The connection, made if there is none.
    async fn connection(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
        let mut made = match self.connection.take() {
            Some(made) => made,
            None => {
                let stream = TcpStream::connect(&self.plan.address).await?;
                stream.set_nodelay(true)?;
                let (sender, connection) = handshake(TokioIo::new(stream)).await?;
                tokio::spawn(connection);
                sender
            }
        };
        made.ready().await?;
        Ok(self.connection.insert(made))
    }
}

impl LoadCounts {
    fn add(&mut self, other: Self) {
        self.took.extend(other.took);
        self.broken += other.broken;
        for (status, answers) in other.answers {
            *self.answers.entry(status).or_default() += answers;
        }
    }

    fn print(mut self, within: Duration) {
        self.took.sort_unstable();
        let at = |share: f64| {
            let place = ((self.took.len() as f64 * share) as usize).min(self.took.len().saturating_sub(1));
            self.took.get(place).copied().unwrap_or_default().as_secs_f64() * 1_000.0
        };
        let a_second = self.took.len() as f64 / within.as_secs_f64();
        println!(
            "{} answers in {within:.1?}, {a_second:.0} a second; {} broken",
            self.took.len(),
            self.broken
        );
        println!(
            "ms: p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, most {:.1}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0)
        );
        for (status, answers) in self.answers {
            println!("{status}: {answers}");
        }
    }
}
