use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, Locator, Message, MessageId, Owner, QueueName, Reason, Receipt,
    Settlement, Shard,
};
use claimstream_ports::{LockingStrategy, StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, DatabaseConnection, Value};

use crate::{
    database::typed_row::columns,
    database::{
        args::{Args, bytes},
        classify::may_have_committed,
        clock::micros,
        dialect::Dialect,
        unit::{Row, rows, run},
    },
    messages::body::{Body, BodyColumns, BodyRow, inline},
    outbox::handle::SeaOrmOutbox,
    store::Store,
    strategy::{choice::Strategy, shard_lease},
};

const CLAIM: &str = "claim";

#[async_trait]
impl LockingStrategy for SeaOrmOutbox {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let (store, request) = (self.store.clone(), request.clone());
        let work = async move {
            store.failover.claiming(request.claim);
            match store.strategy {
                Strategy::ShardLease => shard_lease::claim(&store, request).await,
                _ => claim(&store, request).await,
            }
        };
        self.store.detached(CLAIM, work).await
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        shard_lease::rest(&self.store, queue).await
    }
}

/// Claims on one connection where one is enough.
async fn claim(store: &Arc<Store>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
    #[cfg(feature = "mysql")]
    if store.dialect == Dialect::MySql {
        let on = crate::database::held::Held::new(store);
        return Claiming::new(store, &on, request).run().await;
    }
    Claiming::new(store, store.relay(), request).run().await
}

/// A row of `claim/read.sql`, as far as the choice needs to know it.
struct Taken {
    due: i64,
    id: MessageId,
    bytes: usize,
    /// Its payload was left out.
    is_heavy: bool,
    row: Row,
}

impl Taken {
    fn of(row: Row, at: &TakenColumns) -> Result<Self, StoreError> {
        let (due, id) = (row.int(at.claimed_from)?, MessageId::new(row.uuid(at.id)?));
        let bytes = row.maybe_int(at.bytes)?;
        let is_heavy = bytes.is_some() && row.maybe_lent(at.payload)?.is_none();
        Ok(Self { due, id, bytes: bytes.unwrap_or_default() as usize, is_heavy, row })
    }
}

columns! {
    struct TakenColumns of "claim/read" { id, shard, attempts, claimed_from, last_error, payload, bytes, now }
}

columns! {
    struct LockedColumns of "claim/lock" { id, due_at, now }
}

/// Where the statements of a claim run that commit themselves.
trait Singly: ConnectionTrait {
    /// What comes next takes a connection of its own, and a pool may have only one.
    fn let_go(&self) {}
}

impl Singly for DatabaseConnection {}

#[cfg(feature = "mysql")]
impl Singly for crate::database::held::Held<'_> {
    fn let_go(&self) {
        self.rest();
    }
}

/// One claim call on its way through the shards.
struct Claiming<'a, C> {
    store: &'a Arc<Store>,
    on: &'a C,
    request: ClaimRequest,
    visited: Vec<Shard>,
    taken: u32,
    lease_end: i64,
    /// An answer was lost: a statement may still mark more than is known.
    in_doubt: AtomicBool,
}

impl<'a, C: Singly> Claiming<'a, C> {
    fn new(store: &'a Arc<Store>, on: &'a C, request: ClaimRequest) -> Self {
        Self {
            store,
            on,
            request,
            visited: Vec::new(),
            taken: 0,
            lease_end: 0,
            in_doubt: AtomicBool::default(),
        }
    }

    /// Takes what is due, and answers all that it has taken even if it cannot take more.
    async fn run(mut self) -> Result<Vec<Claimed>, StoreError> {
        self.request.limit = self.request.limit.min(ClaimRequest::MOST);
        let light = self.store.weights.fitting(&self.request.queue, self.request.budget);
        self.request.limit = self.request.limit.min(light);
        self.introduce().await?;
        match self.take_hot().await {
            Err(error) if self.taken == 0 => return Err(error),
            Err(error) => {
                tracing::warn!(taken = self.taken, %error, "a claim ended early and returns the messages that it has")
            }
            Ok(()) => {}
        }
        match self.taken {
            0 => Ok(Vec::new()),
            _ => self.read().await,
        }
    }

    /// Takes from hot shards until the limit is reached or none is left; looks for hot ones if there is none, and from
    /// time to time in any case.
    async fn take_hot(&mut self) -> Result<(), StoreError> {
        let (lanes, queue) = (&self.store.lanes, self.request.queue.clone());
        let mut looked = lanes.wants_look(&queue, self.store.clock.elapsed());
        if looked {
            self.look().await?;
        }
        while self.taken < self.request.limit {
            match lanes.next_hot(&queue, &self.visited) {
                // Boxed: nested deeper, the optimised build meets the compiler's limit on layouts.
                Some(shard) => Box::pin(self.visit(shard)).await?,
                None if looked || self.taken > 0 => break,
                None => {
                    self.look().await?;
                    looked = true;
                }
            }
        }
        Ok(())
    }

