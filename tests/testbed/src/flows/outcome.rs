use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use claimstream_steps::{saga::SagaState, tcc::GlobalState};
use sea_orm::{Database, DatabaseConnection};

use super::{
    AWAY, HOME,
    books::{self, ACCOUNTS, AMOUNT, PIECES},
    member::{BRANCHES, Member, in_database},
    starter::{OWNER, Started},
};
use crate::work::Failure;

/// How all sagas, global transactions and occurrences of the timer have ended.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Sagas whose steps are all taken.
    pub finished: usize,
    /// Sagas whose steps are all undone.
    pub called_off: usize,
    /// Global transactions whose branches are all confirmed.
    pub confirmed: usize,
    /// Global transactions whose branches are all cancelled.
    pub cancelled: usize,
    /// Occurrences of the timer.
    pub ticks: usize,
    /// What went wrong, a sentence each; must be empty.
    pub wrongs: Vec<String>,
}

type Bookings = HashMap<String, HashMap<String, usize>>;

impl Outcome {
    pub(super) async fn read(url: &str, started: &Started, ticks_on: bool) -> Result<Self, Failure> {
        let member = Member::open(url).await?;
        let home = Database::connect(in_database(url, HOME)).await?;
        let away = Database::connect(in_database(url, AWAY)).await?;
        let mut booked = Bookings::new();
        books::bookings(&home, &mut booked).await?;
        books::bookings(&away, &mut booked).await?;
        let mut outcome = Self::default();
        outcome.judge_sagas(&member, started, &booked).await?;
        outcome.judge_globals(&member, started, &booked).await?;
        outcome.judge_ticks(&home, ticks_on).await?;
        outcome.count_up([&home, &away]).await?;
        Ok(outcome)
    }

    async fn judge_sagas(
        &mut self,
        member: &Member,
        started: &Started,
        booked: &Bookings,
    ) -> Result<(), Failure> {
        let (payments, mut known, mut last) = (member.payments()?, HashSet::new(), None);
        loop {
            let page = payments.mine(OWNER, last, 500).await?;
            let Some(end) = page.last() else { break };
            last = Some(end.id);
            for saga in &page {
                known.insert(saga.id);
                let times = |what: &str| times(booked, &saga.id.to_string(), what);
                let steps = [times("take"), times("put back"), times("hold"), times("free"), times("give")];
                match (&saga.state, steps) {
                    (Some(SagaState::Finish), [1, 0, 1, 0, 1]) => self.finished += 1,
                    (Some(SagaState::Fail), [0 | 1, _, 0 | 1, _, 0])
                        if steps[0] == steps[1] && steps[2] == steps[3] =>
                    {
                        self.called_off += 1;
                    }
                    (state, steps) => {
                        self.wrong(format_args!("saga {} is {state:?} with {steps:?}", saga.id))
                    }
                }
            }
        }
        let lost = started.sagas.iter().filter(|(id, is_kept)| **is_kept && !known.contains(id));
        lost.for_each(|(id, _)| self.wrong(format_args!("saga {id} is lost")));
        Ok(())
    }

    async fn judge_globals(
        &mut self,
        member: &Member,
        started: &Started,
        booked: &Bookings,
    ) -> Result<(), Failure> {
        let orders = member.orders()?;
        for (gid, is_kept) in &started.globals {
            let moves = BRANCHES.map(|branch| {
                ["reserved", "sold", "released"]
                    .map(|what| times(booked, gid.as_str(), &format!("{branch} {what}")))
            });
            let given_back = |[reserved, sold, released]: &[usize; 3]| {
                *reserved <= 1 && reserved == released && *sold == 0
            };
            match orders.state(gid).await? {
                Some(GlobalState::Confirmed) if moves == [[1, 1, 0]; 2] => self.confirmed += 1,
                Some(GlobalState::Cancelled) if moves.iter().all(given_back) => self.cancelled += 1,
                None if !is_kept && moves == [[0; 3]; 2] => {}
                state => self.wrong(format_args!("transaction {gid} is {state:?} with {moves:?}")),
            }
        }
        Ok(())
    }

    async fn judge_ticks(&mut self, home: &DatabaseConnection, ticks_on: bool) -> Result<(), Failure> {
        let twice = "SELECT COUNT(*) - COUNT(DISTINCT occurrence) FROM flow_tick";
        let (ticks, twice) = (books::ticks(home).await?, books::number(home, twice).await?);
        self.ticks = usize::try_from(ticks)?;
        if twice > 0 {
            self.wrong(format_args!("{twice} occurrences of the timer came twice"));
        }
        if !ticks_on {
            self.wrong("the timer stands still");
        }
        Ok(())
    }

    /// The sums of everything, which say it once more.
    async fn count_up(&mut self, databases: [&DatabaseConnection; 2]) -> Result<(), Failure> {
        let (mut money, mut dead) = (0, 0);
        for db in databases {
            money += books::number(db, "SELECT CAST(SUM(amount) AS SIGNED) FROM flow_account").await?;
            dead += books::number(db, "SELECT COUNT(*) FROM claimstream_dead").await?;
            let sold = i64::try_from(self.confirmed)?;
            let stock = books::rows(db, "SELECT available, reserved, sold FROM flow_stock").await?;
            let stock: (i64, i64, i64) = stock.first().ok_or("no stock")?.try_get_many_by_index()?;
            if stock != (PIECES - sold, 0, sold) {
                self.wrong(format_args!(
                    "{stock:?} pieces are available, reserved and sold, after {sold} sales"
                ));
            }
        }
        let expected = 2 * i64::from(ACCOUNTS) * AMOUNT;
        let left = books::left(databases[0]).await?;
        for (what, count) in
            [("pieces of money too many", money - expected), ("dead letters", dead), ("messages left", left)]
        {
            if count != 0 {
                self.wrong(format_args!("{count} {what}"));
            }
        }
        Ok(())
    }

    fn wrong(&mut self, what: impl fmt::Display) {
        self.wrongs.push(what.to_string());
    }
}

fn times(booked: &Bookings, run: &str, what: &str) -> usize {
    booked.get(run).and_then(|of| of.get(what)).copied().unwrap_or_default()
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finished, called_off, confirmed, cancelled, ticks, wrongs } = self;
        write!(
            f,
            "sagas: {finished} finished, {called_off} called off; TCC: {confirmed} confirmed, {cancelled} cancelled; \
             timer: {ticks} occurrences; {} wrong",
            wrongs.len()
        )?;
        wrongs.iter().take(20).try_for_each(|wrong| write!(f, "\n  {wrong}"))
    }
}
