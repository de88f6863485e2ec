use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{ClaimRequest, Claimed, Locator, MessageId, Receipt, Settlement, Shard};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use crate::{
    claim::visits::{Visitor, visit_shards},
    database::{
        args::{Args, bytes},
        clock::micros,
        held::Held,
        sql::Sql,
        typed_row::row,
        unit::rows,
    },
    messages::{
        body::{bodies, inline},
        twins::unite,
        unreadable::{given_up, told},
    },
    strategy::shard_lease::{
        due::{Due, DueColumns},
        give_back::{give_back, watch},
        leases::ShardLease,
        pick::{Candidate, Picked, pick},
        read_ahead::{Page, ReadAhead},
        settle::settle,
        shard_state::{InFlight, LeaseStatus, Noted, Seen, ShardState},
    },
};

const CLAIM: &str = "claim";

/// Claims from shards that are ours or free, one after another, until the limit is reached or none is left.
pub(crate) async fn claim(
    store: &Arc<ShardLease>,
    request: ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let mut claiming = Claiming {
        store,
        on: Held::new(&store.db),
        request,
        visited: Vec::new(),
        with_twins: Vec::new(),
        taken: Vec::new(),
        is_cut_short: false,
        unreadable: Vec::new(),
        oldest: None,
        newest: None,
        trouble: None,
        unfinished: None,
        patience: ShardLease::SOON.min(store.db.limits.acquire_timeout),
    };
    claiming.request.limit = claiming.request.limit.min(ClaimRequest::MOST);
    let ended = Box::pin(claiming.run()).await;
    let Claiming { taken, unreadable, with_twins, request, trouble, on, .. } = claiming;
    drop(on);
    let ended = ended.and(trouble.map_or(Ok(()), Err));
    for shard in with_twins {
        if let Err(error) = unite(&store.db, &request.queue, shard).await {
            tracing::warn!(%error, "messages have two queue entries each and could not be united");
        }
    }
    if !unreadable.is_empty() {
        let buried = settle(store, &unreadable).await;
        tracing::error!(count = unreadable.len(), buried = buried.is_ok(), "unreadable messages");
        if buried.is_ok() {
            told(&unreadable);
        }
    }
    match ended {
        Err(error) if !taken.is_empty() => {
            tracing::warn!(%error, "a claim ended early and returns the messages that it has")
        }
        ended => ended?,
    }
    Ok(taken)
}

struct Claiming<'a> {
    store: &'a Arc<ShardLease>,
    on: Held<'a>,
    request: ClaimRequest,
    visited: Vec<Shard>,
    /// Where a message has two entries; the older one was handed out.
    with_twins: Vec<Shard>,
    taken: Vec<Claimed>,
    /// There was more than the budget reached for.
    is_cut_short: bool,
    unreadable: Vec<Settlement>,
    /// The oldest due time that the newest look into a shard has found.
    oldest: Option<i64>,
    /// The newest due time that was taken there.
    newest: Option<i64>,
    /// What went wrong in a shard that was passed over, the first time.
    trouble: Option<StoreError>,
    /// What was read of a shard before others had their turn there.
    unfinished: Option<Box<Due>>,
    /// How long it may still wait for shards in which others are at work.
    patience: Duration,
}

