use std::time::Duration;

use claimstream_domain::{
    DeadLetterFilter, DeadLetterGroups, DeadLetterListed, DeadLetterPage, DeadLetterPlace, MessageId,
    QueueName, Reason,
};
use claimstream_ports::StoreError;
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    typed_row::row,
    unit::rows,
};

const DEAD: &str = "dead letters";

/// How many letters one statement looks at where not all of them match.
const LOOKED_AT: usize = 1000;

/// How many ids one statement names.
const NAMED: usize = 500;

/// A list of dead letters that is read on, newest first. Each queue is read along its index, and what letters carry is not read.
pub(crate) struct Listing {
    filter: DeadLetterFilter,
    /// Only letters that died by then.
    bound: i64,
    /// Where to read on; `None` at the end.
    from: Option<DeadLetterPlace>,
    /// The queues that have dead letters, once they are known.
    queues: Option<Vec<String>>,
}

impl Listing {
    /// A moment that no letter can die after.
    const END: i64 = 253_402_300_799_999_999;

    /// The list of all letters that match.
    pub(crate) async fn of(db: &Database, filter: &DeadLetterFilter) -> Result<Self, StoreError> {
        let bound = match filter.dead_for {
            Some(dead_for) => {
                db.clock.forget();
                let now = db.restarting(|| db.now(db.relay(), DEAD)).await?;
                now.saturating_sub(micros(dead_for)).max(0)
            }
            None => Self::END,
        };
        let from = Some(DeadLetterPlace::new(bound, MessageId::new(Uuid::max())));
        Ok(Self { filter: filter.clone(), bound, from, queues: None })
    }

    /// The same list from a place on.
    pub(crate) fn after(mut self, place: Option<DeadLetterPlace>) -> Self {
        self.from = self.from.map(|from| place.map_or(from, |place| place.min(from)));
        self
    }

    /// The moment by which all its letters had died.
    pub(crate) fn bound(&self) -> i64 {
        self.bound
    }

    /// Whether nothing more comes.
    pub(crate) fn is_over(&self) -> bool {
        self.from.is_none()
    }

    /// The next letters that match, at most so many. It looks at a bounded number of letters, so there may be none although the list
    /// is not over.
    pub(crate) async fn next(
        &mut self,
        db: &Database,
        limit: usize,
    ) -> Result<Vec<DeadLetterListed>, StoreError> {
        let Some(from) = self.from.filter(|_| limit > 0) else { return Ok(Vec::new()) };
        let looked_at = if self.filter.reason.is_some() { LOOKED_AT.max(limit) } else { limit };
        let mut found = match self.filter.ids.is_empty() {
            true => self.newest(db, from, looked_at).await?,
            false => self.named(db, from).await?,
        };
        found.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        let is_last = match self.filter.ids.is_empty() {
            // Another letter than these may lie beyond the last one of each queue.
            true => found.len() < looked_at,
            false => true,
        };
        found.truncate(looked_at.max(if is_last { found.len() } else { 0 }));
        let (mut letters, mut seen) = (Vec::new(), from);
        let mut rest = found.into_iter();
        for (place, letter) in rest.by_ref() {
            seen = place;
            let is_wanted =
                |letter: &DeadLetterListed| self.filter.reason.as_ref().is_none_or(|r| *r == letter.reason);
            letters.extend(letter.filter(is_wanted));
            if letters.len() == limit {
                break;
            }
        }
        self.from = if is_last && rest.next().is_none() { None } else { Some(seen) };
        Ok(letters)
    }

    /// The newest letters of each queue.
    async fn newest(
        &mut self,
        db: &Database,
        from: DeadLetterPlace,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let mut all = Vec::new();
        for queue in self.queues(db).await? {
            let args = db.args().with("queue", queue.as_str()).with("bound", from.died_at());
            let args = args.with("after", bytes(from.id().uuid())).with("limit", limit as i64);
            all.extend(read(db, &args, false).await?);
        }
        Ok(all)
    }

    /// The letters that the filter names.
    async fn named(&self, db: &Database, from: DeadLetterPlace) -> Result<Vec<Listed>, StoreError> {
        let mut all = Vec::new();
        for ids in self.filter.ids.chunks(NAMED) {
            let args = db.args().with_list("ids", ids.iter().map(|id| bytes(id.uuid())));
            all.extend(read(db, &args, true).await?);
        }
        let queue = self.filter.queue.as_ref();
        let is_in = |letter: &DeadLetterListed| queue.is_none_or(|queue| *queue == letter.queue);
        all.retain(|(place, letter)| *place < from && letter.as_ref().is_some_and(is_in));
        all.dedup_by_key(|(place, _)| *place);
        Ok(all)
    }

    async fn queues(&mut self, db: &Database) -> Result<Vec<String>, StoreError> {
        if let Some(queue) = &self.filter.queue {
            return Ok(vec![queue.as_str().to_owned()]);
        }
        if let Some(queues) = &self.queues {
            return Ok(queues.clone());
        }
        let queues = queues(db).await?;
        self.queues = Some(queues.clone());
        Ok(queues)
    }
}