    /// Tells people who makes these claim ids, once an hour.
    async fn introduce(&self) -> Result<(), StoreError> {
        let owner = self.request.owner.clone();
        if !self.store.introductions.are_due(owner.instance(), self.store.clock.elapsed()) {
            return Ok(());
        }
        let args = self.store.args().with("instance", instance_bytes(&owner)).with("label", owner.label());
        let noted = run(self.on, CLAIM, self.store.sql.claim.instance.bind(&args)).await;
        if noted.is_err() {
            self.store.introductions.failed(owner.instance());
        }
        noted.map(|_| ())
    }

    /// Looks without locks which shards have due messages.
    async fn look(&self) -> Result<(), StoreError> {
        let args = self.store.args().with("queue", self.request.queue.as_str());
        let found = rows(self.on, CLAIM, self.store.sql.claim.peek.bind(&args)).await?;
        let due = found
            .iter()
            .map(|row| row.number("shard").map(Shard::from_number))
            .collect::<Result<Vec<_>, _>>()?;
        let (lanes, now) = (&self.store.lanes, self.store.clock.elapsed());
        lanes.heat(&self.request.queue, &due, self.request.owner.instance().0, now);
        Ok(())
    }

    /// Takes from one shard; a claim that a watermark kept short is completed from the beginning of the shard.
    async fn visit(&mut self, shard: Shard) -> Result<(), StoreError> {
        self.visited.push(shard);
        let (lanes, queue) = (&self.store.lanes, self.request.queue.clone());
        let wanted = self.request.limit - self.taken;
        let low = lanes.low(&queue, shard, self.store.clock.elapsed());
        let mut count = self.take(shard, wanted, low).await?;
        if count < wanted && low > 0 {
            count += self.take(shard, wanted - count, 0).await?;
        }
        match count == wanted {
            true => lanes.full(&queue, shard),
            false => lanes.short(&queue, shard),
        }
        Ok(())
    }

    async fn take(&mut self, shard: Shard, limit: u32, low: i64) -> Result<u32, StoreError> {
        let args = self.shard_args(shard).with("low", low).with("limit", i64::from(limit));
        let (store, known) = (self.store, self.lease_end);
        let mut marked = self.mark(shard, &args, known).await;
        if let Err(twice) = &marked
            && twice.kind() == StoreErrorKind::Conflict
        {
            self.on.let_go();
            store.unite(&self.request.queue, shard).await?;
            marked = self.mark(shard, &args, known).await;
        }
        let (count, lease_end) = marked?;
        if count > 0 {
            self.lease_end = lease_end;
        }
        self.taken += count;
        Ok(count)
    }

    async fn mark(&self, shard: Shard, args: &Args, known: i64) -> Result<(u32, i64), StoreError> {
        let store = self.store;
        match store.strategy {
            Strategy::PreemptiveUpdate | Strategy::ShardLease => {
                store.restarting(|| self.mark_at_once(shard, args.clone(), known)).await
            }
            Strategy::SkipLocked => store.restarting(|| self.lock_and_mark(shard, args.clone(), known)).await,
        }
    }

    /// One statement, its own transaction; also tells the end of the lease, which is counted from this try unless other
    /// shards have given something. If its answer is lost, the claim id is read back.
    async fn mark_at_once(&self, shard: Shard, args: Args, known: i64) -> Result<(u32, i64), StoreError> {
        let store = self.store;
        let lease_end = match known {
            0 => store.lease_end(&self.request, store.now(self.on, CLAIM).await?),
            known => known,
        };
        let args = args.with("lease_end", lease_end);
        match run(self.on, CLAIM, store.sql.claim.take.bind(&args)).await {
            Ok(count) => Ok((count as u32, lease_end)),
            Err(lost) if may_have_committed(&lost) => {
                Ok((self.read_back(shard, lease_end, lost).await?, lease_end))
            }
            Err(error) => Err(error),
        }
    }

