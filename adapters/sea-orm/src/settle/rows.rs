use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{Disposition, Lease, Locator, NewMessage, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::{Settlements, StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};

use crate::{
    database::typed_row::row,
    database::{
        args::Args,
        classify::may_have_committed,
        clock::micros,
        unit::{rows, run},
    },
    outbox::handle::SeaOrmOutbox,
    settle::{answers::as_far_as_known, at_once::unknown, group::Group, open_claims::Ending},
    sql::Sql,
    store::Store,
    strategy::{choice::Strategy, shard_lease},
};

const SETTLE: &str = "settle";

#[async_trait]
impl Settlements for SeaOrmOutbox {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        if settlements.is_empty() {
            return Ok(Vec::new());
        }
        let (store, settlements) = (self.store.clone(), settlements.to_vec());
        let work = async move {
            let begun = store.clock.elapsed();
            let settled = settle(&store, &settlements).await?;
            store.upkeep.note(&settlements, &settled, begun);
            Ok(settled)
        };
        self.store.detached(SETTLE, work).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        if receipts.is_empty() {
            return Ok(Vec::new());
        }
        let (store, receipts) = (self.store.clone(), receipts.to_vec());
        let work = async move {
            match store.strategy {
                Strategy::ShardLease => shard_lease::renew(&store, &receipts, lease).await,
                _ => store.renew(&receipts, lease).await,
            }
        };
        self.store.detached("renew", work).await
    }
}

/// Settles; what was claimed before another server took over is given back and not ended, and counts as lost.
async fn settle(store: &Arc<Store>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
    loop {
        let heeded = store.failover.heeded(settlements);
        let written = match store.strategy {
            Strategy::ShardLease => shard_lease::settle(store, &heeded).await,
            _ => store.settle(&heeded).await,
        };
        match written {
            // The server was found to be another one on the way.
            Err(_) if store.failover.heeded(settlements) != heeded => {}
            Err(error) => return Err(error),
            Ok(settled) => {
                store.take_back(&heeded, &settled).await;
                let pairs = settlements.iter().zip(heeded.iter()).zip(settled);
                let is_given_back = |one, heeded, settled| one != heeded && settled != Settled::Unknown;
                return Ok(pairs
                    .map(|((one, heeded), settled)| match is_given_back(one, heeded, settled) {
                        true => Settled::Superseded,
                        false => settled,
                    })
                    .collect());
            }
        }
    }
}

/// How an attempt to write several settlements in one transaction ended.
enum Together {
    /// Every row was ours; committed.
    Accepted,
    /// Some row was not ours; rolled back.
    Disputed,
    /// The answer to the commit was lost.
    Unknown(StoreError),
}

impl Store {
    const UNKNOWN_TRIES: u32 = 3;
    const LOOKS_FOR_AN_END: u32 = 1000;
    const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

