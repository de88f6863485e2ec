use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, Value};

use crate::{
    database::{
        transaction::Transaction,
        typed_row::row,
        unit::{Row, rows},
    },
    sweep::{sweeper::Sweeper, swept::SWEEP},
};

impl Sweeper {
    /// Whether there is a run that might go by its age.
    pub(super) async fn has_old_steps(&self, bound: i64) -> Result<bool, StoreError> {
        for of_timers in [false, true] {
            if !self.old_steps(of_timers, 0, bound, 1).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn old_steps(
        &self,
        of_timers: bool,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Vec<RunRow>, StoreError> {
        let args = self.db.args().with("from", from).with("bound", bound).with("limit", i64::from(most));
        let args = args.with("of_timers", i64::from(of_timers));
        let page =
            self.db.restarting(|| rows(self.db.relay(), SWEEP, self.db.sql.steps.page.bind(&args))).await?;
        page.iter().map(RunRow::read).collect()
    }

    /// When the oldest messages that are live or may be revived came into being.
    pub(super) async fn oldest_alive(&self) -> Result<Alive, StoreError> {
        self.db
            .restarting(|| async {
                let snapshot = self.snapshot().await?;
                let oldest = self.oldest_in(&snapshot).await;
                self.db.roll_back(SWEEP, Transaction::of_pool(snapshot)).await?;
                oldest
            })
            .await
    }

    async fn oldest_in(&self, snapshot: &impl ConnectionTrait) -> Result<Alive, StoreError> {
        let dead = rows(snapshot, SWEEP, self.db.sql.steps.dead.bind(&self.db.args())).await?;
        let of = |column| dead.first().map(|row| row.maybe_int(column)).transpose().map(Option::flatten);
        let mut oldest = Alive { any: of("created_at")?, but_ticks: of("but_ticks")? };
        let mut look = |row: &Row| {
            let first_at = row.maybe_int("first_at")?;
            for oldest in [&mut oldest.any, &mut oldest.but_ticks] {
                *oldest = [*oldest, first_at].into_iter().flatten().min();
            }
            Ok(())
        };
        self.each_live(snapshot, &self.db.sql.steps.live, &mut look).await?;
        let unreadable = rows(snapshot, SWEEP, self.db.sql.steps.unreadable.bind(&self.db.args())).await?;
        unreadable.iter().try_for_each(&mut look)?;
        Ok(oldest)
    }

    /// Forgets the runs of some of the oldest steps: where to look next, and how many went; `None` if there is none.
    pub(super) async fn sweep_steps(
        &self,
        of_timers: bool,
        from: i64,
        bound: i64,
        most: u32,
    ) -> Result<Option<(i64, u64)>, StoreError> {
        let page = self.old_steps(of_timers, from, bound, most).await?;
        let Some(last) = page.last().map(|row| row.changed) else { return Ok(None) };
        let mut runs: Vec<_> = page.into_iter().filter_map(|row| texts(row.scope, row.run)).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut swept = 0;
        for of_scope in runs.chunk_by(|(scope, _), (next, _)| scope == next) {
            let names = of_scope.iter().map(|(_, run)| Value::from(run.as_str()));
            let args = self.db.args().with("scope", of_scope[0].0.as_str()).with("bound", bound);
            let args = args.with_list("runs", names);
            swept += self.delete(self.db.sql.steps.forget.bind(&args)).await?;
        }
        // More steps of the same moment may follow, unless none of these could go.
        Ok(Some((if swept > 0 { last } else { last + 1 }, swept)))
    }
}

/// A scope and a run as text; a program of another kind has written what is none, and it stays.
fn texts(scope: Vec<u8>, run: Vec<u8>) -> Option<(String, String)> {
    String::from_utf8(scope).ok().zip(String::from_utf8(run).ok())
}

/// When the oldest message that is live or may be revived came into being, and the oldest but for ticks of timers that may be revived.
#[derive(Clone, Copy)]
pub(super) struct Alive {
    pub(super) any: Option<i64>,
    pub(super) but_ticks: Option<i64>,
}

/// The notes of sagas whose steps are gone: each loses its owner and its input, and keeps its id.
impl Sweeper {
    /// The next kind of saga, by its scope.
    pub(super) async fn saga_scope(&self, after: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = self.db.sql.sweep.saga_scope.bind(&self.db.args().with("scope", after.to_vec()));
        let next = self.db.restarting(|| rows(self.db.relay(), SWEEP, sql.clone())).await?;
        next.first().map(|row| row.bytes("scope")).transpose()
    }

    /// Whether there is a saga of a kind that might be shortened.
    pub(super) async fn has_old_sagas(&self, bound: i64) -> Result<bool, StoreError> {
        let mut scope = Vec::new();
        while let Some(next) = self.saga_scope(&scope).await? {
            if !self.old_sagas(&next, &SagaPlace::first(), bound, 1).await?.is_empty() {
                return Ok(true);
            }
            scope = next;
        }
        Ok(false)
    }

    async fn old_sagas(
        &self,
        scope: &[u8],
        after: &SagaPlace,
        bound: i64,
        most: u32,
    ) -> Result<Vec<SagaPlace>, StoreError> {
        let args =
            self.db.args().with("scope", scope.to_vec()).with("bound", bound).with("limit", i64::from(most));
        let args = args
            .with("owner", after.owner.clone())
            .with("from", after.created)
            .with("run", after.run.clone());
        let sql = &self.db.sql.sweep.sagas;
        let page = self.db.restarting(|| rows(self.db.relay(), SWEEP, sql.bind(&args))).await?;
        page.iter().map(SagaPlace::read).collect()
    }

    /// Shortens some notes of a kind that follow one of them: the last one and how many; `None` if there is none.
    pub(super) async fn sweep_sagas(
        &self,
        scope: &[u8],
        after: &SagaPlace,
        bound: i64,
        most: u32,
    ) -> Result<Option<(SagaPlace, u64)>, StoreError> {
        let mut page = self.old_sagas(scope, after, bound, most).await?;
        let Some(last) = page.pop() else { return Ok(None) };
        let runs = page.into_iter().map(|place| place.run).chain([last.run.clone()]);
        let sagas: Vec<_> = runs.filter_map(|run| texts(scope.to_vec(), run)).collect();
        let Some((scope, _)) = sagas.first() else { return Ok(Some((last, 0))) };
        let args = self.db.args().with("scope", scope.as_str()).with("bound", bound);
        let args = args.with_list("runs", sagas.iter().map(|(_, run)| Value::from(run.as_str())));
        let shortened = self.delete(self.db.sql.sweep.sagas_shorten.bind(&args)).await?;
        Ok(Some((last, shortened)))
    }
}

row! {
    /// Where a note stands among those of its kind.
    pub(super) struct SagaPlace of "sweep/sagas" { owner: Vec<u8>, created: i64, run: Vec<u8> }
}

impl SagaPlace {
    /// Before all notes that have an owner.
    pub(super) fn first() -> Self {
        Self { owner: vec![0], created: 0, run: Vec::new() }
    }
}

row! {
    /// A run that has an old step, and when that was changed.
    struct RunRow of "steps/page" { scope: Vec<u8>, run: Vec<u8>, changed: i64 }
}
