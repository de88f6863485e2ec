use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{HoldLimit, Reason};
use claimstream_ports::{Consume, ConsumeError, Delivery, Hold};
use futures::StreamExt;
use lapin::{
    Acker, Connection, Consumer,
    message::Delivery as Given,
    options::{BasicConsumeOptions, BasicNackOptions, BasicQosOptions},
    types::{AMQPValue, FieldTable, ShortString},
};
use tokio::sync::{Mutex, mpsc};

use super::{config::RabbitMqConfig, error_kind::ChannelErrorKind, properties::received_of};

/// Consumes a queue of a RabbitMQ, which must be there.
///
/// Messages are acknowledged one by one. A delivery that is dropped goes back to its place in the queue at once, and everything that
/// was not acknowledged does when the connection ends. A queue with `x-single-active-consumer` has its messages handled in their
/// order however many consumers it has.
///
/// A quorum queue of RabbitMQ 4 drops a message that was given 20 times and not finished, and everything that is sent ahead to a
/// consumer that dies was given. So a queue needs the argument `x-delivery-limit` with -1, or a dead letter exchange.
///
/// The broker ends a channel that holds a delivery for longer than its `consumer_timeout`, and no consumer can extend that. The time of a
/// message begins when it arrives here, also while it waits behind others.
///
/// [`Delivery::times`] is known of a quorum queue, and of the first delivery from a classic one; otherwise it is 0.
pub struct RabbitMqConsumer {
    config: RabbitMqConfig,
    queue: String,
    prefetch: u16,
    limit: Duration,
    consuming: Mutex<Option<Consuming>>,
}

struct Consuming {
    /// Ends when it is dropped.
    _connection: Connection,
    arrived: mpsc::UnboundedReceiver<Arrived>,
}

/// What the broker sent, and when it arrived. There is no more of it than the broker sends ahead.
type Arrived = (lapin::Result<Given>, Duration);

impl RabbitMqConsumer {
    /// How many messages the broker sends ahead by default.
    pub const PREFETCH: u16 = 100;
    /// The `consumer_timeout` of a broker that says nothing else.
    pub const LIMIT: Duration = Duration::from_secs(30 * 60);

    /// A consumer of this queue; the broker is not looked at before the first call.
    pub fn new(config: RabbitMqConfig, queue: &str) -> Self {
        let (queue, prefetch, limit) = (queue.to_owned(), Self::PREFETCH, Self::LIMIT);
        Self { config, queue, prefetch, limit, consuming: Mutex::default() }
    }

    /// Has the broker send at most so many messages ahead of their acknowledgements.
    pub fn with_prefetch(mut self, prefetch: u16) -> Self {
        self.prefetch = prefetch.max(1);
        self
    }

    /// Holds no message for longer than this, which is the broker's `consumer_timeout` where that is not 30 minutes.
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    async fn begin(&self) -> Result<Consuming, ConsumeError> {
        let connection = self.config.connect("claimstream consumer").await?;
        match self.config.deadline().within(self.consume(&connection)).await {
            Some(Ok(given)) => Ok(Consuming { _connection: connection, arrived: self.arrivals(given) }),
            Some(Err(error)) => Err(self.trouble(&error)),
            None => Err(away(format_args!("{} does not answer", self.config))),
        }
    }

    async fn consume(&self, connection: &Connection) -> lapin::Result<Consumer> {
        let queue = ShortString::try_new(self.queue.as_str()).map_err(std::io::Error::other)?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
        let options = BasicConsumeOptions::default();
        channel.basic_consume(queue, "".into(), options, FieldTable::default()).await
    }

    /// Notes when each message arrives, on a task that ends with the connection or with the consumer.
    fn arrivals(&self, mut given: Consumer) -> mpsc::UnboundedReceiver<Arrived> {
        let (arrive, arrived) = mpsc::unbounded_channel();
        let timer = Arc::clone(self.config.timer());
        tokio::spawn(async move {
            // The connection lives as long as this has a part of it.
            loop {
                let one = tokio::select! {
                    one = given.next() => one,
                    () = arrive.closed() => return,
                };
                let Some(one) = one else { return };
                if arrive.send((one, timer.now())).is_err() {
                    return;
                }
            }
        });
        arrived
    }