    pub(crate) async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let _ending = self.begin_ending(settlements).await?;
        match self.settle_at_once(settlements).await? {
            Some(settled) => Ok(settled),
            None => self.settle_together(settlements).await,
        }
    }

    /// Whoever settles a claim that is being settled already waits for that to end.
    async fn begin_ending(&self, settlements: &[Settlement]) -> Result<Ending<'_>, StoreError> {
        for _ in 0..Self::LOOKS_FOR_AN_END {
            let ending = self.takings.end(settlements.iter().map(|settlement| &settlement.receipt));
            if let Some(ending) = ending {
                return Ok(ending);
            }
            tokio::time::sleep(Self::BETWEEN_LOOKS).await;
        }
        Err(StoreError::new(StoreErrorKind::Transient, SETTLE, "a message is being settled already"))
    }

    /// Forgets what was taken and is settled.
    fn let_go_of(&self, settlements: &[Settlement]) {
        settlements.iter().for_each(|Settlement { receipt, .. }| {
            self.takings.settled(receipt.claim, receipt.shard, receipt.message);
        });
    }

    async fn settle_together(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.restarting(|| self.together(settlements)).await? {
                Together::Accepted => return Ok(vec![Settled::Accepted; settlements.len()]),
                Together::Disputed => return self.one_by_one(settlements).await,
                Together::Unknown(lost) => {
                    if self.took_effect(settlements, &lost).await? {
                        self.let_go_of(settlements);
                        return Ok(vec![Settled::Accepted; settlements.len()]);
                    }
                    if tries == Self::UNKNOWN_TRIES {
                        return Err(lost);
                    }
                }
            }
        }
    }

    /// Writes all settlements in one transaction, on the claim's own access path, if every one is still ours.
    async fn together(&self, settlements: &[Settlement]) -> Result<Together, StoreError> {
        let transaction = self.begin(SETTLE).await?;
        self.failover.check(SETTLE, settlements.iter())?;
        let mut ours = true;
        for (disposition, group) in Group::of_settlements(settlements) {
            if self.write(&transaction, disposition, &group).await? != group.len() {
                ours = false;
                break;
            }
        }
        if !ours {
            self.roll_back(SETTLE, transaction).await?;
            return Ok(Together::Disputed);
        }
        let children = children(settlements.iter());
        self.emit(&transaction, &children).await?;
        match self.commit(SETTLE, transaction).await {
            Ok(()) => {
                self.let_go_of(settlements);
                Ok(Together::Accepted)
            }
            Err(lost) if may_have_committed(&lost) => Ok(Together::Unknown(lost)),
            Err(error) => Err(error),
        }
    }

    /// Settles each alone, after at least one of them turned out to be lost; every answer is exact, and what is known before
    /// something goes wrong stays known.
    async fn one_by_one(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let (mut settled, mut trouble) = (vec![Settled::Unknown; settlements.len()], None);
        for (settlement, answer) in settlements.iter().zip(&mut settled) {
            match self.alone(settlement).await {
                Ok(known) => *answer = known,
                Err(error) => {
                    trouble = Some(error);
                    break;
                }
            }
        }
        as_far_as_known(settled, &Settled::Unknown, trouble)
    }

    pub(crate) async fn alone(&self, settlement: &Settlement) -> Result<Settled, StoreError> {
        let mut settlement = settlement.clone();
        for _ in 0..Self::UNKNOWN_TRIES {
            let one = std::slice::from_ref(&settlement);
            match self.restarting(|| self.together(one)).await? {
                Together::Accepted => return Ok(Settled::Accepted),
                Together::Unknown(lost) => {
                    if self.took_effect(one, &lost).await? {
                        self.let_go_of(one);
                        return Ok(Settled::Accepted);
                    }
                }
                // A renewal whose answer was lost has moved the row; it is ours all the same.
                Together::Disputed => match self.trace(&settlement.receipt).await? {
                    Some(locator) => settlement.receipt.locator = locator,
                    None => return Ok(Settled::Superseded),
                },
            }
        }
        Err(StoreError::new(StoreErrorKind::Unavailable, SETTLE, "the outcome stayed unknown"))
    }

    /// Where a renewal has moved a claimed row to, if it did.
    pub(crate) async fn trace(&self, receipt: &Receipt) -> Result<Option<Locator>, StoreError> {
        let args = Group::one(receipt).args(self);
        let found = self.restarting(|| rows(self.relay(), SETTLE, self.sql.settle.trace.bind(&args))).await?;
        for row in &found {
            let Traced { id, lease_end } = Traced::read(row)?;
            if id == receipt.message.uuid() {
                return Ok(Some(Locator(lease_end)));
            }
        }
        Ok(None)
    }

    /// Finds out whether a transaction whose commit went unanswered took effect.
    ///
    /// It was all or nothing, so one row that still carries its claim proves that it did not. Rows that are gone while
    /// their lease runs can only have been taken away by us. Rows that are gone after their lease has ended prove
    /// nothing.
    async fn took_effect(&self, settlements: &[Settlement], lost: &StoreError) -> Result<bool, StoreError> {
        let mut first_end = i64::MAX;
        for group in Group::of(settlements.iter().map(|settlement| &settlement.receipt)) {
            // An error of a question says nothing about the commit, whatever its kind.
            if self.has_rows_left(&group).await.map_err(|_| unknown(lost))? {
                return Ok(false);
            }
            first_end = first_end.min(group.lease_end());
        }
        if self.still_runs(first_end).await.map_err(|_| unknown(lost))? {
            tracing::warn!(count = settlements.len(), error = %lost, "the answer to a settlement was lost; its rows were read back");
            return Ok(true);
        }
        Err(unknown(lost))
    }

    /// Whether a row is still where its claim left it; whoever is at work on it is waited for.
    pub(crate) async fn has_rows_left(&self, group: &Group<'_>) -> Result<bool, StoreError> {
        let args = group.args(self);
        let left = self.asking_back(|| rows(self.relay(), SETTLE, self.sql.settle.find.bind(&args))).await?;
        Ok(!left.is_empty())
    }

    /// What ends a group as done.
    pub(crate) fn done(&self, group: &Group<'_>) -> Statement {
        let sql = if group.is_whole(self) { &self.sql.settle.done_whole } else { &self.sql.settle.done };
        sql.bind(&group.args(self))
    }

    async fn write(
        &self,
        on: &impl ConnectionTrait,
        disposition: &Disposition,
        group: &Group<'_>,
    ) -> Result<u64, StoreError> {
        let args = group.args(self);
        let write = |sql: &Sql, args: Args| {
            let statement = sql.bind(&args);
            run(on, SETTLE, statement)
        };
        match disposition {
            Disposition::Done { .. } => run(on, SETTLE, self.done(group)).await,
            Disposition::Returned => write(&self.sql.settle.release, args).await,
            Disposition::Retry { after, reason } => {
                let args = args.with("after", micros(*after)).with("reason", reason.as_str());
                write(&self.sql.settle.retry, args).await
            }
            Disposition::Dead { reason, .. } => {
                // Locked first: of two who bury one claim, the second must find it gone, not its copy there.
                let ours = rows(on, SETTLE, self.sql.settle.find.bind(&args)).await?.len();
                if ours as u64 != group.len() {
                    return Ok(ours as u64);
                }
                let letters = self.sql.settle.dead.bind(&args.clone().with("reason", reason.as_str()));
                self.bury(on, SETTLE, letters, &group.ids()).await?;
                write(&self.sql.settle.done, args).await
            }
        }
    }

    /// Enqueues children; one that was enqueued before, by an earlier run of the same parent, is left as it is.
    pub(crate) async fn emit(
        &self,
        on: &impl ConnectionTrait,
        children: &[NewMessage],
    ) -> Result<(), StoreError> {
        let emitted = self.enqueue(on, children).await;
        emitted.map(|_| ()).map_err(|error| match error.kind() {
            // Somebody else enqueued one of them after we looked: look again.
            StoreErrorKind::Conflict => StoreError::new(StoreErrorKind::Transient, SETTLE, error),
            _ => error,
        })
    }
}

/// Whether one statement can write both.
pub(crate) fn written_alike(one: &Disposition, other: &Disposition) -> bool {
    match (one, other) {
        (Disposition::Done { .. }, Disposition::Done { .. }) => true,
        (Disposition::Dead { reason: one, .. }, Disposition::Dead { reason: other, .. }) => one == other,
        _ => one == other,
    }
}

pub(crate) fn children<'a>(settlements: impl Iterator<Item = &'a Settlement>) -> Vec<NewMessage> {
    let mut children: Vec<NewMessage> = Vec::new();
    for settlement in settlements {
        children.extend_from_slice(settlement.disposition.emitted());
    }
    children.sort_by_key(|child| child.id);
    children.dedup_by_key(|child| child.id);
    children
}

row! {
    /// Where a claimed row is now.
    struct Traced of "settle/trace" { id: uuid::Uuid, lease_end: i64 }
}
