use sea_orm::{ConnectionTrait, DatabaseConnection};

use crate::database::held::Held;

/// Where the statements of a claim run that commit themselves.
pub(crate) trait Singly: ConnectionTrait {
    /// What comes next takes a connection of its own, and a pool may have only one.
    fn let_go(&self) {}
}

impl Singly for DatabaseConnection {}

#[cfg(feature = "mysql")]
impl Singly for Held<'_> {
    fn let_go(&self) {
        self.rest();
    }
}
