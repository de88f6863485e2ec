use std::sync::Arc;

use claimstream_ports::StoreError;

use super::schema;
use crate::{
    doctor::{examination::Examination, finding::Finding},
    outbox::handle::SeaOrmOutbox,
};

const DOCTOR: &str = "doctor";

impl SeaOrmOutbox {
    /// The start-up self-check: everything about the database that could lose, double or hold up messages.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let work = async move {
            let examination = Examination {
                db: &rooms.db,
                shards: rooms.enqueueing.shards,
                strategy: rooms.strategy,
                claim: rooms.claims.statement(),
                step_retention: rooms.sweeper.step_retention,
                schema: schema::VERSION,
            };
            examination.run().await
        };
        self.rooms.db.detached(DOCTOR, work).await
    }
}
