use std::sync::Arc;

use claimstream_ports::StoreError;
use sea_orm::Value;

use super::steps::texts;
use crate::{
    database::{typed_row::row, unit::rows},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Shortens the notes of sagas whose steps are gone.
    pub(super) async fn sagas(&mut self, bound: i64) -> Result<u64, StoreError> {
        let (mut scope, mut swept) = (Vec::new(), 0);
        loop {
            let after = scope.clone();
            let next = self.unit(|sweeper| async move { sweeper.saga_scope(&after).await }).await?;
            let Some(next) = next else { return Ok(swept) };
            scope = next;
            let mut after = SagaPlace::first();
            loop {
                let scope = scope.clone();
                let chunk = move |sweeper: Arc<Sweeper>, most| async move {
                    sweeper.sweep_sagas(&scope, &after, bound, most).await
                };
                let Some((last, shortened)) = self.chunk(chunk).await? else { break };
                (after, swept) = (last, swept + shortened);
            }
        }
    }
}

/// The notes of sagas whose steps are gone: each loses its owner and its input, and keeps its id.
impl Sweeper {
    /// The next kind of saga, by its scope.
    pub(super) async fn saga_scope(&self, after: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = self.db.sql.sagas.next_scope.bind(&self.db.args().with("scope", after.to_vec()));
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
        let sql = &self.db.sql.sagas.old;
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
        let shortened = self.delete(self.db.sql.sagas.shorten.bind(&args)).await?;
        Ok(Some((last, shortened)))
    }
}

row! {
    /// Where a note stands among those of its kind.
    pub(super) struct SagaPlace of "sagas/old" { owner: Vec<u8>, created: i64, run: Vec<u8> }
}

impl SagaPlace {
    /// Before all notes that have an owner.
    pub(super) fn first() -> Self {
        Self { owner: vec![0], created: 0, run: Vec::new() }
    }
}
