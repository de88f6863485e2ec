use std::{fmt, num::NonZeroU32, time::Duration};

use async_nats::jetstream::{
    AckKind, Message,
    consumer::{AckPolicy, pull},
    context::GetStreamErrorKind,
};
use async_trait::async_trait;
use claimstream_domain::{Reason, Received};
use claimstream_ports::{Consume, ConsumeError, Delivery, Hold};
use futures::StreamExt;
use tokio::sync::Mutex;

use super::{NatsPlace, NatsPublisher, link::Link, wire};

/// Consumes a stream of NATS JetStream by a durable pull consumer, which is made if it is new.
///
/// Each message is acknowledged by itself, and [`finish`](Delivery::finish) waits for the server's word that it knows. A delivery that is dropped
/// comes again after the consumer's `ack_wait`, 30 s unless the consumer says otherwise. That time begins when the server gives a message
/// away, and it gives many at once, so they come again while their effects run if all of them together take longer; [`at_most`](Self::at_most)
/// gives fewer. What comes again comes behind what was given meanwhile, so only `at_most(1)` keeps the order when a consumer dies.
pub struct NatsConsumer {
    place: NatsPlace,
    stream: String,
    name: String,
    subject: String,
    most: Option<u32>,
    link: Link,
    given: Mutex<Option<pull::Stream>>,
}

impl NatsConsumer {
    /// How long a message may be held before it comes again, of a consumer that is made here.
    pub const ACK_WAIT: Duration = Duration::from_secs(30);

    /// A consumer of this name on a stream; the server is not looked at before the first call.
    pub fn new(place: NatsPlace, stream: &str, name: &str) -> Self {
        let (stream, name, subject) = (stream.to_owned(), name.to_owned(), String::new());
        Self { place, stream, name, subject, most: None, link: Link::default(), given: Mutex::default() }
    }

    /// Takes messages of this subject only, which may have wildcards, if the consumer is made here.
    pub fn of_subject(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.subject);
        self
    }

    /// Has at most so many messages given away and not finished, over all consumers of this name, if the consumer is made here; otherwise the
    /// server chooses, usually 1000. With one, messages keep their order whatever dies.
    pub fn at_most(mut self, unfinished: NonZeroU32) -> Self {
        self.most = Some(unfinished.get());
        self
    }

    async fn begin(&self) -> Result<pull::Stream, ConsumeError> {
        let session = self.link.session(&self.place, NatsPublisher::PATIENCE).await;
        let session = session.map_err(ConsumeError::Away)?;
        let stream = session.context.get_stream(&self.stream).await;
        let stream = stream.map_err(|error| match error.kind() {
            GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => self.refused(&error),
            GetStreamErrorKind::JetStream(_) => self.refused(&error),
            _ => away(&error),
        })?;
        let wanted = pull::Config {
            durable_name: Some(self.name.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: Self::ACK_WAIT,
            filter_subject: self.subject.clone(),
            max_ack_pending: self.most.map_or(0, i64::from),
            ..pull::Config::default()
        };
        let consumer = stream.get_or_create_consumer(&self.name, wanted).await.map_err(|e| away(&e))?;
        consumer.messages().await.map_err(|e| away(&e))
    }

    fn refused(&self, error: &dyn fmt::Display) -> ConsumeError {
        let why = format_args!("{} has no stream {:?} for us: {error}", self.place, self.stream);
        ConsumeError::Refused(Reason::new(why))
    }
}

#[async_trait]
impl Consume for NatsConsumer {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let mut known = self.given.lock().await;
        if known.is_none() {
            *known = Some(self.begin().await?);
        }
        let given = match known.as_mut() {
            Some(given) => given.next().await,
            None => None,
        };
        match given {
            Some(Ok(message)) => Ok(delivery(message)),
            Some(Err(error)) => {
                *known = None;
                Err(away(&error))
            }
            None => {
                *known = None;
                Err(away(&"the server gives no more messages"))
            }
        }
    }
}

fn delivery(message: Message) -> Delivery {
    let times = message.info().map_or(0, |info| u64::try_from(info.delivered).unwrap_or(0));
    Delivery::new(received(&message), times, Box::new(JetStreamHold(message)))
}

fn received(message: &Message) -> Received {
    wire::received(&message.subject, message.headers.as_ref(), message.payload.to_vec())
}

fn away(why: &dyn fmt::Display) -> ConsumeError {
    ConsumeError::Away(Reason::new(why))
}

struct JetStreamHold(Message);

#[async_trait]
impl Hold for JetStreamHold {
    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        self.0.double_ack().await.map_err(|error| away(&error))
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        self.0.ack_with(AckKind::Nak(None)).await.map_err(|error| away(&error))
    }
}

impl fmt::Debug for NatsConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NatsConsumer");
        shown.field("place", &self.place).field("stream", &self.stream).field("name", &self.name);
        shown.finish_non_exhaustive()
    }
}
