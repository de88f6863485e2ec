use std::time::Duration;

use claimstream_domain::{
    QueueName,
    timer_event::{Tick, TimerListed, TimerPage, TimerPlace},
};
use claimstream_ports::StoreError;

use crate::database::{Database, args::Args, sql::Sql, typed_row::row, unit::rows};

const TIMERS: &str = "timers";

/// How many times one page looks for a key.
const TURNS: u32 = 2_000;

/// How long one page looks; a place to read on from is the answer then.
const LONGEST: Duration = Duration::from_millis(300);

/// The timers that stand behind `after`, at most `limit`. Each is found by two looks along the keys of its queue, however many occurrences
/// it has had.
pub(crate) async fn timers(
    db: &Database,
    after: Option<TimerPlace>,
    limit: u32,
) -> Result<TimerPage, StoreError> {
    let (_, end) = TimerListed::keys();
    let mut timers = Vec::new();
    let mut place = match after {
        Some(after) => Some(after),
        None => next_queue(db, "").await?,
    };
    let looked = db.timer().stopwatch();
    for _ in 0..TURNS {
        let Some(TimerPlace { queue, key }) = place else { return Ok(TimerPage { timers, next: None }) };
        if timers.len() >= limit as usize {
            return Ok(TimerPage { timers, next: Some(TimerPlace { queue, key }) });
        }
        place = match first_key(db, &queue, &key, end).await? {
            None => next_queue(db, queue.as_str()).await?,
            Some(found) => match newest(db, &queue, &found).await? {
                Some(timer) => {
                    let behind = TimerPlace::behind(&timer);
                    timers.push(timer);
                    Some(behind)
                }
                // Another program's key, which begins like those of timers.
                None => Some(TimerPlace { queue, key: format!("{found}\0") }),
            },
        };
        if looked.elapsed() >= LONGEST {
            break;
        }
    }
    Ok(TimerPage { timers, next: place })
}

/// The newest occurrence of the timer that a key is of, if it is of one.
async fn newest(db: &Database, queue: &QueueName, key: &str) -> Result<Option<TimerListed>, StoreError> {
    let Some(tick) = Tick::of_key(key) else { return Ok(None) };
    let (from, end) = TimerListed::keys_of(&tick.scheme);
    let last = key_of(db, &db.sql.observe.last_key, &range(db, queue, &from, &end)).await?;
    let tick = last.as_deref().and_then(Tick::of_key).unwrap_or(tick);
    Ok(Some(TimerListed::of(queue.clone(), &tick)))
}

async fn first_key(
    db: &Database,
    queue: &QueueName,
    from: &str,
    end: &str,
) -> Result<Option<String>, StoreError> {
    key_of(db, &db.sql.observe.first_key, &range(db, queue, from, end)).await
}

fn range(db: &Database, queue: &QueueName, from: &str, end: &str) -> Args {
    db.args().with("queue", queue.as_str()).with("from", from).with("end", end)
}

async fn key_of(db: &Database, statement: &Sql, args: &Args) -> Result<Option<String>, StoreError> {
    let found = db.restarting(|| rows(db.relay(), TIMERS, statement.bind(args))).await?;
    Ok(found.first().map(KeyRow::read).transpose()?.and_then(|row| row.dedup_key))
}

/// The first place of the next queue that has a dedup key. A name that no queue can have is passed over.
async fn next_queue(db: &Database, after: &str) -> Result<Option<TimerPlace>, StoreError> {
    let mut after = after.as_bytes().to_vec();
    loop {
        let args = db.args().with("after", after);
        let found = db.restarting(|| rows(db.relay(), TIMERS, db.sql.observe.key_queue.bind(&args))).await?;
        let next = found.first().map(QueueRow::read).transpose()?.and_then(|row| row.queue);
        let Some(next) = next else { return Ok(None) };
        match QueueName::from_bytes(&next) {
            Ok(queue) => return Ok(Some(TimerPlace { queue, key: Tick::KEYS.to_owned() })),
            Err(_) => after = next,
        }
    }
}

row! {
    struct KeyRow of "observe/first_key", "observe/last_key" { dedup_key: Option<String> }
}

row! {
    struct QueueRow of "observe/key_queue" { queue: Option<Vec<u8>> }
}
