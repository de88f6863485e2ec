use std::collections::BTreeSet;

use claimstream_ports::StoreError;

use crate::{
    database::capability::{Capability, applied},
    outbox::handle::SeaOrmOutbox,
};

impl SeaOrmOutbox {
    /// What the database can be used for now: the capabilities whose tables are there, as far as this build has them.
    pub async fn capabilities(&self) -> Result<BTreeSet<Capability>, StoreError> {
        self.detached("capabilities", move |state| async move {
            applied(state.db.relay(), state.db.sql).await.map(|there| there.into_keys().collect())
        })
        .await
    }
}
