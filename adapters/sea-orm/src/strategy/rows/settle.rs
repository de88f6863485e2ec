use std::time::Duration;

use claimstream_domain::{Disposition, Settled, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};

use crate::{
    database::{
        args::Args,
        classify::may_have_committed,
        clock::micros,
        sql::Sql,
        unit::{rows, run},
    },
    dead_letters::letters::bury,
    strategy::{
        rows::{open_claims::Ending, row_strategy::RowStrategy},
        shared::{
            answers::as_far_as_known,
            children::{children, emit},
            group::Group,
        },
    },
};

const SETTLE: &str = "settle";

impl RowStrategy {
    const UNKNOWN_TRIES: u32 = 3;
    /// How long a call waits for the end of another that settles one of its claims.
    const ENDS_WITHIN: Duration = Duration::from_secs(5);

    /// Ends claims that are rows of the queue.
    pub(super) async fn settle_rows(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let _ending = self.begin_ending(settlements).await?;
        match self.settle_at_once(settlements).await? {
            Some(settled) => Ok(settled),
            None => self.settle_together(settlements).await,
        }
    }

    /// A call that settles a claim that is being settled already waits for that to end.
    async fn begin_ending(&self, settlements: &[Settlement]) -> Result<Ending<'_>, StoreError> {
        let ending = self.open.end(settlements.iter().map(|settlement| &settlement.receipt));
        let begun = self.db.timer().timeout(Self::ENDS_WITHIN, ending).await;
        begun.ok_or_else(|| {
            StoreError::new(StoreErrorKind::Transient, SETTLE, "a message is being settled already")
        })
    }

    /// Forgets the messages of these settlements.
    fn let_go_of(&self, settlements: &[Settlement]) {
        settlements.iter().for_each(|settlement| self.open.settled(&settlement.receipt));
    }

    async fn settle_together(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.db.restarting(|| self.together(settlements)).await? {
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
        let transaction = self.db.begin(SETTLE).await?;
        self.failover.check(SETTLE, settlements.iter())?;
        let mut ours = true;
        for (disposition, group) in Group::of_settlements(settlements) {
            if self.write(&transaction, disposition, &group).await? != group.len() {
                ours = false;
                break;
            }
        }
        if !ours {
            self.db.roll_back(SETTLE, transaction).await?;
            return Ok(Together::Disputed);
        }
        let children = children(settlements.iter());
        emit(&self.enqueueing, &transaction, &children).await?;
        match self.db.commit(SETTLE, transaction).await {
            Ok(()) => {
                self.let_go_of(settlements);
                Ok(Together::Accepted)
            }
            Err(lost) if may_have_committed(&lost) => Ok(Together::Unknown(lost)),
            Err(error) => Err(error),
        }
    }

    /// Settles each alone, after at least one of them turned out to be lost. Every answer is exact, and the answers until an error
    /// stay known.
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

    pub(super) async fn alone(&self, settlement: &Settlement) -> Result<Settled, StoreError> {
        let mut settlement = settlement.clone();
        for _ in 0..Self::UNKNOWN_TRIES {
            let one = std::slice::from_ref(&settlement);
            match self.db.restarting(|| self.together(one)).await? {
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

    /// What ends a group as done.
    pub(super) fn done(&self, group: &Group<'_>) -> Statement {
        let sql =
            if self.open.is_whole(group) { &self.db.sql.settle.done_whole } else { &self.db.sql.settle.done };
        sql.bind(&group.args(&self.db))
    }

    async fn write(
        &self,
        on: &impl ConnectionTrait,
        disposition: &Disposition,
        group: &Group<'_>,
    ) -> Result<u64, StoreError> {
        let args = group.args(&self.db);
        let write = |sql: &Sql, args: Args| {
            let statement = sql.bind(&args);
            run(on, SETTLE, statement)
        };
        match disposition {
            Disposition::Done { .. } => run(on, SETTLE, self.done(group)).await,
            Disposition::Returned => write(&self.db.sql.settle.release, args).await,
            Disposition::Retry { after, reason } | Disposition::Postponed { after, reason } => {
                let args = args.with("after", micros(*after)).with("reason", reason.as_str());
                let is_postponed = matches!(disposition, Disposition::Postponed { .. });
                let args = args.with("uncounted", i64::from(is_postponed));
                write(&self.db.sql.settle.retry, args).await
            }
            Disposition::Dead { reason, .. } => {
                // Locked first: of two calls that bury one claim, the second must find it gone, not its copy there.
                let ours = rows(on, SETTLE, self.db.sql.settle.find.bind(&args)).await?.len();
                if ours as u64 != group.len() {
                    return Ok(ours as u64);
                }
                let letters = self.db.sql.settle.dead.bind(&args.clone().with("reason", reason.as_str()));
                bury(&self.db, on, SETTLE, letters, &group.ids()).await?;
                write(&self.db.sql.settle.done, args).await
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

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::{pin::pin, sync::Arc, task::Poll};

    use claimstream_domain::{ClaimId, InstanceId, Locator, MessageId, QueueName, Receipt, Shard};
    use futures::poll;
    use uuid::Uuid;

    use super::*;
    use crate::{OpenOptions, SeaOrmOutbox, StoreTimer, strategy::rows::marking::Marking};

    fn settlement() -> Settlement {
        let receipt = Receipt {
            message: MessageId::new(Uuid::from_u128(1)),
            queue: QueueName::new("orders").expect("a name"),
            shard: Shard::from_number(3),
            claim: ClaimId::new(InstanceId(1), 7),
            locator: Locator(1),
        };
        Settlement { receipt, disposition: Disposition::Done { emit: Vec::new() } }
    }

    /// Guard: a settlement waits for another one of its claim, and for so long at most | `begin_ending`: no `timeout`
    #[tokio::test(flavor = "multi_thread")]
    async fn a_settlement_waits_for_another_one_of_its_claim_and_for_five_seconds_at_most() {
        let file = std::env::temp_dir().join(format!("claimstream-ending-{}.db", Uuid::now_v7()));
        let (timer, hand) = StoreTimer::by_hand();
        let options = OpenOptions { timer, ..OpenOptions::default() };
        let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
        let state = &outbox.state;
        let store =
            RowStrategy::of(Arc::clone(&state.enqueueing), state.failover.clone(), Marking::PreemptiveUpdate);
        let one = [settlement()];
        let other = store.begin_ending(&one).await.unwrap();
        {
            let mut late = pin!(store.settle_rows(&one));
            assert!(poll!(&mut late).is_pending());
            hand.advance(RowStrategy::ENDS_WITHIN - Duration::from_nanos(1));
            assert!(poll!(&mut late).is_pending());
            hand.advance(Duration::from_nanos(1));
            let Poll::Ready(Err(error)) = poll!(&mut late) else { panic!("it waits on") };
            assert_eq!(error.kind(), StoreErrorKind::Transient);
            assert!(error.to_string().ends_with("a message is being settled already"), "{error}");
        }
        let mut in_time = pin!(store.settle_rows(&one));
        assert!(poll!(&mut in_time).is_pending());
        drop(other);
        // No time passes: unless it is notified, it waits for ever.
        assert_eq!(in_time.await.unwrap(), [Settled::Superseded]);
        let _ = std::fs::remove_file(file);
    }
}
