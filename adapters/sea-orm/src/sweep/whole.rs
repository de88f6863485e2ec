use std::collections::{BTreeMap, BTreeSet};

use claimstream_ports::{Measured, StoreError, StoreErrorKind};

use crate::{
    database::capability::Capability,
    sweep::{
        part::Part,
        parts::Parts,
        round::{KEEP_INSTANCES, Round, before},
        swept::Swept,
    },
};

/// A whole sweep.
impl Round {
    /// One bound for all parts. They do not depend on each other: the others go on after one has failed, and its error is the answer.
    pub(crate) async fn all(
        &mut self,
        others: &[Part],
        needed: &BTreeSet<Capability>,
    ) -> Result<Swept, StoreError> {
        self.bearable().await?;
        let retention = self.sweeper.retention;
        let now = self.unit(|sweeper| async move { sweeper.fresh_now().await }).await?;
        let capabilities = self.unit(|sweeper| async move { sweeper.capabilities().await }).await?;
        let mut parts = Parts::default();
        parts.run("lost bodies", self.restore()).await;
        let bodies = parts.run("bodies", self.bodies(before(now, retention.of_bodies()))).await;
        let dedup_keys = parts.run("dedup keys", self.dedup_keys(before(now, retention.of_keys()))).await;
        let old = before(now, retention.of_keys().max(KEEP_INSTANCES));
        let instances = self.unit(move |sweeper| async move { sweeper.sweep_instances(old).await });
        parts.run("instances", instances).await;
        let mut swept = Swept { bodies, dedup_keys, others: BTreeMap::new() };
        for part in others.iter().filter(|part| capabilities.contains(&part.capability)) {
            let is_needed = needed.contains(&part.capability);
            let sweeping = async {
                match part.run(self, now).await {
                    // The user may lack the rights on what this process does not use.
                    Err(error) if !is_needed && error.kind() == StoreErrorKind::Misconfigured => {
                        tracing::debug!(part = part.name, %error, "a part of the sweep was left out");
                        Ok(Vec::new())
                    }
                    swept => swept,
                }
            };
            let deleted = parts.run(part.name, sweeping).await;
            swept.others.extend(deleted.into_iter().filter(|(_, rows)| *rows > 0));
        }
        parts.run("audit log", self.audit()).await;
        tracing::info!(bodies, dedup_keys, others = ?swept.others, "swept");
        self.sweeper.db.measure(Measured::Swept { rows: swept.rows() });
        parts.result().map(|()| swept)
    }
}
