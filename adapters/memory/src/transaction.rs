use std::sync::Arc;

use crate::{database::Database, tables::TransactionId};

/// Writes that take effect together when it commits; dropped without a commit, it leaves nothing.
///
/// A second transaction that writes the same dedup key, message, request or step waits until this one has ended.
#[derive(Debug)]
#[must_use = "a transaction that is dropped is rolled back"]
pub struct MemoryTransaction {
    pub(crate) database: Arc<Database>,
    pub(crate) id: TransactionId,
}

impl MemoryTransaction {
    pub(crate) fn begin(database: Arc<Database>) -> Self {
        let id = database.tables().open.begin();
        Self { database, id }
    }

    /// Makes the writes visible to everybody.
    pub fn commit(self) {
        self.database.commit(self.id);
    }

    /// Forgets the writes; the same as dropping it.
    pub fn rollback(self) {}
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        self.database.roll_back(self.id);
    }
}
