use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::{
    ClaimRequest, Disposition, Lease, MessageId, QueueName, Receipt, Renewed, Settled, Settlement, Shard,
};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;
use tokio::sync::OwnedMutexGuard;

use crate::{
    claim::known_shards::KnownShards,
    database::{
        args::Args,
        classify::{TookTooLong, is_locked_by_another, is_refused},
        clock::micros,
        held::Held,
        retries::Busy,
        sql::Sql,
        unit::run,
    },
    dead_letters::letters::bury,
    settle::{
        alike::written_alike,
        answers::as_far_as_known,
        children::{children, emit},
    },
    strategy::shard_lease::{
        lease_row::{Written, committed, span},
        leases::ShardLease,
        owned_shards::ShardKey,
        shard_state::{LeaseStatus, ShardState},
    },
};

const SETTLE: &str = "settle";
const RENEW: &str = "renew";

/// Ends claims under shard leases.
///
/// Everything together in one transaction that begins by proving the fence of each shard, what is simply done in one shard
/// also with what others have done there; if something turns out to be lost, or keeps its shard locked, each shard for
/// itself, and then each message.
pub(crate) async fn settle(
    store: &Arc<ShardLease>,
    settlements: &[Settlement],
) -> Result<Vec<Settled>, StoreError> {
    let parts = parts(settlements, |settlement| &settlement.receipt);
    if parts.len() < 2 {
        return store.settle_part(settlements, store.db.limits.acquire_timeout).await;
    }
    if store.settle_whole(settlements).await? {
        return Ok(vec![Settled::Accepted; settlements.len()]);
    }
    let soon = ShardLease::SOON.min(store.db.limits.acquire_timeout);
    let settle = move |store: Arc<ShardLease>, part: Vec<Settlement>| async move {
        store.settle_part(&part, soon).await
    };
    store.each_for_itself(SETTLE, settlements, parts, Settled::Unknown, Duration::MAX, settle).await
}

/// Extends the leases that receipts stand under, each shard for itself.
pub(crate) async fn renew(
    store: &Arc<ShardLease>,
    receipts: &[Receipt],
    lease: Lease,
) -> Result<Vec<Renewed>, StoreError> {
    let parts = parts(receipts, |receipt| receipt);
    // Whoever asks waits no longer than it takes to ask again in time.
    let patience = (lease.renew_after() / 2).min(store.db.limits.acquire_timeout);
    let renew = move |store: Arc<ShardLease>, part: Vec<Receipt>| async move {
        store.restarting_briefly(|| store.renew_part(&part, lease, patience)).await
    };
    // What one shard knows is of use only if it is known before the next renewal is due.
    let within = lease.renew_after() * 3 / 4;
    store.each_for_itself(RENEW, receipts, parts, Renewed::Unknown, within, renew).await
}

/// The shards that a transaction writes in, with what it ends in each.
struct Part<'a> {
    queue: QueueName,
    shard: Shard,
    state: OwnedMutexGuard<ShardState>,
    ends: Vec<&'a Settlement>,
    ended: HashSet<MessageId>,
}

impl ShardLease {
    /// Has a part of a call done in each shard, all at a time. Trouble in one of them leaves only its own part `unknown`, and
    /// so does one that is not done in time; its work goes on.
    async fn each_for_itself<E, A, W>(
        self: &Arc<Self>,
        operation: &'static str,
        entries: &[E],
        parts: Vec<Vec<usize>>,
        unknown: A,
        within: Duration,
        work: impl Fn(Arc<Self>, Vec<E>) -> W,
    ) -> Result<Vec<A>, StoreError>
    where
        E: Clone,
        A: Clone + PartialEq + Send + 'static,
        W: Future<Output = Result<Vec<A>, StoreError>> + Send + 'static,
    {
        let begin = |part: &Vec<usize>| {
            let part = part.iter().map(|n| entries[*n].clone()).collect();
            let (store, work) = (Arc::clone(self), work(Arc::clone(self), part));
            self.db.runtime.spawn(async move { store.db.detached(operation, work).await })
        };
        let begun: Vec<_> = parts.iter().map(begin).collect();
        let since = tokio::time::Instant::now();
        let (mut answers, mut trouble) = (vec![unknown.clone(); entries.len()], None);
        for (part, done) in parts.into_iter().zip(begun) {
            let left = within.saturating_sub(since.elapsed());
            let done = match tokio::time::timeout(left, done).await {
                Ok(Ok(done)) => done,
                Ok(Err(lost)) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
                Err(_) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, TookTooLong(within))),
            };
            match done {
                Ok(known) => part.into_iter().zip(known).for_each(|(n, answer)| answers[n] = answer),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        as_far_as_known(answers, &unknown, trouble)
    }

