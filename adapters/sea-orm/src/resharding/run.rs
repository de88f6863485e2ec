use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{QueueName, Resharding, Shard, ShardCount};
use claimstream_ports::{StoreError, StoreErrorKind};
use tokio::time::sleep;

use super::{
    RESHARD,
    cut::cut,
    emptying::{Emptied, empty, is_in_order},
    shards::status,
    status::{ReshardStep, ShardStatus},
};
use crate::{
    database::{
        Database,
        args::Args,
        typed_row::row,
        unit::{rows, run},
    },
    strategy::shard_lease::shard_key::ShardKey,
};

/// What gets the steps as they are done.
pub(crate) type Said = dyn Fn(ReshardStep) + Send + Sync;

/// Begins a resharding, or continues one that was begun, until all shards are open. It keeps nothing in mind: each step looks at the
/// tables.
pub(crate) async fn reshard(db: &Database, to: ShardCount, said: &Said) -> Result<(), StoreError> {
    let resharding = begin(db, to, said).await?;
    cut_in_time(db, to, said).await?;
    let mut patience = FIRST_PATIENCE;
    loop {
        let closed = closed(db, resharding).await?;
        if closed.is_empty() {
            said(ReshardStep::Ended);
            return Ok(());
        }
        // Several at once, because keys that move wait from the cut until their shard opens.
        let left = Mutex::new(closed);
        let work = || async {
            while let Some(shard) = next(&left) {
                open_heirs(db, resharding, shard, patience, said).await?;
            }
            Ok::<_, StoreError>(())
        };
        tokio::try_join!(work(), work(), work(), work())?;
        patience = (patience * 2).min(LAST_PATIENCE);
        sleep(BETWEEN_ROUNDS).await;
    }
}

/// How long a shard is kept closed for what is in hand there, at first and at most.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
const LAST_PATIENCE: Duration = Duration::from_secs(60);
/// In which relays take over what a dead one has left.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(500);
/// How often the cut is tried, and how long others may write in between.
const TRIES: u32 = 60;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

fn next(left: &Mutex<Vec<Shard>>) -> Option<Shard> {
    left.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

async fn begin(db: &Database, to: ShardCount, said: &Said) -> Result<Resharding, StoreError> {
    let (now, _) = status(db.relay(), db.sql).await?;
    if now.resharding.is_none() {
        let new = Resharding::new(now.count, to).map_err(refused)?;
        let args = db.args().with("shards", to.get()).with("from_shards", new.from().get());
        db.restarting(|| run(db.relay(), RESHARD, db.sql.resharding.begin.bind(&args))).await?;
    }
    let (now, _) = status(db.relay(), db.sql).await?;
    let begun = now.resharding.filter(|begun| begun.to() == to).ok_or_else(|| another(&now))?;
    said(ReshardStep::Begun(now));
    Ok(begun)
}

fn another(now: &ShardStatus) -> StoreError {
    let to = now.resharding.map_or(now.count, Resharding::to).get();
    let why = match now.is_open() {
        true => format!(
            "queues were cut into {to} shards before, and that is not ended; restart the programs that write messages, run \
             `claimstream schema reshard --end`, and then this"
        ),
        false => {
            format!(
                "queues are being cut into {to} shards; run `claimstream schema reshard {to} --yes` until it ends"
            )
        }
    };
    StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why)
}

fn refused(why: claimstream_domain::Invalid) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why)
}

async fn cut_in_time(db: &Database, to: ShardCount, said: &Said) -> Result<(), StoreError> {
    if status(db.relay(), db.sql).await?.0.is_cut {
        return Ok(());
    }
    for tries in 1..=TRIES {
        if cut(db, to).await? {
            said(ReshardStep::Cut);
            return Ok(());
        }
        said(ReshardStep::WaitsForTransactions { tries });
        sleep(BETWEEN_TRIES).await;
    }
    let why = "some transaction that has used the tables of messages was open at each try, and messages are written as before; end \
               long transactions, or choose a quiet moment, and run the command again";
    Err(StoreError::new(StoreErrorKind::Transient, RESHARD, why))
}

/// The old shards whose heirs are not open.
async fn closed(db: &Database, resharding: Resharding) -> Result<Vec<Shard>, StoreError> {
    let (_, open) = status(db.relay(), db.sql).await?;
    let is_closed = |shard: &Shard| resharding.heirs(*shard).any(|heir| !open.contains(&heir.number()));
    Ok(resharding.from().shards().filter(is_closed).collect())
}

/// Moves what belongs into the heirs of an old shard, and opens them if nothing of that is left.
async fn open_heirs(
    db: &Database,
    resharding: Resharding,
    shard: Shard,
    patience: Duration,
    said: &Said,
) -> Result<(), StoreError> {
    let (mut after, mut all, mut is_empty) = (String::new(), 0, true);
    while let Some(queue) = next_queue(db, &after).await? {
        after.clone_from(&queue);
        // A name that no queue can have: nobody reads it, and a program of another language has written it.
        let Ok(queue) = QueueName::new(&queue) else { continue };
        let key = ShardKey { queue, shard };
        if is_in_order(db, resharding, &key).await? {
            continue;
        }
        match empty(db, resharding, &key, patience).await? {
            Emptied::Yes { moved } => all += moved,
            Emptied::Later { moved, held_by } => {
                (all, is_empty) = (all + moved, false);
                said(ReshardStep::InHand { queue: key.queue, shard, held_by });
            }
        }
    }
    if is_empty {
        open(db, resharding.heirs(shard)).await?;
        let (now, _) = status(db.relay(), db.sql).await?;
        said(ReshardStep::Opened { shard, moved: all, open: now.open });
    }
    Ok(())
}

async fn open(db: &Database, heirs: impl Iterator<Item = Shard>) -> Result<(), StoreError> {
    let numbers: Vec<Args> = heirs.map(|heir| Args::new().with("shard", i64::from(heir.number()))).collect();
    let insert = || run(db.relay(), RESHARD, db.sql.schema.shard_insert.bind_rows(&Args::new(), &numbers));
    match db.restarting(insert).await {
        // Another call has opened them, all in one statement.
        Err(known) if known.kind() == StoreErrorKind::Conflict => Ok(()),
        opened => opened.map(|_| ()),
    }
}

async fn next_queue(db: &Database, after: &str) -> Result<Option<String>, StoreError> {
    let args = db.args().with("after", after);
    let found = db.restarting(|| rows(db.relay(), RESHARD, db.sql.resharding.next_queue.bind(&args))).await?;
    let queue = found.first().map(NextQueue::read).transpose()?.and_then(|next| next.queue);
    // Bytes that are no text belong to no queue, and nothing follows that could be read.
    Ok(queue.and_then(|queue| String::from_utf8(queue).ok()))
}

row! {
    struct NextQueue of "resharding/next_queue" { queue: Option<Vec<u8>> }
}
