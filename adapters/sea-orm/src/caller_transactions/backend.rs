use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::{database::dialect::Dialect, store::Store};

impl Store {
    /// Refuses a connection to a database of another kind.
    pub(crate) fn check_backend(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let unsupported = |why: String| Err(StoreError::new(StoreErrorKind::Unsupported, operation, why));
        match Dialect::of_backend(on.get_database_backend()) {
            Ok(dialect) if dialect == self.dialect => Ok(()),
            Ok(dialect) => unsupported(format!(
                "the outbox is a {:?} one and the connection a {dialect:?} one",
                self.dialect
            )),
            Err(why) => unsupported(why),
        }
    }
}
