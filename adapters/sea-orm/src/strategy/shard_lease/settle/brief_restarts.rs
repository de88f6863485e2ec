use claimstream_ports::StoreError;

use crate::{database::classify::is_locked_by_another, strategy::shard_lease::leases::ShardLease};

impl ShardLease {
    /// Repeats work that met a deadlock or a lock, but not for long if it has waited for a lock: the session that has locked the row
    /// may stand still.
    pub(crate) async fn restarting_briefly<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut work: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let begun = self.db.timer().stopwatch();
        let once = || {
            let (work, begun) = (work(), begun.clone());
            async move {
                match work.await {
                    Err(locked) if is_locked_by_another(&locked) && begun.elapsed() >= Self::SOON => {
                        Ok(Err(locked))
                    }
                    done => done.map(Ok),
                }
            }
        };
        self.db.restarting(once).await?
    }
}
