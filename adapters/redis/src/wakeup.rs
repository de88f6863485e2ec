use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::QueueName;
use claimstream_ports::{Deadline, StoreError, Timer, Wakeup};
use futures::StreamExt;
use redis::{
    RedisResult,
    aio::{PubSubSink, PubSubStream},
};
use tokio::task::JoinHandle;

use crate::{
    RedisPlace,
    connection::{Link, listen},
    signal::Signals,
};

const WAKE: &str = "wake";
const CHANNELS: &str = "wakeup";

/// A [`Wakeup`] for relays of other processes, by publish and subscribe.
///
/// The first wait begins to listen, in a task that ends with the `RedisWakeup`. While Redis is away no relay is woken and
/// relays look by themselves, as ever; when it is back, every waiter is woken once, because something may have been
/// missed. A wakeup that is published while a relay works is kept for its next wait.
pub struct RedisWakeup {
    link: Link,
    signals: Arc<Signals>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl RedisWakeup {
    /// Wakeups at this place; it is not looked at before the first call.
    pub fn new(place: RedisPlace) -> Self {
        Self { link: Link::to(place), signals: Arc::default(), listener: Mutex::default() }
    }

    /// Waits for Redis by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.link.timer = timer;
        self
    }

    /// Starts the listener unless it runs.
    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.as_ref().is_none_or(JoinHandle::is_finished) {
            let (place, timer) = (self.link.place.clone(), Arc::clone(&self.link.timer));
            let listening = Listener { place, timer, signals: Arc::clone(&self.signals) };
            *listener = Some(tokio::spawn(listening.run()));
        }
    }
}

#[async_trait]
impl Wakeup for RedisWakeup {
    async fn wait(&self, queue: &QueueName) {
        let signal = self.signals.of(queue);
        self.listen();
        signal.wait().await;
    }

    async fn wake(&self, queue: &QueueName) -> Result<(), StoreError> {
        let channel = self.link.place.name(CHANNELS, queue.as_str());
        self.link
            .call(WAKE, |mut on| async move {
                redis::cmd("PUBLISH").arg(channel).arg("").query_async::<i64>(&mut on).await
            })
            .await
            .map(|_| ())
    }
}

impl Drop for RedisWakeup {
    fn drop(&mut self) {
        let listener = self.listener.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.take() {
            listener.abort();
        }
    }
}

impl fmt::Debug for RedisWakeup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisWakeup").field("place", &self.link.place).finish_non_exhaustive()
    }
}

/// Sends the signals of published messages, and connects again whenever the connection has ended.
struct Listener {
    place: RedisPlace,
    timer: Arc<dyn Timer>,
    signals: Arc<Signals>,
}

impl Listener {
    /// The waits between tries to connect, doubled from the first to the last.
    const WAITS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];
    /// How often a silent connection is asked whether it is still one.
    const PING: Duration = Duration::from_secs(5);

    async fn run(self) {
        let [first, last] = Self::WAITS;
        let mut wait = first;
        loop {
            match self.subscribe().await {
                Ok((sink, messages)) => {
                    wait = first;
                    self.signals.send_all();
                    self.receive(sink, messages).await;
                    tracing::debug!(place = %self.place, "the wakeup's connection has ended");
                }
                Err(error) => tracing::debug!(place = %self.place, %error, "no relay can be woken for now"),
            }
            self.timer.sleep(wait).await;
            wait = (wait * 2).min(last);
        }
    }

    async fn subscribe(&self) -> RedisResult<(PubSubSink, PubSubStream)> {
        let subscribing = async {
            let (mut sink, messages) = listen(&self.place).await?.split();
            sink.psubscribe(self.place.name(CHANNELS, "*")).await?;
            Ok((sink, messages))
        };
        match self.deadline(RedisPlace::TIMEOUT).within(subscribing).await {
            Some(subscribed) => subscribed,
            None => Err((redis::ErrorKind::Io, "no answer in time").into()),
        }
    }

    fn deadline(&self, limit: Duration) -> Deadline {
        Deadline::after(limit, &self.timer)
    }

    /// Returns when the connection has ended, or answers no more.
    async fn receive(&self, mut sink: PubSubSink, mut messages: PubSubStream) {
        let before = self.place.name(CHANNELS, "");
        loop {
            match self.deadline(Self::PING).within(messages.next()).await {
                Some(Some(message)) => {
                    if let Some(queue) = message.get_channel_name().strip_prefix(&before) {
                        self.signals.send(queue);
                    }
                }
                Some(None) => return,
                None => {
                    let pong = self.deadline(RedisPlace::TIMEOUT).within(sink.ping::<redis::Value>()).await;
                    if !matches!(pong, Some(Ok(_))) {
                        return;
                    }
                }
            }
        }
    }
}
