use std::{collections::HashSet, time::Duration};

use claimstream_domain::{DeadLetter, DeadLetterFilter, Message, MessageId, QueueName, Reason, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        classify::{corrupt, may_have_committed},
        typed_row::row,
        unit::{Row, rows, run},
    },
    dead_letters::listing::Listing,
    messages::body::{Body, BodyColumns},
};

const DEAD: &str = "dead letters";

/// How many dead letters one transaction moves.
const CHUNK: u32 = 200;

/// What becomes of dead letters.
#[derive(Clone, Copy)]
pub(crate) enum Move {
    /// They are claimed again.
    Revive,
    /// They are deleted.
    Purge,
}

/// The dead letters that a filter is about with all that they carry, newest first, at most so many.
pub(crate) async fn list(
    db: &Database,
    filter: &DeadLetterFilter,
    limit: u32,
) -> Result<Vec<DeadLetter>, StoreError> {
    let (mut letters, mut from) = (Vec::new(), Listing::of(db, filter).await?);
    while letters.len() < limit as usize {
        let page = from.next(db, (limit as usize - letters.len()).min(CHUNK as usize)).await?;
        let ids: Vec<Uuid> = page.iter().map(|letter| letter.id.uuid()).collect();
        letters.extend(whole(db, &ids).await?);
        if from.is_over() {
            break;
        }
    }
    Ok(letters)
}

/// Dead letters with all that they carry, in this order; those that have gone are left out, and those that cannot be read.
async fn whole(db: &Database, ids: &[Uuid]) -> Result<Vec<DeadLetter>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let args = ids_args(db, ids);
    let found = db.restarting(|| rows(db.relay(), DEAD, db.sql.dead_letters.list.bind(&args))).await?;
    let readable =
        |row| dead_letter(row).inspect_err(|error| tracing::warn!(%error, "a dead letter is left out")).ok();
    let mut letters: Vec<_> = found.iter().filter_map(readable).collect();
    letters.sort_by_cached_key(|letter| ids.iter().position(|id| *id == letter.message.id.uuid()));
    Ok(letters)
}

/// Moves the dead letters that a filter is about, and says how many.
pub(crate) async fn move_all(
    db: &Database,
    filter: &DeadLetterFilter,
    what: Move,
) -> Result<u64, StoreError> {
    // Letters that die while the work continues are not among them, so that it ends.
    let filter = DeadLetterFilter { dead_for: Some(filter.dead_for.unwrap_or_default()), ..filter.clone() };
    let (mut from, mut moved) = (Listing::of(db, &filter).await?, 0);
    let bound = from.bound();
    loop {
        let page = from.next(db, CHUNK as usize).await?;
        let ids: Vec<Uuid> = page.iter().map(|letter| letter.id.uuid()).collect();
        if !ids.is_empty() {
            moved += db.restarting(|| move_page(db, &ids, bound, what)).await?;
        }
        if from.is_over() {
            return Ok(moved);
        }
    }
}

async fn move_page(db: &Database, page: &[Uuid], bound: i64, what: Move) -> Result<u64, StoreError> {
    let transaction = db.begin(DEAD).await?;
    let args = db.args().with_list("ids", page.iter().copied().map(bytes)).with("bound", bound);
    let found = rows(&transaction, DEAD, db.sql.dead_letters.lock.bind(&args)).await?;
    let ids = found.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
    match what {
        _ if ids.is_empty() => {}
        Move::Revive => revive_page(db, &transaction, ids.clone()).await?,
        Move::Purge => {
            run(&transaction, DEAD, db.sql.dead_letters.delete.bind(&ids_args(db, &ids))).await?;
        }
    }
    match db.commit(DEAD, transaction).await {
        Err(lost) if may_have_committed(&lost) && !ids.is_empty() => are_moved(db, &ids, lost).await?,
        committed => committed?,
    }
    Ok(found.len() as u64)
}

/// Looks what became of a page whose commit was not answered: all its letters are gone by now, or none is.
async fn are_moved(db: &Database, ids: &[Uuid], lost: StoreError) -> Result<(), StoreError> {
    db.note_trouble(&lost);
    let left = || rows(db.relay(), DEAD, db.sql.dead_letters.known.bind(&ids_args(db, ids)));
    match db.asking_back(left).await {
        Ok(left) if left.is_empty() => Ok(()),
        _ => Err(lost),
    }
}

