use std::{collections::VecDeque, time::Duration};

use redis::{AsyncConnectionConfig, Client, RedisResult, Value, aio::MultiplexedConnection};
use tokio::time::Instant;

use super::{RedisStreamsPlace, RedisStreamsPublisher};

/// A member of a consumer group of a stream, and how it reads.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) place: RedisStreamsPlace,
    pub(super) stream: String,
    pub(super) group: String,
    pub(super) name: String,
    /// How long an entry may be held before another member takes it over.
    pub(super) idle: Duration,
}

/// Where a member stands. One connection waits for entries; the other takes answers meanwhile.
pub(super) struct Reading {
    waiting: MultiplexedConnection,
    pub(super) answering: MultiplexedConnection,
    pub(super) ahead: VecDeque<Given>,
    /// The last entry that this member had been given before it connected, and has been given again; none if there are no more.
    own: Option<String>,
    /// When the group is looked through for abandoned entries.
    look_at: Instant,
}

/// An entry, and how often it is known to have been given; 0 where that is not known.
pub(super) struct Given {
    pub(super) entry: Entry,
    pub(super) times: u64,
}

/// The id of an entry, and its fields; none if the entry was deleted from the stream.
type Entry = (String, Option<Vec<(String, Vec<u8>)>>);

/// How many entries are read ahead.
const AHEAD: usize = 100;

/// How long one call of the server waits for entries.
const WAIT: Duration = Duration::from_secs(1);

impl Member {
    /// Connects, and makes the group if it is new.
    pub(super) async fn begin(&self) -> RedisResult<Reading> {
        let (waiting, mut answering) = (self.connect().await?, self.connect().await?);
        let mut create = redis::cmd("XGROUP");
        create.arg("CREATE").arg(&self.stream).arg(&self.group).arg("0").arg("MKSTREAM");
        match create.query_async::<()>(&mut answering).await {
            Err(error) if error.code() != Some("BUSYGROUP") => return Err(error),
            _ => {}
        }
        let (ahead, own) = (VecDeque::new(), Some("0".to_owned()));
        Ok(Reading { waiting, answering, ahead, own, look_at: Instant::now() })
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let patience = Some(RedisStreamsPublisher::PATIENCE);
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(patience).set_response_timeout(patience);
        let client = Client::open(self.place.0.clone())?;
        client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// Reads what this member had not finished when it connected, then abandoned entries when it is time for that, and new ones otherwise.
    pub(super) async fn read(&self, mut reading: Reading) -> RedisResult<Reading> {
        if let Some(last) = &reading.own {
            let own = self.entries(&mut reading.waiting, last, None).await?;
            reading.own = own.last().map(|(id, _)| id.clone());
            reading.keep(own, 0);
            return Ok(reading);
        }
        if Instant::now() >= reading.look_at {
            let found = self.abandoned(&mut reading.answering).await?;
            // A full answer is not all.
            if found.len() < AHEAD {
                reading.look_at = Instant::now() + (self.idle / 2).max(Duration::from_millis(100));
            }
            reading.keep(found, 0);
        }
        if reading.ahead.is_empty() {
            let new = self.entries(&mut reading.waiting, ">", Some(WAIT)).await?;
            reading.keep(new, 1);
        }
        Ok(reading)
    }

    async fn entries(
        &self,
        on: &mut MultiplexedConnection,
        after: &str,
        wait: Option<Duration>,
    ) -> RedisResult<Vec<Entry>> {
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.name).arg("COUNT").arg(AHEAD);
        if let Some(wait) = wait {
            read.arg("BLOCK").arg(millis(wait));
        }
        read.arg("STREAMS").arg(&self.stream).arg(after);
        let read: Option<Vec<(String, Vec<Entry>)>> = read.query_async(on).await?;
        Ok(read.into_iter().flatten().flat_map(|(_, entries)| entries).collect())
    }

    /// Takes over what no member has finished for long.
    async fn abandoned(&self, on: &mut MultiplexedConnection) -> RedisResult<Vec<Entry>> {
        let mut claim = redis::cmd("XAUTOCLAIM");
        claim.arg(&self.stream).arg(&self.group).arg(&self.name).arg(millis(self.idle)).arg("0");
        claim.arg("COUNT").arg(AHEAD);
        let answer: Vec<Value> = claim.query_async(on).await?;
        // A third part, since Redis 7, names entries that are gone; before, they were nil in the second.
        let found: Vec<Option<Entry>> = match answer.into_iter().nth(1) {
            Some(found) => redis::from_redis_value(found)?,
            None => Vec::new(),
        };
        Ok(found.into_iter().flatten().collect())
    }

    /// Tells the group that an entry is done.
    pub(super) async fn finish(&self, entry: &str, on: &mut MultiplexedConnection) -> RedisResult<()> {
        let mut finish = redis::cmd("XACK");
        finish.arg(&self.stream).arg(&self.group).arg(entry);
        finish.query_async::<u64>(on).await.map(|_| ())
    }

    /// Makes an entry look abandoned.
    pub(super) async fn abandon(&self, entry: &str, on: &mut MultiplexedConnection) -> RedisResult<()> {
        let mut give = redis::cmd("XCLAIM");
        give.arg(&self.stream).arg(&self.group).arg(&self.name).arg(0).arg(entry);
        give.arg("IDLE").arg(millis(self.idle)).arg("JUSTID");
        give.query_async::<Value>(on).await.map(|_| ())
    }
}

impl Reading {
    fn keep(&mut self, entries: Vec<Entry>, times: u64) {
        self.ahead.extend(entries.into_iter().map(|entry| Given { entry, times }));
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
