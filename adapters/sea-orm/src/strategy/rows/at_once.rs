use std::{collections::HashMap, time::Duration};

use claimstream_domain::{Disposition, MessageId, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::{
        classify::{classify, may_have_committed},
        clock::micros,
        deadline::in_time,
        held::Held,
        typed_row::row,
        unit::{rows, run},
    },
    strategy::{
        rows::{read_back::unknown, row_strategy::RowStrategy},
        shared::{answers::as_far_as_known, group::Group},
    },
};

const SETTLE: &str = "settle";

/// How a statement that commits itself has ended.
enum Ended {
    /// It has ended so many.
    Counted(u64),
    /// The answer to it was lost.
    Unknown(StoreError),
}

impl RowStrategy {
    /// A lease that runs that long still runs, as a rule, when the statement is done.
    const MARGIN: Duration = Duration::from_secs(1);

    /// Ends messages by one statement that commits itself, if there is no more to be written; `None` if nothing was
    /// written and a transaction has to do it.
    ///
    /// Usually every message is still ours, and the count proves it. Otherwise some have been ended, that cannot be undone, and
    /// it has to be found out which.
    pub(super) async fn settle_at_once(
        &self,
        settlements: &[Settlement],
    ) -> Result<Option<Vec<Settled>>, StoreError> {
        let Some(group) = self.one_statement_for(settlements) else { return Ok(None) };
        match self.db.restarting(|| self.end_at_once(settlements, &group)).await? {
            Ended::Counted(0) => Ok(None),
            Ended::Counted(count) if count == group.len() => {
                Ok(Some(settlements.iter().map(|settlement| self.accepted(settlement)).collect()))
            }
            Ended::Unknown(ref lost) if self.has_rows_left(&group).await.map_err(|_| unknown(lost))? => {
                Ok(None)
            }
            ended => self.tell_apart(settlements, &group, ended).await.map(Some),
        }
    }

    /// Messages of one claim in one place that are done and have no children, if this process has taken them, no call
    /// has settled them here before, and their lease runs for a while.
    fn one_statement_for<'a>(&self, settlements: &'a [Settlement]) -> Option<Group<'a>> {
        let is_plain =
            |one: &Settlement| matches!(&one.disposition, Disposition::Done { emit } if emit.is_empty());
        if !settlements.iter().all(is_plain) {
            return None;
        }
        let mut groups = Group::of_settlements(settlements);
        let (_, group) = groups.pop().filter(|_| groups.is_empty())?;
        let runs_on = group.lease_end() >= self.db.known_now()?.saturating_add(micros(Self::MARGIN));
        (runs_on && self.open.holds(&group)).then_some(group)
    }

    async fn end_at_once(&self, settlements: &[Settlement], group: &Group<'_>) -> Result<Ended, StoreError> {
        let held = Held::new(&self.db);
        in_time(SETTLE, held.connect(), classify).await?;
        self.failover.check(SETTLE, settlements.iter())?;
        self.end_on(&held, group).await
    }

    async fn end_on(&self, on: &Held<'_>, group: &Group<'_>) -> Result<Ended, StoreError> {
        match run(on, SETTLE, self.done(group)).await {
            Ok(count) => Ok(Ended::Counted(count)),
            Err(lost) if may_have_committed(&lost) => {
                self.db.note_trouble(&lost);
                Ok(Ended::Unknown(lost))
            }
            Err(error) => Err(error),
        }
    }

    /// Says of each message what became of it.
    ///
    /// If as many are gone as the statement has ended, those are the ones. Otherwise some were gone before, or it is unknown.
    async fn tell_apart(
        &self,
        settlements: &[Settlement],
        group: &Group<'_>,
        ended: Ended,
    ) -> Result<Vec<Settled>, StoreError> {
        // The statement is done; a question that fails says nothing about it.
        let standing = self.standing(group).await.map_err(unknown)?;
        let gone = group.len().saturating_sub(standing.len() as u64);
        match ended {
            // The server that answered lags behind.
            Ended::Counted(count) if count > gone => {
                return Err(unknown(format!("only {gone} of {count} are gone")));
            }
            Ended::Counted(count) if count == gone => {}
            _ if self.still_runs(group.lease_end()).await.map_err(unknown)? => {}
            Ended::Counted(count) => return Err(unknown(format!("{count} of {gone} were ended just now"))),
            Ended::Unknown(lost) => return Err(unknown(lost)),
        }
        let (mut settled, mut trouble) = (Vec::with_capacity(settlements.len()), None);
        for settlement in settlements {
            settled.push(match standing.get(&settlement.receipt.message) {
                None => self.accepted(settlement),
                // A renewal whose answer was lost has moved it.
                Some(true) => self.alone(settlement).await.unwrap_or_else(|error| {
                    trouble = trouble.take().or(Some(error));
                    Settled::Unknown
                }),
                Some(false) => Settled::Superseded,
            });
        }
        as_far_as_known(settled, &Settled::Unknown, trouble)
    }

    /// Those messages that are still there, and whether they are still the claim's own.
    async fn standing(&self, group: &Group<'_>) -> Result<HashMap<MessageId, bool>, StoreError> {
        let args = group.args(&self.db);
        let found = self
            .db
            .asking_back(|| rows(self.db.relay(), SETTLE, self.db.sql.settle.standing.bind(&args)))
            .await?;
        let standing = found.iter().map(Standing::read);
        standing.map(|row| row.map(|Standing { id, ours }| (MessageId::new(id), ours))).collect()
    }

    fn accepted(&self, Settlement { receipt, .. }: &Settlement) -> Settled {
        self.open.settled(receipt);
        Settled::Accepted
    }
}

row! {
    /// A message that is still there, and whether the claim still has it.
    struct Standing of "settle/standing" { id: uuid::Uuid, ours: bool }
}
