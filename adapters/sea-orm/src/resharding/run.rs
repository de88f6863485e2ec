use std::time::Duration;

use claimstream_domain::{QueueName, Resharding, Shard, ShardCount};
use claimstream_ports::{StoreError, StoreErrorKind};

use super::{
    RESHARD,
    cut::{Cut, Undone, undo},
    emptying::{Emptied, Holder, empty},
    order::is_in_order,
    rights::prove,
    shards::status,
    status::{ReshardStep, ShardStatus},
    turns::{Turn, Turns},
};
#[cfg(feature = "mysql")]
use super::{group::refuse_many_primaries, triggers::prove_right};
use crate::{
    database::{
        Database,
        args::Args,
        capability::{Capability, applied},
        dialect::Dialect,
        typed_row::row,
        unit::{rows, run},
    },
    strategy::shard_lease::shard_key::ShardKey,
};

/// What gets the steps as they are done.
pub(crate) type Said = dyn Fn(ReshardStep) + Send + Sync;

/// Begins a resharding, or continues one that was begun, until all shards are open. What it keeps in mind is for its own timeouts: each
/// step looks at the tables.
pub(crate) async fn reshard(db: &Database, to: ShardCount, said: &Said) -> Result<(), StoreError> {
    let resharding = begin(db, to, said).await?;
    cut_in_time(db, to, said).await?;
    loop {
        let closed = closed(db, resharding).await?;
        if closed.is_empty() {
            said(ReshardStep::Ended);
            return Ok(());
        }
        // Several at once, because keys that move wait from the cut until their shard opens.
        let turns = Turns::of(closed);
        let work = || async {
            while let Some(turn) = turns.next() {
                if !open_heirs(db, resharding, turn, &turns, said).await? {
                    db.timer().sleep(BETWEEN_TURNS).await;
                    turns.come_again(turn);
                }
            }
            Ok::<_, StoreError>(())
        };
        tokio::try_join!(work(), work(), work(), work())?;
    }
}

/// In which relays take over what a dead one has left.
const BETWEEN_TURNS: Duration = Duration::from_millis(500);
/// How often the cut is tried, and how long others may write in between.
const TRIES: u32 = 60;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// How often a cut that was not made is taken back.
const TRIES_BACK: u32 = 10;

async fn begin(db: &Database, to: ShardCount, said: &Said) -> Result<Resharding, StoreError> {
    refuse_without_leases(db).await?;
    let (now, _) = status(db.relay(), db.sql).await?;
    #[cfg(feature = "mysql")]
    if db.dialect == Dialect::MySql && !now.is_cut {
        refuse_many_primaries(db).await?;
    }
    match now.resharding {
        Some(begun) if begun.to() != to => return Err(another(&now)),
        Some(_) if db.dialect == Dialect::MySql => prove(db, to).await?,
        Some(_) => {}
        None => note(db, &now, to, said).await?,
    }
    let (now, _) = status(db.relay(), db.sql).await?;
    let begun = now.resharding.filter(|begun| begun.to() == to).ok_or_else(|| another(&now))?;
    said(ReshardStep::Begun(now));
    Ok(begun)
}

/// Refuses where no lease can be taken: a relay under shard_lease could begin to claim from a shard that is being emptied.
async fn refuse_without_leases(db: &Database) -> Result<(), StoreError> {
    let applied = applied(db.relay(), db.sql).await?;
    if applied.contains_key(&Capability::ShardLease) {
        return Ok(());
    }
    let why = "a resharding takes the leases of shards, also where no relay does, and their table is missing; run `claimstream schema apply \
               --for shard_lease` first";
    Err(StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why))
}

/// Notes that a resharding begins, if nothing is in its way that can be known before.
async fn note(db: &Database, now: &ShardStatus, to: ShardCount, said: &Said) -> Result<(), StoreError> {
    let new = Resharding::new(now.count, to).map_err(refused)?;
    match db.dialect {
        Dialect::MySql => {
            prove(db, to).await?;
            // If a transaction is in the way, the triggers themselves will show it.
            #[cfg(feature = "mysql")]
            prove_right(db).await?;
        }
        Dialect::Sqlite => refuse_utf_16(db).await?,
    }
    let args = db.args().with("shards", to.get()).with("from_shards", new.from().get());
    let insert = || run(db.relay(), RESHARD, db.sql.resharding.begin.bind(&args));
    for tries in 1..TRIES {
        match db.restarting(insert).await {
            Err(busy) if busy.kind() == StoreErrorKind::Transient => {
                said(ReshardStep::WaitsForTransactions { tries });
                db.timer().sleep(BETWEEN_TRIES).await;
            }
            noted => return noted.map(|_| ()),
        }
    }
    db.restarting(insert).await.map(|_| ())
}

async fn refuse_utf_16(db: &Database) -> Result<(), StoreError> {
    let found = rows(db.relay(), RESHARD, db.sql.resharding.encoding.bind(&db.args())).await?;
    match found.first().map(Encoding::read).transpose()? {
        Some(Encoding { encoding }) if encoding != "UTF-8" => Err(refused(UTF_16)),
        _ => Ok(()),
    }
}

const UTF_16: &str = "the file keeps text as UTF-16, and a trigger cannot hash an ordering key there as programs do; nothing has been \
                      changed. Copy the tables into a file that was made with PRAGMA encoding = 'UTF-8', which is the default";

