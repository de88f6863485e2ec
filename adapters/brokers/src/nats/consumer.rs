use std::{
    collections::VecDeque,
    fmt,
    num::NonZeroU32,
    sync::{Arc, Weak},
    time::Duration,
};

use async_nats::jetstream::{
    AckKind, Message,
    consumer::{self, AckPolicy, Config, pull},
    context::GetStreamErrorKind,
    stream::ConsumerErrorKind,
};
use async_trait::async_trait;
use claimstream_domain::{HoldLimit, Reason};
use claimstream_ports::{Consume, ConsumeError, Deadline, Delivery, Extended, Hold, Timer};
use futures::{FutureExt, StreamExt};
use tokio::sync::Mutex;

use super::{
    NatsConfig, NatsPublisher,
    client::{NatsClient, Session},
    wire,
};
use crate::{next_extension::NextExtension, no_connection::NoConnection};

/// Consumes a stream of NATS JetStream by a durable pull consumer, which is made if it is new.
///
/// Each message is acknowledged by itself, and [`finish`](Delivery::finish) waits for the server's word that it knows. A delivery that is dropped
/// comes again after the consumer's `ack_wait`, 30 s unless the consumer says otherwise. That time begins when the server gives a message
/// away. For those that wait here, [fetched](Self::with_prefetch) together, it begins again when a delivery is [extended](Delivery::extend), as while it
/// is retried in place, and when another is asked for and a third of it has passed. What comes again comes
/// behind what was given meanwhile, so only [`at_most(1)`](Self::at_most) keeps the order when a consumer dies.
///
/// A consumer of this name that the server pushes messages to, that needs no acknowledgements of each, or that has a `max_deliver` is refused,
/// because messages would be lost that no handler has finished.
pub struct NatsConsumer {
    config: NatsConfig,
    stream: String,
    name: String,
    subject: String,
    most: Option<u32>,
    prefetch: u16,
    client: NatsClient,
    given: Arc<Mutex<Option<Consuming>>>,
}

struct Consuming {
    consumer: consumer::Consumer<pull::Config>,
    /// What was asked for last, until all of it is here or the server has no more.
    batch: Option<PulledBatch>,
    /// The server had nothing when it was asked last.
    waits: bool,
    /// Messages that wait here, and whose time begins again when that of a message in hand does.
    ahead: VecDeque<Message>,
    /// When the time of those begins again otherwise.
    extension: NextExtension,
}

/// Messages that were asked for on a connection, which had been lost so often by then.
struct PulledBatch {
    messages: pull::Batch,
    session: Session,
    lost: u64,
}

impl NatsConsumer {
    /// How long a message may be held before it comes again, of a consumer that is made here.
    pub const ACK_WAIT: Duration = Duration::from_secs(30);
    /// How long the server may take until it says that it has no more messages. After that, and a few seconds, the connection is looked at.
    const ASK: Duration = Duration::from_secs(5);
    /// How long a fetch stays open: longer than its messages are held.
    const OPEN: Duration = Duration::from_secs(3600);
    /// How many messages are fetched together by default.
    pub const PREFETCH: u16 = 16;

    /// A consumer of this name on a stream; the server is not looked at before the first call.
    pub fn new(config: NatsConfig, stream: &str, name: &str) -> Self {
        let (stream, name, subject) = (stream.to_owned(), name.to_owned(), String::new());
        let (most, prefetch, client, given) = (None, Self::PREFETCH, NatsClient::default(), Arc::default());
        Self { config, stream, name, subject, most, prefetch, client, given }
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

    /// Fetches so many messages together, and the next when all of them were handed over. Each should have its effect within half of the
    /// consumer's `ack_wait`, unless deliveries are extended.
    pub fn with_prefetch(mut self, prefetch: u16) -> Self {
        self.prefetch = prefetch.max(1);
        self
    }

    async fn begin(&self) -> Result<Consuming, ConsumeError> {
        let session = self.client.session(&self.config, NatsPublisher::TIMEOUT).await?;
        let deadline = Deadline::after(NatsPublisher::TIMEOUT, &self.config.timer);
        let stream = deadline.within(session.context.get_stream(&self.stream)).await;
        let silent = || NoConnection::away(format_args!("{} does not answer", self.config));
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
        let extension = NextExtension::within(consumer.cached_info().config.ack_wait, &self.config.timer);
        Ok(Consuming { consumer, batch: None, ahead: VecDeque::new(), extension, waits: false })
    }

    /// The next message. An error says that there is no connection.
    ///
    /// What the server has is fetched, and only if that is nothing, one message is waited for. A fetch stays open for as long as messages of it
    /// may be held: by the client's clock an older one is over, with messages in it.
    async fn ask(&self, consuming: &mut Consuming) -> Result<Message, ConsumeError> {
        loop {
            consuming.read_ahead();
            if consuming.extension.is_due() {
                consuming.extend_ahead().await?;
            }
            if let Some(message) = consuming.ahead.pop_front() {
                consuming.waits = false;
                return Ok(message);
            }
            let PulledBatch { messages, session, lost } = match &mut consuming.batch {
                Some(asked) => asked,
                None => {
                    let session = self.client.session(&self.config, NatsPublisher::TIMEOUT).await?;
                    let lost = session.standing.borrow().lost;
                    let most = consuming.consumer.cached_info().config.max_expires;
                    let open = if most.is_zero() { Self::OPEN } else { Self::OPEN.min(most) };
                    let (batch, fetch) = (consuming.consumer.batch(), consuming.consumer.fetch());
                    let messages = match consuming.waits {
                        true => batch.max_messages(1).expires(Self::ASK.min(open)).messages().await,
                        false => fetch.max_messages(self.prefetch.into()).expires(open).messages().await,
                    };
                    consuming.waits = true;
                    consuming.batch.insert(PulledBatch {
                        messages: messages.map_err(|e| away(&e))?,
                        session,
                        lost,
                    })
                }
            };
            let given = tokio::select! {
                biased;
                given = messages.next() => given,
                _ = session.standing.wait_for(|standing| standing.lost != *lost) => {
                    return Err(away(&format_args!("the connection to {} was lost", self.config)));
                }
                // A server may forget what it was asked for.
                () = self.config.timer.sleep(Self::ASK * 2) => None,
            };
            match given {
                // Nothing was here, so all that is ahead comes from now on.
                Some(Ok(message)) => {
                    consuming.extension.begin();
                    consuming.ahead.push_back(message);
                }
                Some(Err(error)) => return Err(away(&error)),
                None => consuming.batch = None,
            }
        }
    }

    fn unsuited(&self, why: &str) -> ConsumeError {
        let Self { config, stream, name, .. } = self;
        ConsumeError::Refused(Reason::new(format_args!(
            "the consumer {name:?} of the stream {stream:?} of {config} {why}; name another, or delete it, and it is created again"
        )))
    }

    fn refused(&self, error: &dyn fmt::Display) -> ConsumeError {
        let why = format_args!("{} has no stream {:?} for us: {error}", self.config, self.stream);
        ConsumeError::Refused(Reason::new(why))
    }
}

#[async_trait]
impl Consume for NatsConsumer {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let mut known = self.given.lock().await;
        let consuming = match known.take() {
            Some(consuming) => known.insert(consuming),
            None => known.insert(self.begin().await?),
        };
        let given = self.ask(consuming).await;
        match given {
            Ok(message) => Ok(self.delivery(message, consuming.consumer.cached_info().config.ack_wait)),
            Err(error) => {
                *known = None;
                Err(error)
            }
        }
    }
}

