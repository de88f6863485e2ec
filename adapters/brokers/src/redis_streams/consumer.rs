use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{HoldLimit, Reason};
use claimstream_ports::{Consume, ConsumeError, Delivery, Extended, Hold};
use redis::{ErrorKind, RedisError, RedisResult};
use tokio::{sync::Mutex, task::JoinHandle};

use super::{
    RedisStreamsConfig,
    answering::Answering,
    group::{Given, MemberReader},
    member::Member,
    wire,
};

/// Consumes a stream of Redis as a member of a consumer group, which is made if it is new, from the beginning of the stream.
///
/// A member that connects is first given what it had not finished. Redis gives nothing to another member by itself, so each looks for
/// entries that were not finished for [`IDLE`](Self::IDLE) and takes them over: those of a member that died, and those that were
/// dropped. The time of an entry in hand, and of those that were read ahead, begins again when a delivery is extended, and
/// that of the latter also when another delivery is asked for.
///
/// The order of the stream holds for a group with one member, also through its restarts. A member that takes over from another does so
/// after newer entries were handled.
pub struct RedisStreamsConsumer {
    member: Member,
    state: Arc<Mutex<ReadState>>,
}

enum ReadState {
    Apart,
    /// It reads on a task of its own, so that a call that is dropped loses nothing that Redis has just given.
    Busy(JoinHandle<RedisResult<MemberReader>>),
    Ready(Box<MemberReader>),
}

impl RedisStreamsConsumer {
    /// How long an entry may be held before another member takes it over, by default.
    pub const IDLE: Duration = Duration::from_secs(30);

    /// The member `name` of a group; each process needs a name of its own, and keeps it. Redis is not looked at before the first call.
    pub fn new(config: RedisStreamsConfig, stream: &str, group: &str, name: &str) -> Self {
        let [stream, group, name] = [stream, group, name].map(str::to_owned);
        let member = Member { config, stream, group, name, idle: Self::IDLE };
        Self { member, state: Arc::new(Mutex::new(ReadState::Apart)) }
    }

    /// Takes over what was not finished for as long as this.
    pub fn with_idle(mut self, idle: Duration) -> Self {
        self.member.idle = idle;
        self
    }

    /// Begins to connect or to read.
    fn begin(&self, standing: ReadState) -> ReadState {
        let member = self.member.clone();
        match standing {
            ReadState::Apart => ReadState::Busy(tokio::spawn(async move { member.begin().await })),
            ReadState::Ready(reading) => {
                ReadState::Busy(tokio::spawn(async move { member.read(*reading).await }))
            }
            busy @ ReadState::Busy(_) => busy,
        }
    }

    fn trouble(&self, error: &RedisError) -> ConsumeError {
        let Member { config, stream, .. } = &self.member;
        let why = Reason::new(format_args!("the stream {stream:?} of {config}: {error}"));
        match error.code() {
            Some("WRONGTYPE" | "NOAUTH" | "WRONGPASS" | "NOPERM") => ConsumeError::Refused(why),
            _ if error.kind() == ErrorKind::AuthenticationFailed => ConsumeError::Refused(why),
            _ => ConsumeError::Away(why),
        }
    }

    fn delivery(&self, Given { entry, fields, times }: Given, reading: &MemberReader) -> Delivery {
        let (answering, state) = (Arc::clone(&reading.answering), Arc::downgrade(&self.state));
        let hold = EntryHold { answering, state, entry, idle: self.member.idle };
        Delivery::new(wire::received(&self.member.stream, fields), times, Box::new(hold))
    }
}

#[async_trait]
impl Consume for RedisStreamsConsumer {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let mut state = self.state.lock().await;
        loop {
            if let ReadState::Ready(reading) = &mut *state {
                if let Err(error) = reading.hold_ahead().await {
                    *state = ReadState::Apart;
                    return Err(self.trouble(&error));
                }
                if let Some(given) = reading.ahead.pop_front() {
                    return Ok(self.delivery(given, reading));
                }
            }
            *state = self.begin(std::mem::replace(&mut *state, ReadState::Apart));
            if let ReadState::Busy(reading) = &mut *state {
                let read = reading.await;
                *state = ReadState::Apart;
                match read {
                    Ok(Ok(reading)) => *state = ReadState::Ready(Box::new(reading)),
                    Ok(Err(error)) => return Err(self.trouble(&error)),
                    Err(ended) => return Err(ConsumeError::Away(Reason::new(ended))),
                }
            }
        }
    }
}

impl Drop for RedisStreamsConsumer {
    /// A reading that continued would take entries that no caller handles, before a member of the same name that comes after this one.
    fn drop(&mut self) {
        if let Ok(state) = self.state.try_lock()
            && let ReadState::Busy(reading) = &*state
        {
            reading.abort();
        }
    }
}

struct EntryHold {
    answering: Arc<Answering>,
    state: Weak<Mutex<ReadState>>,
    entry: String,
    idle: Duration,
}

#[async_trait]
impl Hold for EntryHold {
    fn limit(&self) -> HoldLimit {
        HoldLimit::Extendable(self.idle)
    }

    async fn extend(&self) -> Result<Extended, ConsumeError> {
        let state = self.state.upgrade();
        // A call that reads meanwhile has nothing read ahead, or extends it itself.
        let mut state = state.as_ref().and_then(|state| state.try_lock().ok());
        let reading = match state.as_deref_mut() {
            Some(ReadState::Ready(reading)) => Some(reading),
            _ => None,
        };
        let behind = reading.iter().flat_map(|reading| &reading.ahead).map(|given| given.entry.clone());
        let entries: Vec<String> = std::iter::once(self.entry.clone()).chain(behind).collect();
        let held = self.answering.extend(&entries).await.map_err(away)?;
        if let Some(reading) = reading {
            reading.extended(&held);
        }
        Ok(if held.contains(&self.entry) { Extended::Held } else { Extended::Lost })
    }

    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        match self.answering.finish(&[&self.entry]).await.map_err(away)? {
            true => Ok(()),
            false => Err(ConsumeError::Away(Reason::new(format_args!(
                "the group does not wait for the entry {}: another member has finished it, or the stream is gone",
                self.entry
            )))),
        }
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        self.answering.abandon(&self.entry).await.map_err(away)
    }
}

fn away(error: RedisError) -> ConsumeError {
    ConsumeError::Away(Reason::new(error))
}

impl fmt::Debug for RedisStreamsConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Member { config, stream, group, name, .. } = &self.member;
        let mut shown = f.debug_struct("RedisStreamsConsumer");
        shown.field("config", config).field("stream", stream).field("group", group).field("name", name);
        shown.finish_non_exhaustive()
    }
}
