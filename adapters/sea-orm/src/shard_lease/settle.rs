use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use claimstream_domain::{
    ClaimRequest, Disposition, Lease, MessageId, QueueName, Receipt, Renewed, Settled, Settlement, Shard,
};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;
use tokio::sync::OwnedMutexGuard;

use super::{
    hold::{Footing, Hold},
    lease_row::{Written, committed, span},
    line::Place,
};
use crate::{
    answers::as_far_as_known,
    args::Args,
    clock::micros,
    held::Held,
    lanes::Lanes,
    settle::{children, written_alike},
    sql::Sql,
    unit::{Store, run},
};

const SETTLE: &str = "settle";
const RENEW: &str = "renew";

/// Ends claims under shard leases.
///
/// Everything together in one transaction that begins by proving the fence of each shard, what is simply done in one shard
/// also with what others have done there; if something turns out to be lost, or keeps its shard locked, each shard for
/// itself, and then each message.
pub(crate) async fn settle(
    store: &Arc<Store>,
    settlements: &[Settlement],
) -> Result<Vec<Settled>, StoreError> {
    let parts = parts(settlements, |settlement| &settlement.receipt);
    if parts.len() < 2 {
        return store.settle_part(settlements, store.acquire_timeout).await;
    }
    if store.settle_whole(settlements).await? {
        return Ok(vec![Settled::Accepted; settlements.len()]);
    }
    let soon = Store::SOON.min(store.acquire_timeout);
    let settle =
        move |store: Arc<Store>, part: Vec<Settlement>| async move { store.settle_part(&part, soon).await };
    store.each_for_itself(SETTLE, settlements, parts, Settled::Unknown, settle).await
}

/// Extends the leases that receipts stand under, each shard for itself.
pub(crate) async fn renew(
    store: &Arc<Store>,
    receipts: &[Receipt],
    lease: Lease,
) -> Result<Vec<Renewed>, StoreError> {
    let parts = parts(receipts, |receipt| receipt);
    // Whoever asks waits no longer than it takes to ask again in time.
    let patience = (lease.renew_after() / 2).min(store.acquire_timeout);
    let renew = move |store: Arc<Store>, part: Vec<Receipt>| async move {
        store.restarting(|| store.renew_part(&part, lease, patience)).await
    };
    store.each_for_itself(RENEW, receipts, parts, Renewed::Unknown, renew).await
}

/// The shards that a transaction writes in, with what it ends in each.
struct Part<'a> {
    queue: QueueName,
    shard: Shard,
    hold: OwnedMutexGuard<Hold>,
    ends: Vec<&'a Settlement>,
    ended: HashSet<MessageId>,
}