impl NatsConsumer {
    fn delivery(&self, message: Message, ack_wait: Duration) -> Delivery {
        let times = message.info().map_or(0, |info| u64::try_from(info.delivered).unwrap_or(0));
        let received = wire::received(&message.subject, message.headers.as_ref(), message.payload.to_vec());
        let (given, timer) = (Arc::downgrade(&self.given), Arc::clone(&self.config.timer));
        Delivery::new(received, times, Box::new(JetStreamHold { message, ack_wait, given, timer }))
    }
}

impl Consuming {
    /// Takes in what the server has sent of the messages that were asked for.
    fn read_ahead(&mut self) {
        while let Some(asked) = &mut self.batch
            && let Some(given) = asked.messages.next().now_or_never()
        {
            match given {
                Some(Ok(message)) => self.ahead.push_back(message),
                _ => self.batch = None,
            }
        }
    }

    /// Begins the time of all messages that wait here again.
    async fn extend_ahead(&mut self) -> Result<(), ConsumeError> {
        for message in &self.ahead {
            in_progress(message).await?;
        }
        self.extension.begin();
        Ok(())
    }
}

/// How a consumer that another program created would lose messages, if it would.
fn loss_by(config: &Config) -> Option<&'static str> {
    match (config.ack_policy, config.max_deliver) {
        (AckPolicy::Explicit, ..=0) => None,
        (AckPolicy::Explicit, _) => {
            Some("has a max_deliver, after which the server delivers no message again, handled or not")
        }
        _ => Some(
            "does not want each message to be acknowledged, so one would be lost with the process that has it",
        ),
    }
}

fn away(why: &dyn fmt::Display) -> ConsumeError {
    ConsumeError::Away(Reason::new(why))
}

struct JetStreamHold {
    message: Message,
    ack_wait: Duration,
    given: Weak<Mutex<Option<Consuming>>>,
    timer: Arc<dyn Timer>,
}

#[async_trait]
impl Hold for JetStreamHold {
    fn limit(&self) -> HoldLimit {
        HoldLimit::Extendable(self.ack_wait)
    }

    async fn extend(&self) -> Result<Extended, ConsumeError> {
        in_progress(&self.message).await?;
        // A call that waits for a message meanwhile has none read ahead.
        if let Some(given) = self.given.upgrade()
            && let Ok(mut known) = given.try_lock()
            && let Some(consuming) = known.as_mut()
        {
            consuming.read_ahead();
            consuming.extend_ahead().await?;
        }
        Ok(Extended::Held)
    }

    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        let silence = || away(&"the server does not say that it knows; the message may come again");
        let Some(reply) = self.message.reply.clone() else { return Err(silence()) };
        let client = self.message.context.client();
        // An answer without a consumer behind it, as after the stream was deleted, is an error of a request.
        let answer = client.request(reply, AckKind::Ack.into());
        let answer = Deadline::after(NatsPublisher::TIMEOUT, &self.timer).within(answer).await;
        answer.ok_or_else(silence)?.map(|_| ()).map_err(|error| away(&error))
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        self.message.ack_with(AckKind::Nak(None)).await.map_err(|error| away(&error))
    }
}

/// Begins the time of a message again.
async fn in_progress(message: &Message) -> Result<(), ConsumeError> {
    message.ack_with(AckKind::Progress).await.map_err(|error| away(&error))
}

impl fmt::Debug for NatsConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NatsConsumer");
        shown.field("config", &self.config).field("stream", &self.stream).field("name", &self.name);
        shown.finish_non_exhaustive()
    }
}