impl Claiming<'_> {
    async fn run(&mut self) -> Result<(), StoreError> {
        self.take_what_waits().await;
        if self.wanted() == 0 {
            return Ok(());
        }
        let (store, queue) = (self.store, self.request.queue.clone());
        visit_shards(&store.known, &queue, &store.db.clock, self).await
    }

    /// Takes what an earlier claim has read for this one, and gives back what has waited for too long.
    async fn take_what_waits(&mut self) {
        let (store, queue) = (self.store, &self.request.queue);
        let stale = store.ahead.stale(queue, store.db.clock.elapsed());
        if !stale.is_empty() {
            let back = Arc::clone(store);
            let given_back = store.db.runtime.spawn(async move {
                let _on_its_way = back.ahead.begin_giving_back().await;
                let _ = back.db.detached(CLAIM, give_back(Arc::clone(&back), stale)).await;
            });
            // It goes on without this claim, whose own messages may be in other shards.
            let _ = tokio::time::timeout(ShardLease::SOON, given_back).await;
        }
        let (wanted, budget, lease) = (self.wanted(), self.request.budget, self.request.lease);
        self.taken = store.ahead.next(queue, wanted, budget, lease, store.db.clock.elapsed());
    }

    /// How many more; none if the budget is spent.
    fn wanted(&self) -> usize {
        if self.is_cut_short {
            return 0;
        }
        (self.request.limit as usize).saturating_sub(self.taken.len())
    }

    /// Takes from a shard, in as many turns as it takes to read so far that something is free.
    async fn take_from(&mut self, shard: Shard) -> Result<(), StoreError> {
        (self.oldest, self.newest, self.unfinished) = (None, None, None);
        loop {
            self.take_in_turn(shard).await?;
            if self.unfinished.is_none() {
                return Ok(());
            }
            // With empty hands, so that whoever waits for the shard or for a connection comes first.
            self.on.rest();
        }
    }

    async fn take_in_turn(&mut self, shard: Shard) -> Result<(), StoreError> {
        let (store, queue, wanted) = (self.store, self.request.queue.clone(), self.wanted());
        // What is in hand already waits for nobody, unless most of the shard was read in vain.
        let may_wait = self.taken.is_empty() || self.unfinished.is_some();
        let patience = if may_wait { self.patience } else { Duration::ZERO };
        let asked = Instant::now();
        let turn = store.turn_soon(CLAIM, (queue.clone(), shard), &self.on, patience).await?;
        self.patience = self.patience.saturating_sub(asked.elapsed());
        let Some(_turn) = turn else {
            self.unfinished = None;
            store.known.full(&queue, shard);
            return Ok(());
        };
        let mut state = store.owned.state(&queue, shard).await;
        if !store.ensure_lease(&self.on, &mut state, &queue, shard).await? {
            self.unfinished = None;
            store.known.short(&queue, shard);
            return Ok(());
        }
        let low = match &self.unfinished {
            Some(due) => due.low,
            None => store.known.low(&queue, shard, store.db.clock.elapsed()),
        };
        let reach = if store.order.is_per_key() {
            wanted
        } else {
            store.ahead.reach(&queue, wanted, self.request.lease)
        };
        let mut count = Box::pin(self.take(&mut state, shard, low, reach)).await?;
        let is_whole = self.is_cut_short || self.unfinished.is_some() || state.status == LeaseStatus::Unknown;
        if count < wanted && low > 0 && !is_whole {
            count += Box::pin(self.take(&mut state, shard, 0, self.wanted())).await?;
        }
        if self.unfinished.is_some() {
            return Ok(());
        }
        match count == wanted || self.is_cut_short {
            true => store.known.full(&queue, shard),
            false => store.known.short(&queue, shard),
        }
        // Where keys are in order, whatever is not done must be seen again: what waits for its retry holds its key back.
        let low = if store.order.is_per_key() { self.oldest } else { self.newest };
        if let Some(low) = low {
            store.known.raise(&queue, shard, low, store.db.clock.elapsed());
        }
        Ok(())
    }

    /// Reads from `low` on, picks, notes the picked in the lease row, and only then hands them out; what was not asked for
    /// waits for the next claims.
    async fn take(
        &mut self,
        state: &mut OwnedMutexGuard<ShardState>,
        shard: Shard,
        low: i64,
        reach: usize,
    ) -> Result<usize, StoreError> {
        let begun = self.store.db.clock.elapsed();
        let Some(mut due) = self.read(state, shard, low, reach).await? else { return Ok(0) };
        self.oldest = due.oldest;
        if due.has_twins {
            self.with_twins.push(shard);
        }
        if due.is_whole {
            // What is not there any more was ended by somebody else.
            state.in_flight.retain(|id, entry| entry.due > due.now || due.seen.contains(id));
        }
        let picked = self.picked(state, &due, reach);
        let (picked, is_cut_short) = self.within_budget(&mut due, picked).await?;
        if picked.taken.is_empty() || !self.may_hand_out(state, &due, &picked) {
            self.is_cut_short |= is_cut_short;
            return Ok(0);
        }
        // Books may have what the row has not: the answer to a settlement that freed the shard was lost.
        let begins = due.was_free || state.in_flight.is_empty();
        state.label = self.request.owner.label().to_owned();
        let patience = if reach > self.wanted() { ReadAhead::PATIENCE } else { Duration::ZERO };
        let noted = self.note_in_flight(state, &due, &picked, patience);
        let lapsed: Vec<_> = picked.lapsed.iter().map(|n| (due.dues[*n], due.candidates[*n].id)).collect();
        let queue = self.request.queue.clone();
        match self.store.write_claim(&self.on, state, begins, &queue, shard, &lapsed).await {
            Ok(true) => {}
            Ok(false) => {
                state.lose();
                return Ok(0);
            }
            Err(error) => {
                state.status = LeaseStatus::Unknown;
                state.undo(noted);
                return Err(error);
            }
        }
        let wanted = self.wanted();
        let mut waiting = self.hand_out(shard, &due, &picked);
        let taken = waiting.drain(..wanted.min(waiting.len()));
        self.taken.extend(taken);
        self.is_cut_short |= is_cut_short;
        if picked.taken.len() == reach {
            self.store.ahead.full(&queue, due.weight());
        }
        let (lease, until, lost) = (self.request.lease, begun + patience, Arc::clone(&state.lost));
        if self.store.ahead.keep(&queue, Page { lease, until, lost, waiting }) {
            self.store.db.runtime.spawn(watch(Arc::downgrade(self.store)));
        }
        Ok(picked.taken.len().min(wanted))
    }

    /// What was picked, as claims; what cannot be read is set aside.
    fn hand_out(&mut self, shard: Shard, due: &Due, picked: &Picked) -> VecDeque<Claimed> {
        let mut handed_out = VecDeque::with_capacity(picked.taken.len());
        for n in &picked.taken {
            let lapsed = u32::from(picked.lapsed.contains(n));
            let receipt = self.receipt(shard, due.dues[*n], due.candidates[*n].id);
            match due.claimed(*n, receipt.clone(), lapsed) {
                Ok(claimed) => handed_out.push_back(claimed),
                Err(why) => self.unreadable.push(given_up(receipt, &why)),
            }
            self.newest = self.newest.max(Some(due.dues[*n]));
        }
        handed_out
    }

    /// The next due messages of a shard; none if there are none, if the shard is not ours to take, or if so many wait that
    /// others have their turn before it is read on.
    async fn read(
        &mut self,
        state: &mut OwnedMutexGuard<ShardState>,
        shard: Shard,
        low: i64,
        reach: usize,
    ) -> Result<Option<Due>, StoreError> {
        if let Some(mut due) = self.unfinished.take() {
            if due.fence != Some(state.fence) {
                return Ok(None);
            }
            due.now = self.store.db.now(&self.on, CLAIM).await?;
            return self.read_on(state, shard, due, reach).await;
        }
        let unexpired = state.in_flight.values().filter(|entry| entry.due >= low).count();
        let ordered = self.store.order.is_per_key();
        let limit = unexpired + if ordered { Due::REACH.max(2 * reach) } else { reach };
        let mut due = Box::<Due>::default();
        due.low = low;
        let first = self.args(shard).with("holder", self.store.holder.clone()).with("low", low);
        let first = first.with("limit", limit as i64).with("inline", inline(self.request.budget, limit));
        let found = self.page(&mut due, &self.store.db.sql.shard_lease.read, &first).await?;
        if let Some(fence) = due.fence
            && !state.agrees(fence, due.now)
        {
            if fence > state.fence {
                state.lose();
            }
            return Ok(None);
        }
        if due.is_empty() && low == 0 {
            // Nothing is due, or it is in other hands: the next look tells.
            state.status = LeaseStatus::Unknown;
        }
        due.is_whole = low == 0 && found < limit;
        if ordered && found == limit {
            return self.read_on(state, shard, due, reach).await;
        }
        Ok((!due.is_empty()).then_some(*due))
    }

    /// Looks for what comes behind, one row after another, as long as all that was read waits; after so many rows the others
    /// who want the shard have their turn.
    async fn read_on(
        &mut self,
        state: &mut OwnedMutexGuard<ShardState>,
        shard: Shard,
        mut due: Box<Due>,
        reach: usize,
    ) -> Result<Option<Due>, StoreError> {
        let mut pages = 0;
        while self.all_wait(state, &due, reach) {
            // No row that was read outlives the turn: what is settled before the next one would look free in it.
            due.pass();
            if pages == Due::PAGES {
                self.unfinished = Some(due);
                return Ok(None);
            }
            pages += 1;
            let (low, last) = due.last.unwrap_or((due.low, MessageId::new(Uuid::nil())));
            let on = self.args(shard).with("low", low).with("last", bytes(last.uuid()));
            let on = on.with("limit", Due::PAGE as i64);
            let on = on.with_list("keys", due.passed.most_common().into_iter().map(Value::from));
            if self.page(&mut due, &self.store.db.sql.shard_lease.read_on, &on).await? < Due::PAGE {
                break;
            }
        }
        Ok((!due.is_empty()).then_some(*due))
    }

    /// Adds what a statement finds, and says how many rows were new.
    async fn page(&self, due: &mut Due, sql: &Sql, args: &Args) -> Result<usize, StoreError> {
        let asked = Instant::now();
        let found = rows(&self.on, CLAIM, sql.bind(args)).await?;
        let Some(first) = found.first() else { return Ok(0) };
        let at = DueColumns::of(first)?;
        if due.fence.is_none() {
            self.store.db.clock.note(due.begin(first)?, asked);
        }
        let mut new = 0;
        for row in found {
            new += usize::from(due.add(row, at)?);
        }
        Ok(new)
    }

    fn picked(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, reach: usize) -> Picked {
        let (ordered, claim) = (self.store.order.is_per_key(), self.request.claim);
        let suspect_allowed = self.store.owned.suspect.is_free(state, due.now);
        pick(&due.candidates, &state.in_flight, ordered, due.now, claim, suspect_allowed, reach)
    }

    /// Whether what comes behind may pass all of these: none can be handed out, and none is a suspect that others wait for.
    fn all_wait(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, reach: usize) -> bool {
        let mut candidates = due.candidates.iter();
        let is_held_up =
            self.store.owned.suspect.is_free(state, due.now) && candidates.any(|one| one.suspect);
        !is_held_up && self.picked(state, due, reach).taken.is_empty()
    }

    /// The picked with their bodies, as far as the budget reaches; and whether it reaches for less than is wanted.
    async fn within_budget(&self, due: &mut Due, picked: Picked) -> Result<(Picked, bool), StoreError> {
        let in_hand = || self.taken.iter().map(|claimed| claimed.message.payload.bytes().len()).sum();
        let budget = (self.request.budget, (!self.taken.is_empty()).then(in_hand));
        let unknown = due.left_out(&picked, false);
        due.add_bodies(bodies(&self.store.db, &self.on, CLAIM, &unknown, Some(self.request.budget)).await?);
        let wanted = self.wanted().min(picked.taken.len());
        let within = due.within(picked, wanted, budget, ReadAhead::budget());
        let is_cut_short = within.taken.len() < wanted;
        let heavy = due.left_out(&within, true);
        due.add_bodies(bodies(&self.store.db, &self.on, CLAIM, &heavy, None).await?);
        Ok((within, is_cut_short))
    }

    /// False if it is a suspect, and another one has come first in another shard.
    fn may_hand_out(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, picked: &Picked) -> bool {
        let suspect_allowed = picked.taken.iter().find(|n| picked.is_suspect(&due.candidates, **n));
        suspect_allowed.is_none_or(|n| self.store.owned.suspect.take(state, due.candidates[*n].id, due.now))
    }

    /// Notes in our own books what is about to be handed out, at once or as long as `patience` from now.
    fn note_in_flight(
        &self,
        state: &mut ShardState,
        due: &Due,
        picked: &Picked,
        patience: Duration,
    ) -> Noted {
        let deadline = due.now + micros(self.request.lease.duration() + patience);
        let entry = |n: &usize| {
            let Candidate { id, key, attempts, .. } = due.candidates[*n].clone();
            let alone = picked.is_suspect(&due.candidates, *n);
            let attempts = attempts + u32::from(picked.lapsed.contains(n));
            (id, InFlight { claim: self.request.claim, due: due.dues[*n], attempts, deadline, key, alone })
        };
        let notes = picked.taken.iter().map(entry);
        notes.map(|(id, entry)| (id, state.in_flight.insert(id, entry))).collect()
    }

    fn receipt(&self, shard: Shard, due: i64, message: MessageId) -> Receipt {
        let (queue, claim) = (self.request.queue.clone(), self.request.claim);
        Receipt { message, queue, shard, claim, locator: Locator(due) }
    }

    fn args(&self, shard: Shard) -> Args {
        self.store.db.args().with("queue", self.request.queue.as_str()).with("shard", shard.number())
    }
}

