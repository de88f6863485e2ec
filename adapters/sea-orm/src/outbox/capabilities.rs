use std::{collections::BTreeSet, sync::Arc};

use claimstream_ports::StoreError;

use crate::{
    database::capability::{Capability, applied},
    outbox::handle::SeaOrmOutbox,
};

impl SeaOrmOutbox {
    /// What the database can be used for now: the capabilities whose tables are there, as far as this build has them.
    pub async fn capabilities(&self) -> Result<BTreeSet<Capability>, StoreError> {
        let db = Arc::clone(&self.rooms.db);
        let work = async move { applied(db.relay(), db.sql).await.map(|there| there.into_keys().collect()) };
        self.rooms.db.detached("capabilities", work).await
    }
}