/// Those of these messages that are dead letters.
pub(crate) async fn named(db: &Database, ids: &[MessageId]) -> Result<Vec<DeadLetterListed>, StoreError> {
    let args = db.args().with_list("ids", ids.iter().map(|id| bytes(id.uuid())));
    Ok(read(db, &args, true).await?.into_iter().filter_map(|(_, letter)| letter).collect())
}

/// A page of the letters that match.
pub(crate) async fn page(
    db: &Database,
    filter: &DeadLetterFilter,
    after: Option<DeadLetterPlace>,
    limit: u32,
) -> Result<DeadLetterPage, StoreError> {
    let mut list = Listing::of(db, filter).await?.after(after);
    let letters = list.next(db, limit as usize).await?;
    Ok(DeadLetterPage { letters, next: list.from })
}

/// How many letters match, at most `most`.
pub(crate) async fn count(db: &Database, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError> {
    let mut list = Listing::of(db, filter).await?;
    if !filter.ids.is_empty() {
        let found = list.next(db, usize::MAX).await?;
        return Ok(most.min(found.len() as u64));
    }
    let mut counted = 0;
    for queue in list.queues(db).await? {
        let args = db.args().with("queue", queue.as_str()).with("bound", list.bound);
        let args = args.with("most", i64::try_from(most - counted).unwrap_or(i64::MAX));
        let (args, sql) = match &filter.reason {
            Some(reason) => (args.with("reason", reason.as_str()), &db.sql.dead_letters.count_reason),
            None => (args, &db.sql.dead_letters.count),
        };
        let found = db.restarting(|| rows(db.relay(), DEAD, sql.bind(&args))).await?;
        counted += found.first().map_or(Ok(0), |row| CountRow::read(row).map(|row| row.letters))?;
        if counted >= most {
            return Ok(most);
        }
    }
    Ok(counted)
}

/// The reasons of the newest letters that match.
pub(crate) async fn groups(
    db: &Database,
    filter: &DeadLetterFilter,
    most: u32,
) -> Result<DeadLetterGroups, StoreError> {
    let (mut list, mut letters) = (Listing::of(db, filter).await?, Vec::new());
    while !list.is_over() && letters.len() < most as usize {
        letters.extend(list.next(db, LOOKED_AT.min(most as usize - letters.len())).await?);
    }
    Ok(DeadLetterGroups::of(&letters, list.is_over()))
}

/// The queues that have dead letters, each found by a step in the index. A name that no queue can have is passed over: `observe` counts its
/// letters.
async fn queues(db: &Database) -> Result<Vec<String>, StoreError> {
    let (mut queues, mut after) = (Vec::new(), Vec::new());
    loop {
        let args = db.args().with("after", after.clone());
        let next =
            db.restarting(|| rows(db.relay(), DEAD, db.sql.dead_letters.next_queue.bind(&args))).await?;
        let Some(next) = next.first().map(QueueRow::read).transpose()? else { return Ok(queues) };
        after = next.queue;
        queues.extend(QueueName::from_bytes(&after).ok().map(|queue| queue.as_str().to_owned()));
    }
}

/// The place of a letter, and the letter unless a program wrote it so that it cannot be read.
type Listed = (DeadLetterPlace, Option<DeadLetterListed>);

async fn read(db: &Database, args: &Args, are_named: bool) -> Result<Vec<Listed>, StoreError> {
    let sql = if are_named { &db.sql.dead_letters.listed } else { &db.sql.dead_letters.newest };
    let found = db.restarting(|| rows(db.relay(), DEAD, sql.bind(args))).await?;
    let listed = found.iter().map(|row| {
        let PlaceRow { id, died, dead_for } = PlaceRow::read(row)?;
        let (id, dead_for) = (MessageId::new(id), u64::try_from(dead_for).unwrap_or_default());
        let letter = LetterRow::read(row).and_then(|LetterRow { queue, attempts, reason }| {
            let queue = QueueName::from_bytes(&queue).map_err(|e| corrupt(DEAD, e))?;
            let dead_for = Duration::from_micros(dead_for);
            Ok(DeadLetterListed { id, queue, attempts, reason: Reason::new(reason), dead_for })
        });
        if let Err(error) = &letter {
            tracing::warn!(message_id = %id, %error, "a dead letter cannot be read and is not listed");
        }
        Ok((DeadLetterPlace::new(died, id), letter.ok()))
    });
    listed.collect()
}

row! {
    /// Where a letter stands in a list.
    struct PlaceRow of "dead_letters/newest", "dead_letters/listed" { id: Uuid, died: i64, dead_for: i64 }
}

row! {
    /// What a list says of a letter.
    struct LetterRow of "dead_letters/newest", "dead_letters/listed" { queue: Vec<u8>, attempts: u32, reason: String }
}

row! {
    struct CountRow of "dead_letters/count", "dead_letters/count_reason" { letters: u64 }
}

row! {
    struct QueueRow of "dead_letters/next_queue" { queue: Vec<u8> }
}
