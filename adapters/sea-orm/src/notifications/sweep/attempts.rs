use std::sync::Arc;

use claimstream_ports::StoreError;
use uuid::Uuid;

use crate::{
    database::{args::bytes, typed_row::row, unit::rows},
    sweep::{round::Round, sweeper::Sweeper, swept::SWEEP},
};

impl Round {
    /// Attempts at messages that are gone.
    pub(super) async fn attempts(&mut self, bound: i64) -> Result<(), StoreError> {
        let mut after = Uuid::nil();
        loop {
            let chunk = move |sweeper: Arc<Sweeper>, most| async move {
                sweeper.sweep_attempts(after, bound, most).await
            };
            let Some(last) = self.chunk(chunk).await? else { return Ok(()) };
            after = last;
        }
    }
}

impl Sweeper {
    /// Forgets attempts at messages that are gone, among the next ones after a message; the last message that was looked at,
    /// `None` if there is none. A message that was never recorded keeps its attempts until the bound.
    ///
    /// A page may end within a message, and the next begins after it: a later sweep finds the rest.
    async fn sweep_attempts(&self, after: Uuid, bound: i64, most: u32) -> Result<Option<Uuid>, StoreError> {
        let args = self.db.args().with("after", bytes(after)).with("bound", bound);
        let args = args.with("limit", i64::from(most));
        let page = || rows(self.db.relay(), SWEEP, self.db.sql.attempts.orphans.bind(&args));
        let page = self.db.restarting(page).await?;
        let page = page.iter().map(OrphanRow::read).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = page.last().map(|row| row.message_id) else { return Ok(None) };
        let mut gone: Vec<Uuid> = page.iter().filter(|row| row.is_orphan).map(|row| row.message_id).collect();
        gone.dedup();
        if !gone.is_empty() {
            let args = self.db.args().with_list("ids", gone.into_iter().map(bytes));
            self.delete(self.db.sql.attempts.forget.bind(&args)).await?;
        }
        Ok(Some(last))
    }
}

row! {
    struct OrphanRow of "attempts/orphans" { message_id: Uuid, is_orphan: bool }
}
