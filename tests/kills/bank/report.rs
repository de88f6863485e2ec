use std::{collections::BTreeMap, fmt, time::Duration};

use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::saga::Saga;

use super::{Business, Failure, account, books::Books, kill_line::KillLine};

/// The producer that asks for all sagas of an example.
pub(crate) const OWNER: &str = "example";

/// What a run came to.
pub(crate) struct Report {
    /// What the server is called.
    pub(crate) server: String,
    pub(crate) before: BTreeMap<&'static str, i64>,
    pub(crate) after: BTreeMap<&'static str, i64>,
    pub(crate) ended: Ended,
    /// Bookings that were made twice.
    pub(crate) repeats: usize,
    pub(crate) overdrawn: i64,
    pub(crate) complaint: Option<String>,
    pub(crate) kills: usize,
    pub(crate) took: Duration,
    pub(crate) count: usize,
}

impl Report {
    /// Whether workers were killed and all the same no money came or went, nothing was booked twice, and every saga is over, as its bookings say too.
    pub(crate) fn is_good(&self) -> bool {
        self.before == self.after
            && self.repeats == 0
            && self.overdrawn == 0
            && self.complaint.is_none()
            && self.kills > 0
            && self.ended.unfit == 0
            && self.over() == self.count
    }

    /// How many sagas are over.
    fn over(&self) -> usize {
        self.ended.count("Finish") + self.ended.count("Fail")
    }

    /// The same as figures.
    pub(crate) fn kill_line(&self, run: &'static str) -> KillLine {
        let money = usize::from(self.before != self.after) + usize::from(self.complaint.is_some());
        let over = self.over().min(self.count);
        KillLine {
            run,
            server: self.server.clone(),
            kills: self.kills,
            started: self.count,
            ended: over,
            lost: self.count - over,
            doubled: self.repeats,
            again: 0,
            revived: 0,
            wrongs: self.ended.unfit + usize::try_from(self.overdrawn).unwrap_or_default() + money,
        }
    }
}

/// How much of each kind of money there is in all databases together.
pub(crate) async fn sums<B: Business>(
    databases: &[SeaOrmOutbox],
) -> Result<BTreeMap<&'static str, i64>, Failure> {
    let mut sums = BTreeMap::new();
    for kind in B::KINDS {
        for db in databases {
            *sums.entry(*kind).or_default() += account::sum(db, kind).await?;
        }
    }
    Ok(sums)
}

/// How many sagas stand where, as their owner sees them.
pub(crate) struct Ended {
    states: BTreeMap<String, usize>,
    /// Those whose bookings are not what their state says.
    unfit: usize,
}

impl Ended {
    pub(crate) async fn read<B: Business>(
        sagas: &[Saga<B::Input, SeaOrmOutbox>],
        books: &Books,
    ) -> Result<Self, Failure> {
        let mut ended = Self { states: BTreeMap::new(), unfit: 0 };
        for saga in sagas {
            let mut last = None;
            loop {
                let page = saga.mine(OWNER, last, 500).await?;
                for report in &page {
                    let state = report.state.map_or("unknown".to_owned(), |state| state.to_string());
                    *ended.states.entry(state).or_insert(0) += 1;
                    ended.unfit += usize::from(!books.fit(report.id, report.state.as_ref(), B::STEPS));
                }
                match page.last() {
                    Some(report) => last = Some(report.id),
                    None => break,
                }
            }
        }
        Ok(ended)
    }

    pub(crate) fn count(&self, state: &str) -> usize {
        self.states.get(state).copied().unwrap_or(0)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states: Vec<_> = self.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        f.write_str(&states.join(", "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.count as f64 / self.took.as_secs_f64();
        writeln!(f, "{} sagas in {:.1?}, {rate:.0} a second", self.count, self.took)?;
        writeln!(f, "workers killed with SIGKILL: {}", self.kills)?;
        for (kind, before) in &self.before {
            writeln!(f, "{kind}: {before} before, {} after", self.after.get(kind).copied().unwrap_or(0))?;
        }
        writeln!(f, "states: {}; whose bookings say otherwise: {}", self.ended, self.ended.unfit)?;
        writeln!(f, "bookings made twice: {}; accounts below zero: {}", self.repeats, self.overdrawn)?;
        if self.kills == 0 {
            writeln!(f, "no process was killed; raise --count, or lower --kill-every")?;
        }
        if let Some(complaint) = &self.complaint {
            writeln!(f, "{complaint}")?;
        }
        write!(
            f,
            "{}",
            if self.is_good() { "money is conserved and every saga is over" } else { "SOMETHING IS WRONG" }
        )
    }
}