impl Store {
    /// Has a part of a call done in each shard, all at a time. Trouble in one of them leaves only its own part `unknown`.
    async fn each_for_itself<E, A, W>(
        self: &Arc<Self>,
        operation: &'static str,
        entries: &[E],
        parts: Vec<Vec<usize>>,
        unknown: A,
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
            self.runtime.spawn(async move { store.detached(operation, work).await })
        };
        let begun: Vec<_> = parts.iter().map(begin).collect();
        let (mut answers, mut trouble) = (vec![unknown.clone(); entries.len()], None);
        for (part, done) in parts.into_iter().zip(begun) {
            let lost = |lost| Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost));
            match done.await.unwrap_or_else(lost) {
                Ok(known) => part.into_iter().zip(known).for_each(|(n, answer)| answers[n] = answer),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        as_far_as_known(answers, &unknown, trouble)
    }

    /// Ends claims in several shards, or none; false also if one of the shards is not to be had at once.
    async fn settle_whole(self: &Arc<Self>, settlements: &[Settlement]) -> Result<bool, StoreError> {
        match self.settle_held(settlements, Self::SOON.min(self.acquire_timeout)).await {
            Err(error) if error.kind() == StoreErrorKind::Transient => {
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
        if self.finish(settlements).await?
            || self.restarting(|| self.settle_held(settlements, patience)).await?
        {
            return Ok(vec![Settled::Accepted; settlements.len()]);
        }
        let (mut settled, mut trouble) = (vec![Settled::Unknown; settlements.len()], None);
        for (settlement, answer) in settlements.iter().zip(&mut settled) {
            let one = std::slice::from_ref(settlement);
            *answer = match self.restarting(|| self.settle_held(one, patience)).await {
                Ok(true) => Settled::Accepted,
                Ok(false) => {
                    self.ground(&settlement.receipt).await;
                    Settled::Superseded
                }
                Err(error) => {
                    trouble = Some(error);
                    break;
                }
            };
        }
        as_far_as_known(settled, &Settled::Unknown, trouble)
    }

    /// Extends the lease of the one shard that all of the receipts are of.
    async fn renew_part(
        &self,
        receipts: &[Receipt],
        lease: Lease,
        patience: Duration,
    ) -> Result<Vec<Renewed>, StoreError> {
        let Some(Receipt { queue, shard, .. }) = receipts.first() else { return Ok(Vec::new()) };
        let on = Held::new(self);
        let _turn = self.turn(RENEW, &[(queue.clone(), *shard)], &on, patience).await?;
        let mut hold = self.holds.books(queue, *shard).await;
        let ours: Vec<bool> = receipts.iter().map(|receipt| is_held(&hold, receipt)).collect();
        let held = receipts.iter().zip(&ours).filter(|(_, is_ours)| **is_ours).map(|(receipt, _)| receipt);
        let extended = self.extend(&on, &mut hold, queue, *shard, held, lease).await?;
        let renewed = |(receipt, is_ours): (&Receipt, &bool)| match extended && *is_ours {
            true => Renewed::Extended(receipt.clone()),
            false => Renewed::Superseded,
        };
        Ok(receipts.iter().zip(&ours).map(renewed).collect())
    }

    /// Ends what is simply done in one shard together with what others end there at the same time: a shard has one lease
    /// row, and who wants to write it waits for whoever does. False if it is more than that, if anything of all is lost, or if
    /// nothing was written because a row of somebody's is locked: each call then is settled for itself.
    async fn finish(self: &Arc<Self>, settlements: &[Settlement]) -> Result<bool, StoreError> {
        let Some(Receipt { queue, shard, .. }) = finished_in_one_place(settlements) else { return Ok(false) };
        let finishing = self.holds.finishing(queue, *shard);
        let write = |store: Arc<Self>, all: Vec<Settlement>| async move {
            store.settle_held(&all, store.acquire_timeout).await
        };
        match self.gathered(SETTLE, &finishing, settlements.to_vec(), write).await {
            Err(error) if error.kind() == StoreErrorKind::Transient => Ok(false),
            answer => answer,
        }
    }

    /// Ends all of them, or none if one is not ours any more; waits no longer than `patience` for others of this process.
    async fn settle_held(
        self: &Arc<Self>,
        settlements: &[Settlement],
        patience: Duration,
    ) -> Result<bool, StoreError> {
        let places = places(settlements.iter().map(|settlement| &settlement.receipt));
        let on = Held::for_transactions(self);
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
        places: Vec<Place>,
        settlements: &[Settlement],
    ) -> Result<bool, StoreError> {
        let mut parts = self.parts(places, settlements).await;
        if !parts.iter_mut().all(Part::take_off) {
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
            parts.into_iter().for_each(|part| part.land(&self.lanes));
        }
        Ok(done)
    }

    /// The books that settlements need, where it is our turn.
    async fn parts<'a>(&self, places: Vec<Place>, settlements: &'a [Settlement]) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for (queue, shard) in places {
            let hold = self.holds.books(&queue, shard).await;
            let here = |of: &&Settlement| (&of.receipt.queue, of.receipt.shard) == (&queue, shard);
            let ends = settlements.iter().filter(here).collect();
            parts.push(Part { queue, shard, hold, ends, ended: HashSet::new() });
        }
        parts
    }

    /// The statement that proves the fence, and its arguments.
    ///
    /// What is in flight is written down again only where it could come back, because what is done is gone, and nobody can
    /// count an attempt for it, noted or not; and where it is not known what the row says.
    fn proof(&self, part: &Part<'_>) -> (&Sql, Args) {
        let Part { queue, shard, hold, ends, ended } = part;
        let is_done = |end: &&Settlement| matches!(end.disposition, Disposition::Done { .. });
        let more = hold.flights.len() > ended.len() && hold.footing != Footing::Lost;
        match more && ends.iter().all(is_done) {
            true => {
                let in_flight = hold.flights.len() - ended.len();
                (&self.sql.lease_prove, self.written_under(queue, *shard, hold.fence, hold.fence, in_flight))
            }
            false => (&self.sql.lease_write, self.lease_write(hold, ended, queue, *shard, hold.fence)),
        }
    }

    async fn write_ends(
        &self,
        on: &Held<'_>,
        parts: &[Part<'_>],
        written: &[(&Sql, Args)],
    ) -> Result<Written, StoreError> {
        self.begin_held(SETTLE, on).await?;
        self.failover.check(SETTLE, parts.iter().flat_map(|part| part.ends.iter().copied()))?;
        let mut ours = true;
        for (part, (proof, lease)) in parts.iter().zip(written) {
            self.lock_lease(on, lease).await?;
            ours = ours
                && run(on, SETTLE, proof.bind(lease)).await? == 1
                && self.write_part(on, part, lease).await?;
        }
        if !ours {
            self.roll_back_held(SETTLE, on).await?;
            return Ok(Written::No);
        }
        let settlements = parts.iter().flat_map(|part| part.ends.iter().copied());
        self.emit(on, &children(settlements)).await?;
        committed(self.commit_held(SETTLE, on).await)
    }

    /// Ends messages of one shard; false if one of them is not there any more.
    async fn write_part(
        &self,
        on: &impl ConnectionTrait,
        part: &Part<'_>,
        lease: &Args,
    ) -> Result<bool, StoreError> {
        for (disposition, messages) in part.alike() {
            let args = span(lease.clone(), messages.iter().copied());
            let sql = match disposition {
                Disposition::Returned => continue,
                Disposition::Done { .. } => &self.sql.lease_done,
                Disposition::Dead { reason, .. } => {
                    let letters = self.sql.lease_dead.bind(&args.clone().with("reason", reason.as_str()));
                    let ids: Vec<_> = messages.iter().map(|(_, id)| id.uuid()).collect();
                    self.bury(on, SETTLE, letters, &ids).await?;
                    &self.sql.lease_done
                }
                Disposition::Retry { .. } if self.order.blocks() => &self.sql.lease_park,
                Disposition::Retry { .. } => &self.sql.lease_retry,
            };
            let args = match disposition {
                Disposition::Retry { after, reason } => {
                    args.with("after", micros(*after)).with("reason", reason.as_str())
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
    pub(super) async fn ground(&self, receipt: &Receipt) {
        let mut hold = self.holds.books(&receipt.queue, receipt.shard).await;
        if is_held(&hold, receipt) {
            hold.flights.remove(&receipt.message);
        }
    }

    async fn extend(
        &self,
        on: &Held<'_>,
        hold: &mut Hold,
        queue: &QueueName,
        shard: Shard,
        receipts: impl Iterator<Item = &Receipt>,
        lease: Lease,
    ) -> Result<bool, StoreError> {
        let ids: Vec<MessageId> = receipts.map(|receipt| receipt.message).collect();
        if ids.is_empty() {
            return Ok(false);
        }
        self.clock.forget();
        let deadline = self.now(on, RENEW).await? + micros(lease.duration());
        for id in &ids {
            hold.flights.entry(*id).and_modify(|flight| flight.deadline = deadline);
        }
        let extended = self.write_claim(on, hold, false, queue, shard, &[]).await;
        match extended {
            Ok(false) => hold.lose(),
            // The row may still end earlier than our books say: nothing new flies before the next look.
            Err(_) => hold.footing = Footing::Lost,
            Ok(true) => {}
        }
        extended
    }
}

impl<'a> Part<'a> {
    /// Notes what is about to end; false if one of the receipts is not the newest of its message, or comes twice.
    fn take_off(&mut self) -> bool {
        let Self { hold, ends, ended, .. } = self;
        ends.iter().all(|end| is_held(hold, &end.receipt) && ended.insert(end.receipt.message))
    }

    /// It is written. What was given back lies below the watermark.
    fn land(mut self, lanes: &Lanes) {
        if self.ends.iter().any(|end| end.disposition == Disposition::Returned) {
            lanes.short(&self.queue, self.shard);
        }
        for message in &self.ended {
            self.hold.flights.remove(message);
        }
    }

    /// Messages that one statement can end, by disposition.
    fn alike(&self) -> Vec<(&'a Disposition, Vec<(i64, MessageId)>)> {
        let mut groups: Vec<(&Disposition, Vec<(i64, MessageId)>)> = Vec::new();
        for Settlement { receipt, disposition } in &self.ends {
            let message = (receipt.locator.0, receipt.message);
            let most = ClaimRequest::MOST as usize;
            let has_room = |messages: &[_]| messages.len() < most;
            match groups.iter_mut().find(|(known, all)| has_room(all) && written_alike(known, disposition)) {
                Some((_, messages)) => messages.push(message),
                None => groups.push((disposition, vec![message])),
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

fn is_held(hold: &Hold, receipt: &Receipt) -> bool {
    let flight = hold.flights.get(&receipt.message);
    flight.is_some_and(|flight| flight.claim == receipt.claim && flight.due == receipt.locator.0)
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
fn places<'a>(receipts: impl Iterator<Item = &'a Receipt>) -> Vec<Place> {
    let mut places: Vec<_> = receipts.map(|receipt| (receipt.queue.clone(), receipt.shard)).collect();
    places.sort();
    places.dedup();
    places
}
