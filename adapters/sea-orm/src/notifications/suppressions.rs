use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Fingerprint,
    notification::{
        Channel, ERASED,
        consent::{Address, SuppressedAddress, Suppression},
    },
};
use claimstream_ports::StoreError;
use sea_orm::{Statement, Value};

use crate::database::{
    Database,
    args::Args,
    classify::corrupt,
    typed_row::row,
    unit::{Row, maybe, rows, run},
};

const SUPPRESSION: &str = "suppression";

/// Addresses that must not be written to.
pub(crate) struct SuppressionRows {
    pub(crate) db: Arc<Database>,
}

/// Whether the row of a suppressed address spells it.
#[derive(Clone, Copy)]
pub(super) enum Spelling {
    /// A new row does; one that is there stays as it is.
    IfNew,
    /// It does.
    Always,
    /// A new row does not, nor has it a note; one that is there stays as it is.
    Never,
}

impl SuppressionRows {
    pub(crate) async fn suppress(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<&str>,
    ) -> Result<(), StoreError> {
        let write =
            || run(self.db.callers(), SUPPRESSION, self.suppressing(address, reason, note, Spelling::IfNew));
        self.db.restarting_beside(SUPPRESSION, write).await.map(|_| ())
    }

    /// What suppresses an address.
    pub(super) fn suppressing(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<&str>,
        spelling: Spelling,
    ) -> Statement {
        let text = address.as_str();
        let (new, spelled, note) = match spelling {
            Spelling::IfNew => (text, None, note),
            Spelling::Always => (text, Some(text), note),
            Spelling::Never => (ERASED, None, None),
        };
        let args = self.key(address).with("channel", address.channel().name()).with("reason", reason.name());
        let args = args.with("address", new).with("spelled", maybe(spelled)).with("note", maybe(note));
        self.db.sql.preferences.suppress.bind(&args)
    }

    /// Whether the address was suppressed.
    pub(crate) async fn lift(&self, address: &Address) -> Result<bool, StoreError> {
        let (db, args) = (&self.db, self.key(address));
        let lift = || run(db.callers(), SUPPRESSION, db.sql.preferences.lift.bind(&args));
        Ok(db.restarting_beside(SUPPRESSION, lift).await? > 0)
    }

    /// Suppressed addresses after another one, by the key of their rows, at most so many.
    pub(crate) async fn page(
        &self,
        after: Option<&Fingerprint>,
        limit: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError> {
        let db = &self.db;
        let after = after.map_or(Value::Bytes(Some(Vec::new())), hash);
        let args = db.args().with("after", after).with("limit", i64::from(limit));
        let page = || rows(db.callers(), SUPPRESSION, db.sql.preferences.suppressed.bind(&args));
        db.restarting_beside(SUPPRESSION, page).await?.iter().map(suppressed).collect()
    }

    fn key(&self, address: &Address) -> Args {
        self.db.args().with("hash", hash(&address.fingerprint()))
    }
}

fn suppressed(row: &Row) -> Result<SuppressedAddress, StoreError> {
    let SuppressedRow { address_hash, channel, address, reason, note, age } = SuppressedRow::read(row)?;
    let channel: Channel = channel.parse().map_err(|e| corrupt(SUPPRESSION, e))?;
    let age = Duration::from_micros(u64::try_from(age).unwrap_or(0));
    Ok(SuppressedAddress {
        key: Fingerprint::from_slice(&address_hash).map_err(|e| corrupt(SUPPRESSION, e))?,
        address: Address::stored(channel, &address),
        reason: suppression(&reason)?,
        note,
        age,
    })
}

/// A fingerprint as the key of a row.
pub(super) fn hash(key: &Fingerprint) -> Value {
    Value::Bytes(Some(key.as_bytes().to_vec()))
}

pub(super) fn suppression(reason: &str) -> Result<Suppression, StoreError> {
    reason.parse().map_err(|e| corrupt(SUPPRESSION, e))
}

row! {
    struct SuppressedRow of "preferences/suppressed" {
        address_hash: Vec<u8>,
        channel: String,
        address: String,
        reason: String,
        note: Option<String>,
        age: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_every_reason() {
        let column = format!("ENUM('{}') NOT NULL", Suppression::ALL.map(Suppression::name).join("', '"));
        assert!(include_str!("../sql/tables/notifications_1.mysql.sql").contains(&column), "no {column}");
    }
}
