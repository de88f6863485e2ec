use std::sync::Arc;

use claimstream_ports::StoreError;
use futures::future::try_join_all;
use tokio::sync::OnceCell;

use super::bank::DATABASES;
use crate::backend::SeaOrmBackend;

/// The databases of a backend, made when the first test asks for them and shared by all of its tests.
#[derive(Clone)]
pub(super) struct Urls {
    pub(super) backend: Arc<SeaOrmBackend>,
    made: Arc<OnceCell<Vec<String>>>,
}

impl Urls {
    pub(super) fn of(backend: SeaOrmBackend) -> Self {
        Self { backend: Arc::new(backend), made: Arc::default() }
    }

    pub(super) async fn get(&self) -> Result<Vec<String>, StoreError> {
        let make = || try_join_all((0..DATABASES).map(|_| self.backend.fresh_database()));
        self.made.get_or_try_init(make).await.cloned()
    }
}