/// Makes dead letters live again. Their bodies are there and locked first, so that from then on no enqueue gets one of their
/// ids; a letter whose id another message has by then is revived under an id of its own.
async fn revive_page(db: &Database, on: &impl ConnectionTrait, mut ids: Vec<Uuid>) -> Result<(), StoreError> {
    run(on, DEAD, db.sql.dead_letters.body.bind(&ids_args(db, &ids))).await?;
    let others = rows(on, DEAD, db.sql.dead_letters.others.bind(&ids_args(db, &ids))).await?;
    for row in &others {
        let id = row.uuid("id")?;
        ids.retain(|known| *known != id);
        ids.push(rename(db, on, DEAD, id).await?);
    }
    let args = ids_args(db, &ids);
    run(on, DEAD, db.sql.dead_letters.revive_message.bind(&args)).await?;
    run(on, DEAD, db.sql.dead_letters.revive_queue.bind(&args)).await?;
    run(on, DEAD, db.sql.dead_letters.delete.bind(&args)).await?;
    Ok(())
}

/// Writes dead letters. A letter that is there under the id of one of them makes room, and goes on under another id.
pub(crate) async fn bury(
    db: &Database,
    on: &impl ConnectionTrait,
    operation: &'static str,
    letters: Statement,
    ids: &[Uuid],
) -> Result<(), StoreError> {
    match run(on, operation, letters.clone()).await {
        Err(known) if known.kind() == StoreErrorKind::Conflict => {}
        buried => return buried.map(|_| ()),
    }
    for row in rows(on, operation, db.sql.dead_letters.known.bind(&ids_args(db, ids))).await? {
        rename(db, on, operation, row.uuid("id")?).await?;
    }
    run(on, operation, letters).await.map(|_| ())
}

/// Gives a dead letter, and what it carries, another id.
async fn rename(
    db: &Database,
    on: &impl ConnectionTrait,
    operation: &'static str,
    id: Uuid,
) -> Result<Uuid, StoreError> {
    let fresh = Uuid::now_v7();
    let args = db.args().with("id", bytes(id)).with("fresh", bytes(fresh));
    run(on, operation, db.sql.dead_letters.rename.bind(&args)).await?;
    run(on, operation, db.sql.dead_letters.body.bind(&ids_args(db, &[fresh]))).await?;
    tracing::warn!(%id, %fresh, "a second message has the id of a dead letter; the dead letter gets a new id");
    Ok(fresh)
}

/// Which of these messages are dead letters.
pub(crate) async fn dead_among(
    db: &Database,
    operation: &'static str,
    ids: &[Uuid],
) -> Result<HashSet<Uuid>, StoreError> {
    let known = db.sql.dead_letters.known.bind(&ids_args(db, ids));
    db.restarting(|| rows(db.relay(), operation, known.clone()))
        .await?
        .iter()
        .map(|row| row.uuid("id"))
        .collect()
}

pub(crate) fn ids_args(db: &Database, ids: &[Uuid]) -> Args {
    db.args().with_list("ids", ids.iter().copied().map(bytes))
}

row! {
    /// A dead letter with its body.
    struct Letter of "dead_letters/list" {
        id: Uuid,
        queue: String,
        shard: u16,
        attempts: u32,
        reason: String,
        dead_for: i64,
    }
}

fn dead_letter(row: &Row) -> Result<DeadLetter, StoreError> {
    let Body { ordering_key, headers, payload } = Body::salvage(row, &BodyColumns::of(row)?)?;
    let letter = Letter::read(row)?;
    let message = Message {
        id: MessageId::new(letter.id),
        queue: QueueName::new(&letter.queue).map_err(|e| corrupt(DEAD, e))?,
        shard: Shard::from_number(letter.shard),
        ordering_key,
        headers,
        payload,
    };
    let dead_for = Duration::from_micros(u64::try_from(letter.dead_for).unwrap_or_default());
    Ok(DeadLetter { message, attempts: letter.attempts, reason: Reason::new(letter.reason), dead_for })
}