    /// Ends claims in several shards, or none; false also if one of the shards is not to be had at once.
    async fn settle_whole(self: &Arc<Self>, settlements: &[Settlement]) -> Result<bool, StoreError> {
        match self.settle_together(settlements, Self::SOON.min(self.db.limits.acquire_timeout)).await {
            Err(error) if is_refused(&error) => {
                tracing::debug!(count = settlements.len(), %error, "each shard is settled for itself");
                Ok(false)
            }
            settled => settled,
        }
    }

    /// Ends claims in one shard. What is known before something goes wrong stays known.
    async fn settle_part(
        self: &Arc<Self>,
        settlements: &[Settlement],
        patience: Duration,
    ) -> Result<Vec<Settled>, StoreError> {
        let accepted = || Ok(vec![Settled::Accepted; settlements.len()]);
        if self.finish(settlements).await? {
            return accepted();
        }
        match self.restarting_briefly(|| self.settle_together(settlements, patience)).await {
            Ok(true) => return accepted(),
            Err(error) if settlements.len() == 1 || !concerns_one(&error) => return Err(error),
            Ok(false) | Err(_) => {}
        }
        self.settle_one_by_one(settlements, patience).await
    }

    /// Ends each alone. One that is refused keeps nobody from the others, but two that are locked do: to find that out takes
    /// its time.
    async fn settle_one_by_one(
        self: &Arc<Self>,
        settlements: &[Settlement],
        patience: Duration,
    ) -> Result<Vec<Settled>, StoreError> {
        let (mut settled, mut trouble) = (vec![Settled::Unknown; settlements.len()], None);
        let mut locked = 0;
        for (settlement, answer) in settlements.iter().zip(&mut settled) {
            let one = std::slice::from_ref(settlement);
            match self.restarting_briefly(|| self.settle_together(one, patience)).await {
                Ok(true) => *answer = Settled::Accepted,
                Ok(false) => {
                    self.forget_claim(&settlement.receipt).await;
                    *answer = Settled::Superseded;
                }
                Err(error) => {
                    locked += u32::from(is_locked_by_another(&error));
                    let goes_on = concerns_one(&error) && locked < 2;
                    trouble = trouble.or(Some(error));
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        as_far_as_known(settled, &Settled::Unknown, trouble)
    }

    /// Repeats what met a deadlock or a lock, but not for long what has waited for a lock: its holder may stand still.
    async fn restarting_briefly<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut work: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let once = || {
            let work = work();
            async move {
                match work.await {
                    Err(locked) if is_locked_by_another(&locked) && begun.elapsed() >= Self::SOON => {
                        Ok(Err(locked))
                    }
                    done => done.map(Ok),
                }
            }
        };
        self.db.restarting(once).await?
    }

    /// Extends the lease of the one shard that all of the receipts are of.
    async fn renew_part(
        &self,
        receipts: &[Receipt],
        lease: Lease,
        patience: Duration,
    ) -> Result<Vec<Renewed>, StoreError> {
        let Some(Receipt { queue, shard, .. }) = receipts.first() else { return Ok(Vec::new()) };
        let on = Held::new(&self.db);
        let _turn = self.turn(RENEW, &[(queue.clone(), *shard)], &on, patience).await?;
        let mut state = self.owned.state(queue, *shard).await;
        let ours: Vec<bool> = receipts.iter().map(|receipt| is_current(&state, receipt)).collect();
        let held = receipts.iter().zip(&ours).filter(|(_, is_ours)| **is_ours).map(|(receipt, _)| receipt);
        let extended = self.extend(&on, &mut state, queue, *shard, held, lease).await?;
        let renewed = |(receipt, is_ours): (&Receipt, &bool)| match extended && *is_ours {
            true => Renewed::Extended(receipt.clone()),
            false => Renewed::Superseded,
        };
        Ok(receipts.iter().zip(&ours).map(renewed).collect())
    }

    /// Ends what is simply done in one shard together with what others end there at the same time: a shard has one lease
    /// row, and who wants to write it waits for whoever does. False if it is more than that, if anything of all is lost, or if
    /// the database has refused anything of it: each call then is settled for itself, and meets its own error alone.
    async fn finish(self: &Arc<Self>, settlements: &[Settlement]) -> Result<bool, StoreError> {
        let Some(Receipt { queue, shard, .. }) = finished_in_one_place(settlements) else { return Ok(false) };
        let finishing = self.owned.finishing(queue, *shard);
        let store = Arc::clone(self);
        let write = move |all: Vec<Settlement>| {
            let store = Arc::clone(&store);
            async move {
                match store.settle_together(&all, store.db.limits.acquire_timeout).await {
                    Err(error) if is_refused(&error) => Ok(false),
                    settled => settled,
                }
            }
        };
        self.db.coalesced(SETTLE, &finishing, settlements.to_vec(), write).await
    }

    /// Ends all of them, or none if one is not ours any more; waits no longer than `patience` for others of this process.
    async fn settle_together(
        self: &Arc<Self>,
        settlements: &[Settlement],
        patience: Duration,
    ) -> Result<bool, StoreError> {
        let places = places(settlements.iter().map(|settlement| &settlement.receipt));
        let on = Held::for_transactions(&self.db);
        let turn = self.turn(SETTLE, &places, &on, patience).await?;
        let settled = self.settle_in_turn(&on, places, settlements).await;
        // First the connection: the next in line then finds it at hand.
        on.rest();
        drop(turn);
        settled
    }

    async fn settle_in_turn(
        &self,
        on: &Held<'_>,
        places: Vec<ShardKey>,
        settlements: &[Settlement],
    ) -> Result<bool, StoreError> {
        let mut parts = self.parts(places, settlements).await;
        if !parts.iter_mut().all(Part::note_ended) {
            return Ok(false);
        }
        let written: Vec<(&Sql, Args)> = parts.iter().map(|part| self.proof(part)).collect();
        let done = match self.written_whole(on, || self.write_ends(on, &parts, &written)).await? {
            Written::Unknown(lost) => match written.first() {
                // All or nothing: one row tells for the whole transaction.
                Some((_, args)) => self.has_token(args, lost).await?,
                None => true,
            },
            Written::Yes => true,
            Written::No => false,
        };
        if done {
            parts.into_iter().for_each(|part| part.apply(&self.known));
        }
        Ok(done)
    }

    /// The books that settlements need, where it is our turn.
    async fn parts<'a>(&self, places: Vec<ShardKey>, settlements: &'a [Settlement]) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for (queue, shard) in places {
            let state = self.owned.state(&queue, shard).await;
            let here = |of: &&Settlement| (&of.receipt.queue, of.receipt.shard) == (&queue, shard);
            let ends = settlements.iter().filter(here).collect();
            parts.push(Part { queue, shard, state, ends, ended: HashSet::new() });
        }
        parts
    }

