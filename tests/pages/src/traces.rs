//! The code of docs/traces.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::{Handler, Invalid, MessageId, NewMessage, Payload, Pipeline, QueueName, Relay, RelayError};
use claimstream_opentelemetry::{TracedHandler, TracedStore, carry_trace};
use claimstream_sea_orm::SeaOrmOutbox;
use uuid::Uuid;

fn consumer(relay: &Relay, handler: impl Handler + 'static) -> Result<Pipeline, RelayError> {
    relay.pipeline("orders", TracedHandler::new(handler))
}

fn message(queue: QueueName, payload: Payload) -> Result<NewMessage, Invalid> {
    let mut message = NewMessage::new(MessageId::new(Uuid::now_v7()), queue, payload);
    carry_trace(&mut message.headers)?;
    Ok(message)
}

fn traced(outbox: SeaOrmOutbox) -> TracedStore<SeaOrmOutbox> {
    TracedStore::new(outbox)
}
