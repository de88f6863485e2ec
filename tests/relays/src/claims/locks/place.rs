use super::setup::Setup;
use claimstream_sea_orm::Strategy;

use crate::{Server, backend::SeaOrmBackend, fixture::Wire};

#[derive(Clone)]
pub(super) struct Place {
    pub(super) server: Server,
    pub(super) strategy: Strategy,
    pub(super) url: String,
}

impl Place {
    pub(super) async fn setup(&self) -> Setup {
        let backend = SeaOrmBackend::server(self.server.name, &self.url, self.strategy.name());
        let url = backend.database().await.expect("a database");
        let wires = [Wire::to(&url).await.expect("a port"), Wire::to(&url).await.expect("a port")];
        let a = backend.open(&wires[0].url, None).await.expect("open");
        let b = backend.open(&wires[1].url, None).await.expect("open");
        Setup { a, b, wires, _backend: backend }
    }

    pub(super) fn figure(&self, what: &str) {
        println!("locks: {} {}: {what}", self.server.name, self.strategy);
    }
}

pub(super) const BATCH: usize = 100;
