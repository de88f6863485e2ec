use std::time::Duration;

use claimstream_domain::notification::{DeliveryReceipt, ReceiptOf, ReceiptTaken, provider::ProviderName};
use claimstream_ports::StoreError;
use uuid::Uuid;

use super::{Placed, RECEIPT, ReceiptRows, receipt_kind, span};
use crate::database::{
    classify::corrupt,
    clock::micros,
    typed_row::row,
    unit::{Row, rows, run},
};

/// Receipts that came before their messages were noted.
impl ReceiptRows {
    /// Keeps receipts with their messages that have waited for these to be noted, and answers how many.
    pub(crate) async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("within", micros(within)).with("limit", i64::from(limit));
        let read = || rows(self.db.callers(), RECEIPT, self.db.sql.receipts.waiting.bind(&args));
        let mut placed: Vec<Placed> = Vec::new();
        for row in self.db.restarting_beside(RECEIPT, read).await? {
            let one = waiting(&row)?;
            // Of several deliveries under one reference the newest counts, which comes last.
            if placed.last().is_some_and(|last| last.receipt == one.receipt) {
                placed.pop();
            }
            placed.push(one);
        }
        let mut taken = 0;
        for part in placed.chunks(Self::AT_ONCE) {
            let answers = self.db.restarting_beside(RECEIPT, || self.keep(part)).await?;
            taken += answers.iter().filter(|answer| **answer == ReceiptTaken::New).count() as u64;
        }
        Ok(taken)
    }

    /// Forgets receipts that have waited for too long, and answers how many.
    pub(crate) async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("age", micros(age)).with("limit", i64::from(limit));
        let forget = || run(self.db.callers(), RECEIPT, self.db.sql.receipts.forget_waiting.bind(&args));
        self.db.restarting_beside(RECEIPT, forget).await
    }
}

fn waiting(row: &Row) -> Result<Placed, StoreError> {
    let row = WaitingRow::read(row)?;
    let receipt = DeliveryReceipt {
        provider: ProviderName::new(&row.provider).map_err(|e| corrupt(RECEIPT, e))?,
        of: ReceiptOf::Reference(row.reference),
        kind: receipt_kind(&row.kind)?,
        // What it suppresses alone was suppressed when it came.
        channel: None,
        address: row.address,
        said_at: row.said_at,
        note: row.note,
    };
    Ok(Placed { receipt, message: Some(row.message_id), waited: Some(span(row.ago)) })
}

row! {
    struct WaitingRow of "receipts/waiting" {
        provider: String,
        reference: String,
        kind: String,
        address: Option<String>,
        said_at: Option<String>,
        note: Option<String>,
        ago: i64,
        message_id: Uuid,
    }
}