impl Visitor for Claiming<'_> {
    fn wants_more(&self) -> bool {
        self.wanted() > 0
    }

    fn has_some(&self) -> bool {
        !self.taken.is_empty()
    }

    fn visited(&self) -> &[Shard] {
        &self.visited
    }

    /// Looks without locks which shards have due messages and are not in somebody else's hands.
    async fn look(&self) -> Result<(), StoreError> {
        let (store, queue) = (self.store, &self.request.queue);
        let args = store.db.args().with("queue", queue.as_str()).with("holder", store.holder.clone());
        let looked = store.db.clock.elapsed();
        let found = rows(&self.on, CLAIM, store.db.sql.shard_lease.peek.bind(&args)).await?;
        let mut due = Vec::with_capacity(found.len());
        for row in &found {
            let DueShard { shard, fence, elsewhere } = DueShard::read(row)?;
            let shard = Shard::from_number(shard);
            let (status, fence) = match (fence, elsewhere) {
                (None, _) => (LeaseStatus::Missing, 0),
                (Some(fence), false) => (LeaseStatus::Usable, fence),
                (Some(fence), true) => (LeaseStatus::Expired, fence),
            };
            store.owned.note_seen(queue, shard, Seen { status, fence, looked });
            due.push(shard);
        }
        store.known.heat(queue, &due, self.request.owner.instance().0, store.db.clock.elapsed());
        Ok(())
    }

    /// Takes from one shard. What goes wrong in it alone keeps nobody from the others.
    async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
        self.visited.push(shard);
        match self.take_from(shard).await {
            Err(error) if matches!(error.kind(), StoreErrorKind::Transient | StoreErrorKind::Corrupt) => {
                self.on.rest();
                self.store.known.short(&self.request.queue, shard);
                tracing::debug!(queue = %self.request.queue, shard = shard.number(), %error, "shard passed over");
                self.trouble.get_or_insert(error);
                Ok(())
            }
            done => done,
        }
    }
}

row! {
    /// A shard that has something due, and its lease if there is one: `elsewhere` is another holder's, which is over.
    struct DueShard of "shard_lease/peek" { shard: u16, fence: Option<i64>, elsewhere: bool }
}
