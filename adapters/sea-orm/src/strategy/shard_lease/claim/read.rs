use claimstream_domain::MessageId;
use claimstream_ports::StoreError;
use sea_orm::Value;
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use crate::{
    database::{
        args::{Args, bytes},
        sql::Sql,
        unit::rows,
    },
    messages::body::inline,
    strategy::shard_lease::{
        claim::{
            claiming::{CLAIM, Claiming},
            due::Due,
            due_row::DueColumns,
            pick::{Picked, Rules, pick},
            place::Place,
            visit::Visit,
        },
        shard_state::{LeaseStatus, ShardState},
        suspect::Suspects,
        watermark::Start,
    },
};

impl Claiming<'_> {
    /// The next due messages of a shard; none if there are none, if the shard is not ours to take, or if so many wait that
    /// other calls have their turn before it is read further.
    pub(crate) async fn read(
        &mut self,
        visit: &mut Visit,
        state: &mut OwnedMutexGuard<ShardState>,
        start: Start,
        reach: usize,
    ) -> Result<Option<Due>, StoreError> {
        if let Some(mut due) = visit.unfinished.take() {
            if due.fence() != Some(state.fence) {
                return Ok(None);
            }
            due.now = self.store.db.now(&self.on, CLAIM).await?;
            return self.read_on(visit, state, due, reach).await;
        }
        let in_flight = state.in_flight.values().filter(|entry| entry.due >= start.low).count();
        let ordered = self.store.order.is_per_key();
        let some_wait = self.request.runs.is_none() || state.some_wait;
        let limit = in_flight + if ordered && some_wait { Due::REACH.max(2 * reach) } else { reach };
        let mut due = Box::<Due>::default();
        due.extent.start = start;
        let first = self
            .store
            .shard_args(&visit.key)
            .with("holder", self.store.holder.clone())
            .with("low", start.low);
        let first = first.with("limit", limit as i64).with("inline", inline(self.request.budget, limit));
        let found = self.page(&mut due, &self.store.db.sql.shard_lease.read, &first).await?;
        if let Some(fence) = due.fence()
            && !state.agrees(fence, due.now)
        {
            if fence > state.fence {
                state.lose();
            }
            return Ok(None);
        }
        if due.is_empty() && start.low == 0 {
            // Nothing is due, or another instance has it: the next look shows.
            state.status = LeaseStatus::Unknown;
        }
        due.extent.is_whole = start.low == 0 && found < limit;
        if ordered && found == limit {
            return self.read_on(visit, state, due, reach).await;
        }
        Ok((!due.is_empty()).then_some(*due))
    }

    /// Reads the first due messages of several shards by one statement.
    pub(super) async fn read_places(&self, places: &mut [Place]) -> Result<(), StoreError> {
        let store = self.store;
        let inline = inline(self.request.budget, places.iter().map(|place| place.limit).sum());
        let args = |place: &Place| {
            let args = store.shard_args(&place.visit.key).with("holder", store.holder.clone());
            args.with("low", 0_i64).with("limit", place.limit as i64).with("inline", inline)
        };
        let all: Vec<Args> = places.iter().map(args).collect();
        let asked = store.db.timer().now();
        let found = rows(&self.on, CLAIM, store.db.sql.shard_lease.read.bind_union(&all)).await?;
        let Some(first) = found.first() else { return Ok(()) };
        let (at, [shard_at]) = (DueColumns::of(first)?, first.places(&["shard"])?);
        for row in found {
            let shard: u16 = row.number(shard_at)?;
            let Some(place) = places.iter_mut().find(|place| place.visit.key.shard.number() == shard) else {
                continue;
            };
            if place.due.fence().is_none() {
                store.db.clock.note(place.due.begin(&row)?, asked);
            }
            place.due.add(row, at)?;
        }
        Ok(())
    }

    /// Reads the rows behind, as long as all that was read waits; after so many rows the other calls that want the shard have
    /// their turn.
    async fn read_on(
        &mut self,
        visit: &mut Visit,
        state: &mut OwnedMutexGuard<ShardState>,
        mut due: Box<Due>,
        reach: usize,
    ) -> Result<Option<Due>, StoreError> {
        let mut pages = 0;
        while !due.is_at_its_end() && self.all_wait(state, &due, reach) {
            // No row that was read outlives the turn: a message that is settled before the next one would look free in it.
            due.skip();
            if pages == Due::PAGES {
                visit.unfinished = Some(due);
                return Ok(None);
            }
            pages += 1;
            let (low, last) = due.extent.last.unwrap_or((due.extent.start.low, MessageId::new(Uuid::nil())));
            let on = self.store.shard_args(&visit.key).with("low", low).with("last", bytes(last.uuid()));
            let on = on.with("limit", Due::PAGE as i64);
            let on = on.with_list("keys", due.waiting_keys.most_common().into_iter().map(Value::from));
            if self.page(&mut due, &self.store.db.sql.shard_lease.read_on, &on).await? < Due::PAGE {
                break;
            }
        }
        Ok((!due.is_empty()).then_some(*due))
    }

    /// Adds what a statement finds, and answers how many rows that is.
    async fn page(&self, due: &mut Due, sql: &Sql, args: &Args) -> Result<usize, StoreError> {
        let asked = self.store.db.timer().now();
        let found = rows(&self.on, CLAIM, sql.bind(args)).await?;
        let Some(first) = found.first() else { return Ok(0) };
        let at = DueColumns::of(first)?;
        if due.fence().is_none() {
            let now = due.begin(first)?;
            self.store.db.clock.note(now, asked);
            if self.store.order.is_per_key() {
                due.extent.start.read_at.get_or_insert(now);
            }
        }
        let count = found.len();
        found.into_iter().try_for_each(|row| due.add(row, at))?;
        Ok(count)
    }

    pub(crate) fn picked(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, reach: usize) -> Picked {
        let rules = Rules {
            order: self.store.order,
            now: due.now,
            claim: self.request.claim,
            runs: self.request.runs,
            suspects: self.store.owned.suspect.suspects(state, due.now),
            limit: reach,
        };
        pick(&due.candidates, &state.in_flight, &rules)
    }

    /// Whether messages behind may overtake all of these: none can be handed out, and none is a suspect that others wait for.
    fn all_wait(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, reach: usize) -> bool {
        let mut candidates = due.candidates.iter();
        let suspects = self.store.owned.suspect.suspects(state, due.now);
        let is_held_up = suspects == Suspects::Allowed && candidates.any(|one| one.suspect);
        !is_held_up && self.picked(state, due, reach).taken.is_empty()
    }
}
