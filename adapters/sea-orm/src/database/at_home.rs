use sea_orm::DbErr;

use super::{Database, classify::refusal, link::Link, mysql_errors};

/// The server's sum is out of range: the session remembers something else, or the tables are another outbox's.
const NOT_PROVEN: u32 = 1690;

impl Database {
    /// A connection of the callers' pool that leads to the outbox's own database.
    ///
    /// Callers may send `USE` on theirs, and a rollback does not undo it: what the outbox wrote there would be lost without an
    /// error. Such a connection is closed, and the next one is asked for. Those at hand come from here, and only the outbox and
    /// plain statements have been on them since, so only connections that come from the pool are asked.
    pub(crate) async fn of_callers_at_home(&self) -> Result<Link, DbErr> {
        let waited = self.timer().stopwatch();
        // All may have been away; then the next one is new.
        for _ in 0..=self.callers.most {
            let connect = || Link::of_pool(self.callers(), self.dialect, self.timer());
            let left = self.callers.timeout.saturating_sub(waited.elapsed());
            let mut connection = self.health.moves.reaching(left, connect).await?;
            match self.prove_home(&mut connection).await {
                Ok(()) => return Ok(connection),
                Err(error) if leads_elsewhere(&error) => connection.close_when_dropped(),
                Err(error) => return Err(error),
            }
        }
        Err(DbErr::Custom(ELSEWHERE.into()))
    }

    async fn prove_home(&self, connection: &mut Link) -> Result<(), DbErr> {
        let shown = connection.execute_unprepared(&self.identity.at_home(self.sql)).await;
        match shown {
            Err(error) if refusal(&error) == Some(NOT_PROVEN) => {}
            shown => return shown.map(drop),
        }
        connection.execute_unprepared(&self.identity.home_to_remember(self.sql)).await.map(drop)
    }
}

const ELSEWHERE: &str = "the connections of callers do not lead to this outbox's own database: its tables were dropped or created again, \
                         or another server has come; open the outbox again";

fn leads_elsewhere(error: &DbErr) -> bool {
    refusal(error).is_some_and(|number| number == NOT_PROVEN || number == u32::from(mysql_errors::NO_TABLE))
}
