use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use serde_json::{Value, json};
use uuid::Uuid;

use super::tools::{Tools, script};
use crate::{
    nats_stream::{Held, Stream},
    operator::Operator,
};

/// One message of each kind of body, published as an event in both modes.
pub(super) struct Published {
    operator: Operator,
    messages: Vec<NewMessage>,
    held: Vec<Held>,
    name: String,
}

/// The moment of the ids, in milliseconds since 1970, and as a date.
const MADE: (u64, &str) = (1_756_641_624_064, "2025-08-31T12:00:24.064000+00:00");
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

impl Published {
    /// Publishes them to a broker by `relay --publish`.
    pub(super) async fn to(broker: &str) -> Self {
        let (operator, stream) = (Operator::with_database(), Stream::on(broker).await);
        let name = stream.name.clone();
        let target = |events| {
            format!(
                "[publish.{events}]\nqueue = 'orders'\nplace = '{name}.{events}'\nevents = '{events}'\n\
                 source = '/shop/{{queue}}'\ntype = 'order placed'\nsubject = '{{key}}'\n"
            )
        };
        let targets = ["binary", "structured"].map(target).concat();
        operator.write("claimstream.toml", format!("[publish.default]\nto = '{broker}'\n{targets}"));
        let file = format!("sqlite://{}", operator.path("claimstream.db").display());
        let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
        let messages = bodies().map(message).to_vec();
        outbox.enqueue_now(&messages).await.unwrap();
        operator.run(&["relay", "--publish", "--until-empty"]).succeeded();
        Self { held: stream.held().await, operator, messages, name }
    }

    /// The SDK reads every event as the message that was written.
    #[track_caller]
    pub(super) fn are_read_in(&self, mode: &str, tools: &Tools) {
        for message in &self.messages {
            let subject = format!("{}.{mode}", self.name);
            let is_it = |held: &&Held| held.subject == subject && held.id == message.id.to_string();
            let held = self.held.iter().find(is_it).unwrap();
            let line = json!({"headers": held.headers, "body": held.body}).to_string();
            let read = tools.run(&self.operator.path(""), &[&script("events.py")], &format!("{line}\n"));
            let read: Value = serde_json::from_str(&read).unwrap();
            assert_eq!(read, expected(message, mode), "{held:?}");
        }
    }
}

fn bodies() -> [Payload; 3] {
    let text = Payload::new("text/plain; charset=utf-8", "Grüße, \"Ann\"\n".as_bytes().to_vec()).unwrap();
    let bytes = Payload::new("application/octet-stream", vec![0, 1, 127]).unwrap();
    [Payload::json("{\"order\":7,\"to\":\"Köln\"}"), text, bytes]
}

fn message(body: Payload) -> NewMessage {
    let unique = Uuid::now_v7().as_u128() & ((1 << 62) - 1);
    let id = Uuid::from_u128(u128::from(MADE.0) << 80 | 0x7 << 76 | 0x2 << 62 | unique);
    let mut message = NewMessage::new(MessageId::new(id), QueueName::new("orders").unwrap(), body);
    message.ordering_key = Some(OrderingKey::new("Kunde 7 %€\"").unwrap());
    message.headers.set_trace(TRACE, None).unwrap();
    message
}

/// What the SDK is to read of a message.
fn expected(message: &NewMessage, mode: &str) -> Value {
    let key = message.ordering_key.as_ref().unwrap().as_str();
    let body = &message.payload;
    let mut attributes = json!({
        "specversion": "1.0", "id": message.id.to_string(), "source": "/shop/orders", "type": "order placed",
        "subject": key, "time": MADE.1, "datacontenttype": body.content_type(), "partitionkey": key,
    });
    // A structured event is the same in each attempt, and the trace is not.
    if mode == "binary" {
        attributes["traceparent"] = TRACE.into();
    }
    let data = match body.content_type() {
        "application/json" => serde_json::from_slice(body.bytes()).unwrap(),
        _ => json!(body.bytes()),
    };
    json!({"attributes": attributes, "data": data})
}
