use std::{fmt, num::NonZeroU32, time::Duration};

use async_nats::jetstream::{
    AckKind, Message,
    consumer::{AckPolicy, Config, pull},
    context::GetStreamErrorKind,
    stream::ConsumerErrorKind,
};
use async_trait::async_trait;
use claimstream_domain::{Reason, Received};
use claimstream_ports::{Consume, ConsumeError, Deadline, Delivery, Hold};
use futures::StreamExt;
use tokio::sync::Mutex;

use super::{NatsPlace, NatsPublisher, link::Link, wire};
use crate::no_connection::NoConnection;

/// Consumes a stream of NATS JetStream by a durable pull consumer, which is made if it is new.
///
/// Each message is acknowledged by itself, and [`finish`](Delivery::finish) waits for the server's word that it knows. A delivery that is dropped
/// comes again after the consumer's `ack_wait`, 30 s unless the consumer says otherwise. That time begins when the server gives a message
/// away, so messages come again while they wait here if all that were [fetched](Self::with_prefetch) together take longer. What comes again comes
/// behind what was given meanwhile, so only [`at_most(1)`](Self::at_most) keeps the order when a consumer dies.
///
/// A consumer of this name that the server pushes messages to, that needs no acknowledgements of each, or that has a `max_deliver` is refused,
/// because messages would be lost that nobody has handled.
pub struct NatsConsumer {
    place: NatsPlace,
    stream: String,
    name: String,
    subject: String,
    most: Option<u32>,
    prefetch: u16,
    link: Link,
    given: Mutex<Option<pull::Stream>>,
}

impl NatsConsumer {
    /// How long a message may be held before it comes again, of a consumer that is made here.
    pub const ACK_WAIT: Duration = Duration::from_secs(30);
    /// How many messages are fetched together unless somebody says otherwise.
    pub const PREFETCH: u16 = 16;

    /// A consumer of this name on a stream; the server is not looked at before the first call.
    pub fn new(place: NatsPlace, stream: &str, name: &str) -> Self {
        let (stream, name, subject) = (stream.to_owned(), name.to_owned(), String::new());
        let (most, prefetch, link, given) = (None, Self::PREFETCH, Link::default(), Mutex::default());
        Self { place, stream, name, subject, most, prefetch, link, given }
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

    /// Fetches so many messages together, and the next when half of them were handed over: up to one and a half times as many wait here. All of
    /// them should have their effects within the consumer's `ack_wait`.
    pub fn with_prefetch(mut self, prefetch: u16) -> Self {
        self.prefetch = prefetch.max(1);
        self
    }

    async fn begin(&self) -> Result<pull::Stream, ConsumeError> {
        let session = self.link.session(&self.place, NatsPublisher::PATIENCE).await?;
        let deadline = Deadline::after(NatsPublisher::PATIENCE, &self.place.timer);
        let stream = deadline.within(session.context.get_stream(&self.stream)).await;
        let silent = || NoConnection::away(format_args!("{} does not answer", self.place));
        let stream = stream.ok_or_else(silent)?.map_err(|error| match error.kind() {
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
        let consumer = stream.get_or_create_consumer(&self.name, wanted).await;
        let consumer = consumer.map_err(|error| match error.kind() {
            ConsumerErrorKind::InvalidConsumerType => {
                self.unsuited("is one that the server pushes messages to")
            }
            _ => away(&error),
        })?;
        if let Some(why) = loss_by(&consumer.cached_info().config) {
            return Err(self.unsuited(why));
        }
        let messages = consumer.stream().max_messages_per_batch(self.prefetch.into());
        messages.messages().await.map_err(|e| away(&e))
    }

    fn unsuited(&self, why: &str) -> ConsumeError {
        let Self { place, stream, name, .. } = self;
        ConsumeError::Refused(Reason::new(format_args!(
            "the consumer {name:?} of the stream {stream:?} of {place} {why}; name another, or delete it, and it is made anew"
        )))
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

/// How a consumer of somebody else would lose messages, if it would.
fn loss_by(config: &Config) -> Option<&'static str> {
    match (config.ack_policy, config.max_deliver) {
        (AckPolicy::Explicit, ..=0) => None,
        (AckPolicy::Explicit, _) => {
            Some("has a max_deliver, after which a message comes no more that nobody has handled")
        }
        _ => Some(
            "does not want each message to be acknowledged, so one would be lost with the process that has it",
        ),
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
