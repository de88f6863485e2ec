use std::{
    net::SocketAddr,
    path::PathBuf,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream_domain::{MessageId, NewMessage, Payload, QueueName, Timestamp};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    operator::{Operator, eventually},
    serve::{OPEN, Served, start},
    server::{Server, free_address},
};

/// A service of notifications in which something goes wrong.
pub(super) struct Shop {
    operator: Operator,
    /// Where its probes are to be.
    probes: SocketAddr,
    sms: Server,
    push: Server,
}

/// A number that the provider refuses for good; it refuses any other for now.
const GONE: &str = "+491704";

/// A shop whose program runs.
pub(super) struct OpenShop {
    shop: Shop,
    served: Served,
    sent: u32,
}

impl Shop {
    /// With a database, and no process.
    pub(super) fn closed() -> Self {
        let operator = Operator::with_database();
        let sms = Server::telling(|request| match request.contains(GONE) {
            true => Some((410, "{}".into())),
            false => Some((503, "{}".into())),
        });
        let (push, probes) = (Server::silent(), free_address());
        let webhook = |channel: &str, server: &Server| {
            format!(
                "[channels.{channel}]\nprovider = \"webhook\"\nurl = \"http://{}/\"\nproxy = false\nbreaker_failures = 1000\n",
                server.address()
            )
        };
        let settings = format!(
            "[probes]\nlisten = \"{probes}\"\ncount_every = \"1s\"\n[relay]\nlease = \"3s\"\n\
             [database]\nstrategy = \"preemptive_update\"\n\
             [channels.email]\nprovider = \"log\"\nfile = \"out.jsonl\"\n{}{}",
            webhook("sms", &sms),
            webhook("push", &push),
        );
        operator.write("claimstream.toml", settings);
        Self { operator, probes, sms, push }
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.operator.path("")
    }

    pub(super) fn probes(&self) -> SocketAddr {
        self.probes
    }

    /// How often the provider of text messages was asked.
    fn texts(&self) -> usize {
        self.sms.received().matches("POST /").count()
    }

    /// Starts its process.
    pub(super) fn open(self) -> OpenShop {
        let served = start(&self.operator, &[&OPEN[..], &["--relay"]].concat());
        OpenShop { shop: self, served, sent: 0 }
    }
}

impl OpenShop {
    fn send(&mut self, channel: &str, recipient: &Value) {
        self.sent += 1;
        let request = json!({
            "requester": {"type": "service", "id": "shop"}, "recipients": [recipient],
            "channels": [channel], "content": {"title": "Paid"},
        });
        let sent = self.served.client.send(&self.sent.to_string(), &request);
        assert_eq!(sent.status, 201, "{sent:?}");
    }

    /// A mail is delivered.
    pub(super) fn deliver_one(&mut self) {
        self.send("email", &json!({"email": "ann@example.com"}));
        eventually("the mail is delivered", || self.shop.operator.lines("out.jsonl").len() == 1);
    }

    /// A provider refuses a message for good.
    pub(super) fn refuse_for_good(&mut self) {
        self.send_texts(&[GONE]);
    }

    /// A provider refuses messages for now.
    pub(super) fn refuse_for_now(&mut self) {
        self.send_texts(&["+491701", "+491702", "+491703"]);
    }

    fn send_texts(&mut self, numbers: &[&str]) {
        let asked = self.shop.texts();
        numbers.iter().for_each(|number| self.send("sms", &json!({"phone": number})));
        eventually("the provider has refused", || self.shop.texts() >= asked + numbers.len());
    }

    /// A queue without a consumer has had a message for longer than five minutes.
    pub(super) async fn leave_a_message_that_is_due_in(&self, queue: &str) {
        let file = format!("sqlite://{}", self.shop.operator.path("claimstream.db").display());
        let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(400);
        let at = Timestamp::from_micros(i64::try_from(now.as_micros()).unwrap()).unwrap();
        let (id, queue) = (MessageId::new(Uuid::now_v7()), QueueName::new(queue).unwrap());
        let message = NewMessage::new(id, queue, Payload::json("1")).deliver_at(at);
        outbox.enqueue_now(&[message]).await.unwrap();
    }

    pub(super) fn pause(&self, queue: &str) {
        self.shop.operator.run(&["pause", queue, "--by", "ann"]).succeeded();
    }

    /// A provider does not answer, and the claim is taken away meanwhile.
    pub(super) async fn lose_a_lease(&mut self) {
        self.send("push", &json!({"device_token": "d-1"}));
        eventually("the provider was asked", || self.shop.push.received().contains("POST /"));
        let steal = "UPDATE claimstream_queue SET claim_id = x'00000000000000000000000000000001' \
                     WHERE queue = 'notification-messages' AND claim_id IS NOT NULL";
        self.database().await.execute_unprepared(steal).await.unwrap();
    }

    /// A transaction writes for long, so that callers that hand something in wait.
    pub(super) async fn keep_callers_waiting(&mut self) {
        let database = self.database().await;
        database.execute_unprepared("BEGIN IMMEDIATE").await.unwrap();
        let waiting: Vec<_> = (0..3)
            .map(|number| {
                let client = self.served.client.clone();
                let request = json!({
                    "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
                    "channels": ["email"], "content": {"title": "Paid"},
                });
                thread::spawn(move || client.send(&format!("waits {number}"), &request).status)
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(2300)).await;
        database.execute_unprepared("ROLLBACK").await.unwrap();
        let statuses: Vec<_> = waiting.into_iter().map(|waits| waits.join().unwrap()).collect();
        assert_eq!(statuses, [201; 3]);
    }

    pub(super) async fn take_the_queue_away(&self) {
        let rename = "ALTER TABLE claimstream_queue RENAME TO elsewhere";
        self.database().await.execute_unprepared(rename).await.unwrap();
    }

    pub(super) async fn give_the_queue_back(&self) {
        let rename = "ALTER TABLE elsewhere RENAME TO claimstream_queue";
        self.database().await.execute_unprepared(rename).await.unwrap();
    }

    /// The whole process stands still.
    pub(super) fn stand_still(&self) {
        self.served.running.signal("STOP");
    }

    /// One connection, which keeps what is begun on it.
    async fn database(&self) -> DatabaseConnection {
        let file = format!("sqlite://{}", self.shop.operator.path("claimstream.db").display());
        let mut options = ConnectOptions::new(file);
        options.max_connections(1);
        Database::connect(options).await.unwrap()
    }
}