/// Says that another resharding stands in the way.
pub(super) fn another(now: &ShardStatus) -> StoreError {
    let to = now.resharding.map_or(now.count, Resharding::to).get();
    refused(match (now.resharding, now.is_open()) {
        (None, _) => {
            format!("queues have {to} shards now, because another command has ended; run this again")
        }
        (_, true) => format!(
            "queues were cut into {to} shards before, and that is not ended; restart the programs that write messages, run \
             `claimstream schema reshard --end`, and then this"
        ),
        (_, false) if !now.is_cut => format!(
            "a resharding into {to} shards was begun; run `claimstream schema reshard {to} --yes` until it ends, or \
             `claimstream schema reshard --end --yes` to take it back, and then this"
        ),
        _ => format!(
            "queues are being cut into {to} shards; run `claimstream schema reshard {to} --yes` until it ends"
        ),
    })
}

/// What cannot be done as it was asked for.
pub(super) fn refused(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, RESHARD, why)
}

async fn cut_in_time(db: &Database, to: ShardCount, said: &Said) -> Result<(), StoreError> {
    let mut cut = Cut::default();
    for tries in 1..=TRIES {
        let (now, _) = status(db.relay(), db.sql).await?;
        if now.resharding.is_none_or(|begun| begun.to() != to) {
            return Err(another(&now));
        }
        if now.is_cut {
            return Ok(());
        }
        if cut.attempt(db, to).await? {
            said(ReshardStep::Cut);
            return Ok(());
        }
        said(ReshardStep::WaitsForTransactions { tries });
        db.timer().sleep(BETWEEN_TRIES).await;
    }
    give_up(db, to).await
}

/// Takes back what was made, and says how it stands.
async fn give_up(db: &Database, to: ShardCount) -> Result<(), StoreError> {
    let mut undone = undo(db, to).await?;
    for _ in 1..TRIES_BACK {
        if !matches!(undone, Undone::Later) {
            break;
        }
        db.timer().sleep(BETWEEN_TRIES).await;
        undone = undo(db, to).await?;
    }
    let why = match undone {
        Undone::Yes => {
            "some transaction that has used the tables of messages was open at each try; messages are written as before, and nothing has \
             changed. End long transactions, or choose a quiet moment, and run the command again"
        }
        Undone::Later => {
            "some transaction that has used the tables of messages was open at each try. Messages are written as before, but triggers on \
             claimstream_message note other shards in some bodies, so lists may not find where these messages wait. End long transactions, and \
             run the command again, or take it back with `claimstream schema reshard --end --yes`"
        }
        Undone::IsCut => {
            "messages are written by the new number, and a prepared transaction that may have written by the old one has not ended; XA \
             RECOVER lists it. Commit it or roll it back, and run the command again: until then new shards are closed"
        }
    };
    Err(StoreError::new(StoreErrorKind::Transient, RESHARD, why))
}

/// The old shards whose heirs are not open.
pub(super) async fn closed(db: &Database, resharding: Resharding) -> Result<Vec<Shard>, StoreError> {
    let (_, open) = status(db.relay(), db.sql).await?;
    let is_closed = |shard: &Shard| resharding.heirs(*shard).any(|heir| !open.contains(&heir.number()));
    Ok(resharding.from().shards().filter(is_closed).collect())
}

/// Moves what belongs into the heirs of an old shard, and opens them if nothing of that is left; `false` if something is.
async fn open_heirs(
    db: &Database,
    resharding: Resharding,
    turn: Turn,
    turns: &Turns,
    said: &Said,
) -> Result<bool, StoreError> {
    let (shard, mut after, mut all, mut is_empty) = (turn.shard, Vec::new(), 0, true);
    while let Some(name) = next_queue(db, &after).await? {
        let queue = QueueName::from_bytes(&name).ok();
        after = name;
        // A name that no queue can have: no relay reads it, and a program of another language has written it.
        let Some(queue) = queue else { continue };
        let key = ShardKey { queue, shard };
        if is_in_order(db, resharding, &key).await? {
            continue;
        }
        match empty(db, resharding, &key, turn.timeout).await? {
            Emptied::Yes { moved } => all += moved,
            Emptied::Later { moved, holder } => {
                (all, is_empty) = (all + moved, false);
                say_later(key, holder, turns, said);
            }
        }
    }
    if is_empty {
        open(db, resharding.heirs(shard)).await?;
        let (now, _) = status(db.relay(), db.sql).await?;
        said(ReshardStep::Opened { shard, moved: all, open: now.open });
    }
    Ok(is_empty)
}

fn say_later(key: ShardKey, holder: Holder, turns: &Turns, said: &Said) {
    let Holder { label: held_by, is_gone } = holder;
    let is_known = is_gone && !turns.note_left(&key);
    let ShardKey { queue, shard } = key;
    match is_gone {
        false => said(ReshardStep::InHand { queue, shard, held_by }),
        true if is_known => {}
        true => said(ReshardStep::NeedsRelay { queue, shard, held_by }),
    }
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

/// The name as it is stored: others follow one that is no text.
async fn next_queue(db: &Database, after: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let args = db.args().with("after", after.to_vec());
    let found = db.restarting(|| rows(db.relay(), RESHARD, db.sql.resharding.next_queue.bind(&args))).await?;
    Ok(found.first().map(NextQueue::read).transpose()?.and_then(|next| next.queue))
}

row! {
    struct NextQueue of "resharding/next_queue" { queue: Option<Vec<u8>> }
}

row! {
    struct Encoding of "resharding/encoding" { encoding: String }
}
