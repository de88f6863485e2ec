use std::time::Duration;

use super::setup::Setup;
use claimstream_sea_orm::Strategy;

use crate::{Server, backend::SeaOrmBackend};

#[derive(Clone)]
pub(super) struct Place {
    pub(super) server: Server,
    pub(super) strategy: Strategy,
    pub(super) url: String,
}

impl Place {
    pub(super) async fn setup(&self) -> Setup {
        let backend = SeaOrmBackend::server(self.server.name, &self.url, self.strategy.name());
        let url = backend.fresh_database().await.expect("a database");
        let a = backend.open(&url, None).await.expect("open");
        Setup { a, b: backend.open(&url, None).await.expect("open"), _backend: backend }
    }

    pub(super) fn figure(&self, what: &str) {
        println!("locks: {} {}: {what}", self.server.name, self.strategy);
    }

    /// A lock would hold up every round; as the machine is shared, something else may hold up one, which is shown.
    pub(super) fn at_once(&self, what: &str, took: &[Duration]) {
        let mut sorted = took.to_vec();
        sorted.sort();
        let (median, slow) = (sorted[ROUNDS / 2], sorted.iter().filter(|took| **took >= AT_ONCE).count());
        self.figure(&format!("{what} took {median:?} in the median of {ROUNDS}, {slow} slow: {took:?}"));
        assert!(median < AT_ONCE, "{what} took {median:?} in the median");
        assert!(slow <= 1, "{what} was slow in {slow} rounds of {ROUNDS}");
    }
}

pub(super) const BATCH: usize = 100;

pub(super) const ROUNDS: usize = 5;

/// A call that takes less has waited for no lock: the holder of one that is held ends when the call has ended, so that who
/// waits for it waits until the server gives up, which is longer.
const AT_ONCE: Duration = Duration::from_secs(1);
