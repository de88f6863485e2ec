use claimstream::Compose;
use claimstream_domain::{NewMessage, QueueName};
use claimstream_ports::Observe;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{Database, DatabaseConnection};

use crate::{Fixture, backend::SeaOrmBackend};

/// An outbox and a plain pool of a caller's on one database.
pub(super) struct Setup {
    pub(super) outbox: SeaOrmOutbox,
    pub(super) plain: DatabaseConnection,
    pub(super) queue: QueueName,
}

impl Setup {
    pub(super) async fn of(backend: &SeaOrmBackend) -> Self {
        Self::at(backend).await.0
    }

    /// The setup and its database's URL.
    pub(super) async fn at(backend: &SeaOrmBackend) -> (Self, String) {
        let url = backend.database().await.expect("a database");
        let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        let plain = Database::connect(&url).await.expect("connect");
        (Self { outbox, plain, queue: Fixture::fresh_queue() }, url)
    }

    pub(super) fn message(&self) -> NewMessage {
        NewMessage::json(self.queue.clone(), &7).expect("a message")
    }
}

pub(super) async fn depth(setup: &Setup) -> u64 {
    let all = setup.outbox.observe().await.expect("observe");
    all.into_iter().find(|status| status.queue == setup.queue).map_or(0, |status| status.depth)
}