    /// Locks due rows, steps over locked ones, marks what it has, commits; also tells the end of the lease.
    async fn lock_and_mark(&self, shard: Shard, args: Args, known: i64) -> Result<(u32, i64), StoreError> {
        let store = self.store;
        self.on.let_go();
        let transaction = store.begin(CLAIM).await?;
        let locked = rows(&transaction, CLAIM, store.sql.claim.lock.bind(&args)).await?;
        let (Some(first), Some(last)) = (locked.first(), locked.last()) else {
            store.roll_back(CLAIM, transaction).await?;
            return Ok((0, known));
        };
        let at = LockedColumns::of(first)?;
        let (first, last, now) = (first.int(at.due_at)?, last.int(at.due_at)?, first.int(at.now)?);
        let lease_end = if known == 0 { store.lease_end(&self.request, now) } else { known };
        let ids = locked.iter().map(|row| row.uuid(at.id).map(bytes)).collect::<Result<Vec<Value>, _>>()?;
        let args =
            args.with("lease_end", lease_end).with("first", first).with("last", last).with_list("ids", ids);
        let count = run(&transaction, CLAIM, store.sql.claim.mark.bind(&args)).await? as u32;
        match store.commit(CLAIM, transaction).await {
            Ok(()) => Ok((count, lease_end)),
            Err(lost) if may_have_committed(&lost) => {
                Ok((self.read_back(shard, lease_end, lost).await?, lease_end))
            }
            Err(error) => Err(error),
        }
    }

    /// How many rows of a shard carry this claim, after an answer was lost.
    async fn read_back(&self, shard: Shard, lease_end: i64, lost: StoreError) -> Result<u32, StoreError> {
        let (store, args) = (self.store, self.read_args(&[shard], lease_end));
        self.in_doubt.store(true, Ordering::Relaxed);
        store.note_trouble(&lost);
        self.on.let_go();
        // Only how many there are is asked for.
        let args = args.with("inline", 0_i64);
        match store.asking_back(|| rows(store.relay(), CLAIM, store.sql.claim.read.bind(&args))).await {
            Ok(found) if !found.is_empty() => {
                tracing::warn!(shard = shard.number(), count = found.len(), error = %lost, "the answer to a claim was lost; its messages were read back");
                Ok(found.len() as u32)
            }
            _ => Err(lost),
        }
    }

    /// Reads what was taken, with bodies, oldest first, as far as the budget reaches; the others are given back.
    async fn read(&self) -> Result<Vec<Claimed>, StoreError> {
        let (store, args) = (self.store, self.read_args(&self.visited, self.lease_end));
        let args = args.with("inline", inline(self.request.budget, self.taken as usize));
        let asked = Instant::now();
        let found = match rows(self.on, CLAIM, store.sql.claim.read.bind(&args)).await {
            Ok(found) => found,
            // The messages are ours whatever became of the connection.
            Err(lost) => {
                store.note_trouble(&lost);
                self.on.let_go();
                store.asking_back(|| rows(store.relay(), CLAIM, store.sql.claim.read.bind(&args))).await?
            }
        };
        let Some(first) = found.first() else {
            store.weights.note(&self.request.queue, 0, 0);
            return Ok(Vec::new());
        };
        let (at, body_at) = (TakenColumns::of(first)?, BodyColumns::of(first)?);
        if store.dialect == Dialect::MySql {
            store.clock.note(first.int(at.now)?, asked);
        }
        let taken = found.into_iter().map(|row| Taken::of(row, &at));
        let mut found = taken.collect::<Result<Vec<_>, _>>()?;
        found.sort_by_key(|taken| (taken.due, taken.id));
        let bytes = found.iter().map(|taken| taken.bytes);
        store.weights.note(&self.request.queue, bytes.clone().sum(), found.len());
        let fitting = self.request.budget.fitting(None, bytes);
        let left_out = found[..fitting].iter().filter(|taken| taken.is_heavy).map(|taken| taken.id);
        let bodies = self.bodies(left_out.collect()).await?;
        let in_full = !self.in_doubt.load(Ordering::Relaxed) && found.len() == self.taken as usize;
        let (mut claimed, mut unreadable) = (Vec::with_capacity(found.len()), Vec::new());
        let mut too_many = Vec::new();
        for (n, taken) in found.iter().enumerate() {
            let receipt = self.receipt(&taken.row, &at)?;
            if in_full {
                store.takings.note(receipt.claim, receipt.shard, receipt.message);
            }
            if n >= fitting {
                too_many.push(Settlement { receipt, disposition: Disposition::Returned });
                continue;
            }
            let (body, body_at) =
                bodies.get(&taken.id).map_or((&taken.row, &body_at), |body| (&body.row, &body.at));
            match self.claimed(&taken.row, &at, Body::read(body, body_at), receipt.clone()) {
                Ok(readable) => claimed.push((taken.due, readable)),
                Err(why) => unreadable.push(given_up(receipt, &why)),
            }
        }
        self.bury(unreadable).await;
        self.give_back(too_many).await;
        for shard in &self.visited {
            let of_shard = claimed.iter().filter(|(_, claimed)| claimed.message.shard == *shard);
            if let Some(oldest) = of_shard.map(|(due, _)| *due).min() {
                store.lanes.raise(&self.request.queue, *shard, oldest, store.clock.elapsed());
            }
        }
        Ok(claimed.into_iter().map(|(_, claimed)| claimed).collect())
    }

