use std::time::{Duration, Instant};

use claimstream_domain::{Headers, MessageId, OrderingKey, Payload, Publication, Published};
use claimstream_ports::Publish;
use futures::{StreamExt, stream};
use uuid::Uuid;

use crate::Failure;

/// How many messages a call of the adapter has.
pub(crate) const BATCH: usize = 100;
/// How many calls a relay has on the way at once.
const CALLS: usize = 4;
/// The size of a body in bytes.
const BODY: usize = 256;

/// What is published.
pub(crate) struct Load {
    /// How many messages each round has.
    pub(crate) messages: usize,
    pub(crate) rounds: usize,
}

impl Load {
    /// The messages of one round, each of another key, with a header and an attribute as a relay sends them.
    pub(crate) fn publications(&self, place: &str) -> Result<Vec<Publication>, Failure> {
        let mut headers = Headers::new();
        headers.insert("region", "eu")?;
        let publication = |number: usize| {
            Ok(Publication {
                id: MessageId::new(Uuid::now_v7()),
                place: place.to_owned(),
                key: Some(OrderingKey::new(&format!("key-{number}"))?),
                attributes: vec![("type".to_owned(), "order.paid".to_owned())],
                headers: headers.clone(),
                body: Payload::new("text/plain", body())?,
            })
        };
        (0..self.messages).map(publication).collect()
    }

    /// Messages a second by the adapter.
    pub(crate) async fn by_adapter(&self, broker: &dyn Publish, place: &str) -> Result<f64, Failure> {
        let publications = self.publications(place)?;
        let began = Instant::now();
        let calls = stream::iter(publications.chunks(BATCH)).map(|batch| broker.publish(batch));
        let answers: Vec<_> = calls.buffer_unordered(CALLS).collect().await;
        let took = began.elapsed();
        match answers.iter().flatten().find(|answer| **answer != Published::Confirmed) {
            Some(other) => Err(format!("a message was not confirmed: {other:?}").into()),
            None => Ok(self.rate(took)),
        }
    }

    /// Messages a second, if all of a round took so long.
    pub(crate) fn rate(&self, took: Duration) -> f64 {
        self.messages as f64 / took.as_secs_f64()
    }
}

pub(crate) fn body() -> Vec<u8> {
    vec![b'x'; BODY]
}