    fn trouble(&self, error: &lapin::Error) -> ConsumeError {
        match ChannelErrorKind::of(error) {
            ChannelErrorKind::NoExchange => {
                let why = format_args!("{} has no queue {:?}; declare it", self.config, self.queue);
                ConsumeError::Refused(Reason::new(why))
            }
            ChannelErrorKind::Never(why) | ChannelErrorKind::NotNow(why) => {
                ConsumeError::Refused(Reason::new(why))
            }
            ChannelErrorKind::NodeDown(why) => away(why),
            ChannelErrorKind::Lost(why) => {
                away(format_args!("the connection to {} ended: {why}", self.config))
            }
        }
    }
}

#[async_trait]
impl Consume for RabbitMqConsumer {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let mut known = self.consuming.lock().await;
        if known.is_none() {
            *known = Some(self.begin().await?);
        }
        let given = match known.as_mut() {
            Some(consuming) => consuming.arrived.recv().await,
            None => None,
        };
        match given {
            Some((Ok(given), arrived)) => Ok(self.delivery(given, arrived)),
            Some((Err(error), _)) => {
                *known = None;
                Err(self.trouble(&error))
            }
            None => {
                *known = None;
                Err(away(format_args!(
                    "{} gives no more of {:?}, as when the queue was deleted",
                    self.config, self.queue
                )))
            }
        }
    }
}

impl RabbitMqConsumer {
    fn delivery(&self, given: Given, arrived: Duration) -> Delivery {
        let times = times(&given);
        let (acker, config) = (Some(given.acker.clone()), self.config.clone());
        let hold = AmqpHold { acker, config, arrived, limit: self.limit };
        Delivery::new(received_of(given, &self.queue), times, Box::new(hold))
    }
}

/// A quorum queue counts the deliveries before this one.
fn times(given: &Given) -> u64 {
    let headers = given.properties.headers().as_ref();
    let before = headers.and_then(|headers| headers.inner().get("x-delivery-count"));
    match before {
        Some(AMQPValue::LongLongInt(before)) => u64::try_from(*before).unwrap_or(0) + 1,
        Some(AMQPValue::LongInt(before)) => u64::try_from(*before).unwrap_or(0) + 1,
        _ => u64::from(!given.redelivered),
    }
}

fn away(why: impl fmt::Display) -> ConsumeError {
    ConsumeError::Away(Reason::new(why))
}

struct AmqpHold {
    acker: Option<Acker>,
    /// The client may never say what became of an answer when its connection breaks meanwhile, so the configured limit bounds it.
    config: RabbitMqConfig,
    arrived: Duration,
    limit: Duration,
}

#[async_trait]
impl Hold for AmqpHold {
    fn limit(&self) -> HoldLimit {
        let held = self.config.timer().now().saturating_sub(self.arrived);
        HoldLimit::Fixed { all: self.limit, left: self.limit.saturating_sub(held) }
    }

    async fn finish(mut self: Box<Self>) -> Result<(), ConsumeError> {
        match self.acker.take() {
            Some(acker) => answered(self.config.deadline().within(acker.ack(Default::default())).await),
            None => Ok(()),
        }
    }

    async fn give_back(mut self: Box<Self>) -> Result<(), ConsumeError> {
        match self.acker.take() {
            Some(acker) => answered(self.config.deadline().within(acker.nack(REQUEUE)).await),
            None => Ok(()),
        }
    }
}

const REQUEUE: BasicNackOptions = BasicNackOptions { multiple: false, requeue: true };

/// An answer is taken by the channel that the message came on, or by none.
fn answered(answer: Option<lapin::Result<bool>>) -> Result<(), ConsumeError> {
    match answer {
        Some(Ok(true)) => Ok(()),
        Some(Ok(false)) => Err(away("the channel has ended, and the message comes again")),
        Some(Err(error)) => {
            Err(away(format_args!("the channel has ended, and the message comes again: {error}")))
        }
        None => {
            Err(away("the client does not say that the broker has the answer; the message may come again"))
        }
    }
}

impl Drop for AmqpHold {
    /// Otherwise the broker would wait for an answer as long as the connection lasts.
    fn drop(&mut self) {
        if let Some(acker) = self.acker.take()
            && acker.usable()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { acker.nack(REQUEUE).await });
        }
    }
}

impl fmt::Debug for RabbitMqConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RabbitMqConsumer");
        shown.field("config", &self.config).field("queue", &self.queue).finish_non_exhaustive()
    }
}