    async fn bodies(&self, left_out: Vec<MessageId>) -> Result<HashMap<MessageId, BodyRow>, StoreError> {
        let store = self.store;
        match store.bodies(self.on, CLAIM, &left_out, None).await {
            Err(lost) => {
                store.note_trouble(&lost);
                self.on.let_go();
                store.asking_back(|| store.bodies(store.relay(), CLAIM, &left_out, None)).await
            }
            bodies => bodies,
        }
    }

    fn claimed(
        &self,
        row: &Row,
        at: &TakenColumns,
        body: Result<Body, StoreError>,
        receipt: Receipt,
    ) -> Result<Claimed, StoreError> {
        let Body { ordering_key, headers, payload } = body?;
        let (id, queue, shard) = (receipt.message, self.request.queue.clone(), receipt.shard);
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        let last_error = row.maybe_text(at.last_error)?.map(Reason::new);
        Ok(Claimed { message, receipt, attempt: row.number(at.attempts)?, last_error })
    }

    fn receipt(&self, row: &Row, at: &TakenColumns) -> Result<Receipt, StoreError> {
        Ok(Receipt {
            message: MessageId::new(row.uuid(at.id)?),
            queue: self.request.queue.clone(),
            shard: Shard::from_number(row.number(at.shard)?),
            claim: self.request.claim,
            locator: Locator(self.lease_end),
        })
    }

    /// Gives up what cannot be read, so that it stands in nobody's way; the dead letters keep what there is of it.
    async fn bury(&self, unreadable: Vec<Settlement>) {
        if unreadable.is_empty() {
            return;
        }
        self.on.let_go();
        let count = unreadable.len();
        match self.store.settle(&unreadable).await {
            Ok(_) => {
                tracing::error!(count, "unreadable messages were buried");
                told(&unreadable);
            }
            // They come back when their lease ends.
            Err(error) => {
                tracing::error!(count, %error, "unreadable messages could not be buried; they come again")
            }
        }
    }

    /// Gives back what the budget does not reach for; it is due at once.
    async fn give_back(&self, too_many: Vec<Settlement>) {
        if too_many.is_empty() {
            return;
        }
        self.on.let_go();
        if let Err(error) = self.store.settle(&too_many).await {
            // They come back when their lease ends.
            tracing::warn!(count = too_many.len(), %error, "messages beyond the byte budget were not given back; they come again when their leases end");
        }
        too_many.iter().for_each(|one| self.store.lanes.full(&self.request.queue, one.receipt.shard));
    }

    fn read_args(&self, shards: &[Shard], lease_end: i64) -> Args {
        let shards = shards.iter().map(|shard| Value::from(shard.number()));
        self.shard_args(Shard::from_number(0)).with("lease_end", lease_end).with_list("shards", shards)
    }

    fn shard_args(&self, shard: Shard) -> Args {
        self.store
            .args()
            .with("queue", self.request.queue.as_str())
            .with("shard", shard.number())
            .with("claim", bytes(self.request.claim.uuid()))
    }
}

impl Store {
    /// The end of a claim's lease. A call that is repeated with the same claim id gets another end, so that it does not
    /// read the first call's messages again.
    fn lease_end(&self, request: &ClaimRequest, now: i64) -> i64 {
        let lease_end = now + micros(request.lease.duration());
        let mut last = self.last_lease.lock().unwrap_or_else(PoisonError::into_inner);
        let lease_end = match *last {
            Some((claim, end)) if claim == request.claim => lease_end.max(end + 1),
            _ => lease_end,
        };
        *last = Some((request.claim, lease_end));
        lease_end
    }
}

/// Says which messages have become dead letters, in the words of a relay, which has not seen them.
pub(crate) fn told(unreadable: &[Settlement]) {
    for Settlement { receipt, .. } in unreadable {
        tracing::warn!(queue = %receipt.queue, message_id = %receipt.message, class = "unreadable", "dead letter");
    }
}

pub(crate) fn given_up(receipt: Receipt, why: &StoreError) -> Settlement {
    let reason = Reason::new(format!("the message cannot be read: {why}"));
    Settlement { receipt, disposition: Disposition::dead(reason) }
}

fn instance_bytes(owner: &Owner) -> Value {
    Value::Bytes(Some(owner.instance().0.to_be_bytes().to_vec()))
}
