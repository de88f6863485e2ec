use std::collections::{BTreeMap, HashMap};

use claimstream_domain::{MessageId, MessageStanding, MessageState, QueueName, QueuedMessage, Reason};
use claimstream_ports::StoreError;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::bytes,
        capability::{Capability, rows_of},
        classify::corrupt,
        typed_row::row,
        unit::rows,
    },
    dead_letters::listing,
    strategy::shard_lease::in_flight_list,
};

const FIND: &str = "find";

/// How far a look into a shard goes.
const MOST: i64 = 10_000;

/// By how much a row may come due before its body was stored: statements of one transaction have moments of their own.
const BEFORE: i64 = 2_000_000;

/// How many messages one statement names.
const NAMED: usize = 500;

/// The place of messages in the outbox: their queue and shard.
type Shard = (String, u16);

/// Where messages stand, in order; `None` for those that are finished, unknown, or too far back in a long queue.
pub(crate) async fn find(
    db: &Database,
    ids: &[MessageId],
) -> Result<Vec<Option<MessageStanding>>, StoreError> {
    let mut found: HashMap<MessageId, MessageStanding> = HashMap::new();
    for ids in ids.chunks(NAMED) {
        found.extend(listing::named(db, ids).await?.into_iter().map(|letter| {
            let state = MessageState::Dead { since: letter.dead_for };
            let (id, last_error) = (letter.id, Some(letter.reason));
            (id, MessageStanding { id, queue: letter.queue, attempts: letter.attempts, last_error, state })
        }));
        for (shard, kept) in places(db, ids).await? {
            let queue = QueueName::new(&shard.0).map_err(|e| corrupt(FIND, e))?;
            let flights = flights(db, &shard).await?;
            let since = kept.iter().map(|(_, since)| *since).min().unwrap_or_default();
            // Most are due after they were stored; a moment of the caller's choice may lie before.
            for from in [since.saturating_sub(BEFORE).max(0), 0] {
                let missing: Vec<Uuid> = kept.iter().map(|(id, _)| *id).collect();
                let missing: Vec<Uuid> =
                    missing.into_iter().filter(|id| !found.contains_key(&MessageId::new(*id))).collect();
                if missing.is_empty() {
                    break;
                }
                for row in look(db, &shard, from, &missing).await? {
                    let id = MessageId::new(row.id);
                    found.entry(id).or_insert_with(|| standing(id, &queue, row, flights.as_ref()));
                }
            }
        }
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// The messages of each shard that have bodies, each with the moment at which it was stored.
async fn places(db: &Database, ids: &[MessageId]) -> Result<BTreeMap<Shard, Vec<(Uuid, i64)>>, StoreError> {
    let args = db.args().with_list("ids", ids.iter().map(|id| bytes(id.uuid())));
    let found = db.restarting(|| rows(db.relay(), FIND, db.sql.observe.places.bind(&args))).await?;
    let mut places: BTreeMap<Shard, Vec<(Uuid, i64)>> = BTreeMap::new();
    for row in &found {
        let PlaceRow { id, queue, shard, since } = PlaceRow::read(row)?;
        places.entry((queue, shard)).or_default().push((id, since));
    }
    Ok(places)
}

async fn look(db: &Database, shard: &Shard, from: i64, ids: &[Uuid]) -> Result<Vec<FoundRow>, StoreError> {
    let args = db.args().with("queue", shard.0.as_str()).with("shard", shard.1).with("from", from);
    let args = args.with("most", MOST).with_list("ids", ids.iter().copied().map(bytes));
    let found = db.restarting(|| rows(db.relay(), FIND, db.sql.observe.find.bind(&args))).await?;
    found.iter().map(FoundRow::read).collect()
}

/// What is in flight under the lease of a shard.
struct Flights {
    ids: std::collections::HashSet<MessageId>,
    holder: Option<String>,
    ends_in: i64,
}

async fn flights(db: &Database, shard: &Shard) -> Result<Option<Flights>, StoreError> {
    let found = db
        .restarting(|| {
            rows_of(
                db.relay(),
                FIND,
                db.sql,
                Capability::ShardLease,
                db.sql.shard_lease.held.bind(&db.args()),
            )
        })
        .await?;
    for row in &found {
        let HeldRow { queue, shard: number, flights, label, ends_in } = HeldRow::read(row)?;
        if (queue, number) == *shard {
            let ids = in_flight_list::ids(&flights.unwrap_or_default());
            return Ok(Some(Flights { ids, holder: label, ends_in }));
        }
    }
    Ok(None)
}

fn standing(id: MessageId, queue: &QueueName, row: FoundRow, flights: Option<&Flights>) -> MessageStanding {
    let flight = flights.filter(|flights| flights.ids.contains(&id));
    let attempts = row.attempts + u32::from(flight.is_some());
    let queued = QueuedMessage {
        available_in: row.available_in,
        parked_for: row.parked_for,
        attempts,
        is_claimed: row.claimed,
        holder: flight.map_or(row.holder, |flight| flight.holder.clone()),
        flight_ends_in: flight.map(|flight| flight.ends_in),
    };
    let last_error = row.last_error.map(Reason::new);
    MessageStanding { id, queue: queue.clone(), attempts, last_error, state: MessageState::of_queued(queued) }
}

row! {
    struct PlaceRow of "observe/places" { id: Uuid, queue: String, shard: u16, since: i64 }
}

row! {
    struct FoundRow of "observe/find" {
        id: Uuid,
        attempts: u32,
        last_error: Option<String>,
        claimed: bool,
        holder: Option<String>,
        available_in: i64,
        parked_for: Option<i64>,
    }
}

row! {
    /// What is in flight under the lease of a shard.
    struct HeldRow of "shard_lease/held" {
        queue: String,
        shard: u16,
        flights: Option<Vec<u8>>,
        label: Option<String>,
        ends_in: i64,
    }
}