    /// The statement that proves the fence, and its arguments.
    ///
    /// What is in flight is written down again only where it could come back, because what is done is gone, and nobody can
    /// count an attempt for it, noted or not; and where it is not known what the row says.
    fn proof(&self, part: &Part<'_>) -> (&Sql, Args) {
        let Part { queue, shard, state, ends, ended } = part;
        let is_done = |end: &&Settlement| matches!(end.disposition, Disposition::Done { .. });
        let more = state.in_flight.len() > ended.len() && state.status != LeaseStatus::Unknown;
        match more && ends.iter().all(is_done) {
            true => {
                let in_flight = state.in_flight.len() - ended.len();
                (
                    &self.db.sql.shard_lease.prove,
                    self.written_under(queue, *shard, state.fence, state.fence, in_flight),
                )
            }
            false => {
                (&self.db.sql.shard_lease.write, self.lease_write(state, ended, queue, *shard, state.fence))
            }
        }
    }

    async fn write_ends(
        &self,
        on: &Held<'_>,
        parts: &[Part<'_>],
        written: &[(&Sql, Args)],
    ) -> Result<Written, StoreError> {
        self.db.begin_held(SETTLE, on).await?;
        self.failover.check(SETTLE, parts.iter().flat_map(|part| part.ends.iter().copied()))?;
        let mut ours = true;
        for (part, (proof, lease)) in parts.iter().zip(written) {
            ours = ours
                && self.write_lease(on, &part.queue, part.shard, proof, lease).await? == 1
                && self.write_part(on, part, lease).await?;
        }
        if !ours {
            self.db.roll_back_held(SETTLE, on).await?;
            return Ok(Written::No);
        }
        let settlements = parts.iter().flat_map(|part| part.ends.iter().copied());
        emit(&self.enqueueing, on, &children(settlements)).await?;
        committed(self.db.commit_held(SETTLE, on).await)
    }

    /// Ends messages of one shard; false if one of them is not there any more.
    async fn write_part(
        &self,
        on: &impl ConnectionTrait,
        part: &Part<'_>,
        lease: &Args,
    ) -> Result<bool, StoreError> {
        for (disposition, attempts, messages) in part.alike(self.order.blocks()) {
            let args = span(lease.clone(), messages.iter().copied());
            let sql = match disposition {
                Disposition::Returned => continue,
                Disposition::Done { .. } => &self.db.sql.shard_lease.done,
                Disposition::Dead { reason, .. } => {
                    let letters =
                        self.db.sql.shard_lease.dead.bind(&args.clone().with("reason", reason.as_str()));
                    let ids: Vec<_> = messages.iter().map(|(_, id)| id.uuid()).collect();
                    bury(&self.db, on, SETTLE, letters, &ids).await?;
                    &self.db.sql.shard_lease.done
                }
                Disposition::Retry { .. } if self.order.blocks() => &self.db.sql.shard_lease.park,
                Disposition::Retry { .. } => &self.db.sql.shard_lease.retry,
            };
            let args = match disposition {
                Disposition::Retry { after, reason } => {
                    let args = args.with("after", micros(*after)).with("reason", reason.as_str());
                    args.with("attempts", i64::from(attempts.unwrap_or_default()))
                }
                _ => args,
            };
            if run(on, SETTLE, sql.bind(&args)).await? != messages.len() as u64 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Strikes a lost claim from our books; the lease row follows with the next write.
    pub(super) async fn forget_claim(&self, receipt: &Receipt) {
        let mut state = self.owned.state(&receipt.queue, receipt.shard).await;
        if is_current(&state, receipt) {
            state.in_flight.remove(&receipt.message);
        }
    }

    async fn extend(
        &self,
        on: &Held<'_>,
        state: &mut ShardState,
        queue: &QueueName,
        shard: Shard,
        receipts: impl Iterator<Item = &Receipt>,
        lease: Lease,
    ) -> Result<bool, StoreError> {
        let ids: Vec<MessageId> = receipts.map(|receipt| receipt.message).collect();
        if ids.is_empty() {
            return Ok(false);
        }
        self.db.clock.forget();
        let deadline = self.db.now(on, RENEW).await? + micros(lease.duration());
        for id in &ids {
            state.in_flight.entry(*id).and_modify(|entry| entry.deadline = deadline);
        }
        let extended = self.write_claim(on, state, false, queue, shard, &[]).await;
        match extended {
            Ok(false) => state.lose(),
            // The row may still end earlier than our books say: nothing new is_in_flight before the next look.
            Err(_) => state.status = LeaseStatus::Unknown,
            Ok(true) => {}
        }
        extended
    }
}

/// What one statement ends: the disposition, the attempts that all had if that matters, and where they lie.
type Alike<'a> = (&'a Disposition, Option<u32>, Vec<(i64, MessageId)>);

impl<'a> Part<'a> {
    /// Notes what is about to end; false if one of the receipts is not the newest of its message, or comes twice.
    fn note_ended(&mut self) -> bool {
        let Self { state, ends, ended, .. } = self;
        ends.iter().all(|end| is_current(state, &end.receipt) && ended.insert(end.receipt.message))
    }

    /// It is written. What was given back lies below the watermark.
    fn apply(mut self, known: &KnownShards) {
        if self.ends.iter().any(|end| end.disposition == Disposition::Returned) {
            known.short(&self.queue, self.shard);
        }
        for message in &self.ended {
            self.state.in_flight.remove(message);
        }
    }

    /// Messages that one statement can end, by disposition; where what is put off stays where it is, also by the attempts
    /// that they had when they were claimed.
    fn alike(&self, parks: bool) -> Vec<Alike<'a>> {
        let mut groups: Vec<Alike<'a>> = Vec::new();
        for Settlement { receipt, disposition } in &self.ends {
            let message = (receipt.locator.0, receipt.message);
            let most = ClaimRequest::MOST as usize;
            let has_room = |messages: &[_]| messages.len() < most;
            let is_parked = parks && matches!(disposition, Disposition::Retry { .. });
            let entry = self.state.in_flight.get(&receipt.message).filter(|_| is_parked);
            let attempts = entry.map(|entry| entry.attempts);
            let is_alike = |known, counted| written_alike(known, disposition) && counted == attempts;
            match groups.iter_mut().find(|(known, counted, all)| has_room(all) && is_alike(known, *counted)) {
                Some((_, _, messages)) => messages.push(message),
                None => groups.push((disposition, attempts, vec![message])),
            }
        }
        groups
    }
}

/// Where all of them lie, if nothing else is to be written than that they are done.
fn finished_in_one_place(settlements: &[Settlement]) -> Option<&Receipt> {
    let first = &settlements.first()?.receipt;
    let all = settlements.iter().all(|Settlement { receipt, disposition }| {
        let is_done = matches!(disposition, Disposition::Done { emit } if emit.is_empty());
        is_done && (&receipt.queue, receipt.shard) == (&first.queue, first.shard)
    });
    all.then_some(first)
}

/// Whether others may fare better: it was refused, and not because of who else is at work in the shard.
fn concerns_one(error: &StoreError) -> bool {
    is_refused(error) && !error.get_ref().is::<Busy>()
}

fn is_current(state: &ShardState, receipt: &Receipt) -> bool {
    let entry = state.in_flight.get(&receipt.message);
    entry.is_some_and(|entry| entry.claim == receipt.claim && entry.due == receipt.locator.0)
}

/// Which entries lie in each shard.
fn parts<E>(entries: &[E], receipt: impl Fn(&E) -> &Receipt) -> Vec<Vec<usize>> {
    let mut parts: BTreeMap<(&QueueName, Shard), Vec<usize>> = BTreeMap::new();
    for (n, entry) in entries.iter().enumerate() {
        let Receipt { queue, shard, .. } = receipt(entry);
        parts.entry((queue, *shard)).or_default().push(n);
    }
    parts.into_values().collect()
}

/// The queues and shards of receipts, each once, in one order for everybody.
fn places<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Vec<ShardKey> {
    let mut places: Vec<_> = receipts.map(|receipt| (receipt.queue.clone(), receipt.shard)).collect();
    places.sort();
    places.dedup();
    places
}
