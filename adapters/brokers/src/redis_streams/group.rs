use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use redis::{RedisResult, Value};

use claimstream_ports::Deadline;

use super::{
    answering::Answering,
    connection::RedisConnection,
    member::{Member, millis},
    wire::Fields,
};
use crate::next_extension::NextExtension;

/// Where a member stands. One connection waits for entries; the other takes answers meanwhile.
pub(super) struct MemberReader {
    waiting: RedisConnection,
    pub(super) answering: Arc<Answering>,
    pub(super) ahead: VecDeque<Given>,
    /// When the time of what is ahead begins again.
    extension: NextExtension,
    /// The last entry that this member had been given before it connected, and has been given again; none if there are no more.
    own: Option<String>,
    /// The place in the list of unfinished entries from which the next look begins.
    look_from: String,
    /// When the group is looked through for abandoned entries.
    look_at: Deadline,
}

impl MemberReader {
    /// Begins the time of what is ahead again if it is time for that, and forgets what another member has.
    ///
    /// Effects that are short need no extension of their own, and what waits behind many of them does.
    pub(super) async fn hold_ahead(&mut self) -> RedisResult<()> {
        if self.ahead.is_empty() || !self.extension.is_due() {
            return Ok(());
        }
        let entries: Vec<String> = self.ahead.iter().map(|given| given.entry.clone()).collect();
        match self.answering.extend(&entries).await {
            Ok(held) => self.extended(&held),
            Err(error) if error.is_io_error() || error.is_timeout() => return Err(error),
            // Two thirds of the hold are left.
            Err(error) => {
                tracing::warn!(entries = entries.len(), %error, "entries that were read ahead could not be held longer");
                self.extension.begin();
            }
        }
        Ok(())
    }

    /// All that was ahead was extended, and this is still held.
    pub(super) fn extended(&mut self, held: &HashSet<String>) {
        self.ahead.retain(|given| held.contains(&given.entry));
        self.extension.begin();
    }
}

/// An entry, and how often it is known to have been given; 0 where that is not known.
pub(super) struct Given {
    pub(super) entry: String,
    pub(super) fields: Fields,
    pub(super) times: u64,
}

/// The id of an entry, and its fields; none if the entry was deleted from the stream.
type StreamEntry = (String, Option<Fields>);

/// What one look for abandoned entries found.
struct Abandoned {
    entries: Vec<StreamEntry>,
    /// Where the next look begins.
    next: String,
}

/// Where a look begins, and where the next one does when all was seen.
const START: &str = "0-0";

/// How many entries are read ahead.
const AHEAD: usize = 100;

/// How long one call of the server waits for entries.
const WAIT: Duration = Duration::from_secs(1);

impl Member {
    /// Connects, and makes the group if it is new.
    pub(super) async fn begin(&self) -> RedisResult<MemberReader> {
        let (waiting, mut connection) = (self.connect().await?, self.connect().await?);
        let mut create = redis::cmd("XGROUP");
        create.arg("CREATE").arg(&self.stream).arg(&self.group).arg("0").arg("MKSTREAM");
        match create.query_async::<()>(&mut connection).await {
            Err(error) if error.code() != Some("BUSYGROUP") => return Err(error),
            _ => {}
        }
        let answering = Arc::new(Answering::new(self.clone(), connection));
        let (ahead, own, look_from) = (VecDeque::new(), Some("0".to_owned()), START.to_owned());
        let look_at = Deadline::after(Duration::ZERO, &self.config.timer);
        let extension = NextExtension::within(self.idle, &self.config.timer);
        Ok(MemberReader { waiting, answering, ahead, extension, own, look_from, look_at })
    }

    /// Reads what this member had not finished when it connected, then abandoned entries when it is time for that, and new ones otherwise.
    pub(super) async fn read(&self, mut reading: MemberReader) -> RedisResult<MemberReader> {
        if let Some(last) = &reading.own {
            let own = self.entries(&mut reading.waiting, last, None).await?;
            reading.own = own.last().map(|(id, _)| id.clone());
            self.keep(own, 0, &mut reading).await?;
            return Ok(reading);
        }
        if reading.look_at.has_passed() {
            let found = self.abandoned(&mut reading).await?;
            if found.next == START {
                let pause = (self.idle / 2).max(Duration::from_millis(100));
                reading.look_at = Deadline::after(pause, &self.config.timer);
            }
            reading.look_from = found.next;
            self.keep(found.entries, 0, &mut reading).await?;
        }
        if reading.ahead.is_empty() {
            let new = self.entries(&mut reading.waiting, ">", Some(WAIT)).await?;
            self.keep(new, 1, &mut reading).await?;
        }
        Ok(reading)
    }

    async fn entries(
        &self,
        on: &mut RedisConnection,
        after: &str,
        wait: Option<Duration>,
    ) -> RedisResult<Vec<StreamEntry>> {
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.name).arg("COUNT").arg(AHEAD);
        if let Some(wait) = wait {
            read.arg("BLOCK").arg(millis(wait));
        }
        read.arg("STREAMS").arg(&self.stream).arg(after);
        let read: Option<Vec<(String, Vec<StreamEntry>)>> = read.query_async(on).await?;
        Ok(read.into_iter().flatten().flat_map(|(_, entries)| entries).collect())
    }

    /// Takes over what no member has finished for long.
    async fn abandoned(&self, reading: &mut MemberReader) -> RedisResult<Abandoned> {
        let mut claim = redis::cmd("XAUTOCLAIM");
        claim.arg(&self.stream).arg(&self.group).arg(&self.name).arg(self.idle_millis());
        claim.arg(&reading.look_from).arg("COUNT").arg(AHEAD);
        let answer: Vec<Value> = claim.query_async(&mut reading.waiting).await?;
        let mut parts = answer.into_iter();
        let next = parts.next().map(redis::from_redis_value).transpose()?;
        let found: Vec<Option<StreamEntry>> =
            parts.next().map(redis::from_redis_value).transpose()?.unwrap_or_default();
        // Redis 7 names entries that are gone, and forgets them; before, each was nil in the second part, and stayed.
        let gone: Vec<String> = parts.next().map(redis::from_redis_value).transpose()?.unwrap_or_default();
        let entries = found.into_iter().flatten().chain(gone.into_iter().map(|id| (id, None))).collect();
        Ok(Abandoned { entries, next: next.unwrap_or_else(|| START.to_owned()) })
    }

    /// Keeps entries to be handed over. Those that were deleted from the stream are finished here, because no caller receives them any more.
    async fn keep(
        &self,
        entries: Vec<StreamEntry>,
        times: u64,
        reading: &mut MemberReader,
    ) -> RedisResult<()> {
        reading.extension.begin();
        let mut gone = Vec::new();
        for (entry, fields) in entries {
            match fields {
                Some(fields) => reading.ahead.push_back(Given { entry, fields, times }),
                None => gone.push(entry),
            }
        }
        if let Some(first) = gone.first() {
            tracing::warn!(
                stream = self.stream,
                group = self.group,
                entries = gone.len(),
                first,
                "entries were deleted from the stream before they were known to be finished; keep it longer than its consumers take"
            );
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            reading.answering.finish(&gone).await?;
        }
        Ok(())
    }
}
