mod suppressing;
mod waiting_receipts;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use claimstream_domain::notification::{
    Channel, DeliveryReceipt, ERASED, ReceiptFact, ReceiptKind, ReceiptOf, ReceiptTaken,
    provider::ProviderName,
};
use claimstream_ports::StoreError;
use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    typed_row::row,
    unit::{Row, maybe, rows, run},
};

const RECEIPT: &str = "receipt";

/// What providers say of messages after they have taken them.
pub(crate) struct ReceiptRows {
    pub(crate) db: Arc<Database>,
}

/// A receipt, and the message that it is about as far as that is known.
struct Placed {
    receipt: DeliveryReceipt,
    message: Option<Uuid>,
    /// How long it has waited for its message, if it has.
    waited: Option<Duration>,
}

/// The record of a message, locked.
#[derive(Clone, Copy)]
struct LockedRecord {
    channel: Channel,
    /// Whether its recipient was erased: nothing is kept of it any more.
    is_erased: bool,
}

impl ReceiptRows {
    /// How many receipts one transaction keeps.
    const AT_ONCE: usize = 200;
    /// How many messages one statement names.
    const IDS: usize = 500;

    /// Takes receipts, in transactions of no more than 200.
    pub(crate) async fn take(&self, receipts: Vec<DeliveryReceipt>) -> Result<Vec<ReceiptTaken>, StoreError> {
        let checked = receipts.into_iter().map(DeliveryReceipt::checked).collect::<Result<Vec<_>, _>>();
        let receipts = checked.map_err(|invalid| corrupt(RECEIPT, invalid))?;
        let mut taken = Vec::with_capacity(receipts.len());
        for part in receipts.chunks(Self::AT_ONCE) {
            let found = self.find(part).await?;
            let place = |receipt: &DeliveryReceipt| {
                let message = match &receipt.of {
                    ReceiptOf::Message(id) => Some(*id),
                    ReceiptOf::Reference(reference) => {
                        found.get(&(receipt.provider.clone(), reference.clone())).copied()
                    }
                };
                Placed { receipt: receipt.clone(), message, waited: None }
            };
            let placed: Vec<_> = part.iter().map(place).collect();
            taken.extend(self.db.restarting_beside(RECEIPT, || self.keep(&placed)).await?);
        }
        Ok(taken)
    }

    /// The messages of references, by provider and reference. It is asked before the transaction, so that what that reads is no
    /// older than its locks.
    async fn find(
        &self,
        receipts: &[DeliveryReceipt],
    ) -> Result<HashMap<(ProviderName, String), Uuid>, StoreError> {
        let mut references = HashMap::<_, BTreeSet<&str>>::new();
        for receipt in receipts {
            if let ReceiptOf::Reference(reference) = &receipt.of {
                references.entry(&receipt.provider).or_default().insert(reference);
            }
        }
        let mut found = HashMap::new();
        for (provider, references) in references {
            let references = references.into_iter().map(Value::from);
            let args = self.db.args().with("provider", provider.as_str()).with_list("references", references);
            let read = || rows(self.db.callers(), RECEIPT, self.db.sql.receipts.find.bind(&args));
            for row in self.db.restarting_beside(RECEIPT, read).await? {
                let FoundRow { reference, message_id } = FoundRow::read(&row)?;
                found.insert((provider.clone(), reference), message_id);
            }
        }
        Ok(found)
    }

    /// Keeps receipts in one transaction: with their messages those whose message is known, and the others until it is.
    ///
    /// The records are locked first, by id, so two calls with receipts of one message come one after another, and a sweep takes
    /// the record away before or after.
    async fn keep(&self, placed: &[Placed]) -> Result<Vec<ReceiptTaken>, StoreError> {
        let sql = &self.db.sql.receipts;
        let transaction = self.db.begin_beside(RECEIPT).await?;
        let records = self.lock(&transaction, placed).await?;
        let mut known = self.known(&transaction, &records).await?;
        let (mut taken, mut facts, mut suppressed) =
            (Vec::with_capacity(placed.len()), Vec::new(), Vec::new());
        for one in placed {
            let recorded = |message| records.get(&message).map(|record| (message, record));
            let Some((message, record)) = one.message.and_then(recorded) else {
                taken.push(one.message.map_or(ReceiptTaken::Waiting, |_| ReceiptTaken::Unknown));
                suppressed.extend(Self::suppressed_alone(&one.receipt));
                continue;
            };
            if record.is_erased {
                taken.push(ReceiptTaken::Unknown);
                suppressed.extend(self.suppressed(&transaction, message, *record, &one.receipt).await?);
                continue;
            }
            if !known.insert((message, one.receipt.kind)) {
                taken.push(ReceiptTaken::Known);
                continue;
            }
            taken.push(ReceiptTaken::New);
            facts.push(fact_row(message, one));
            suppressed.extend(self.suppressed(&transaction, message, *record, &one.receipt).await?);
        }
        if !facts.is_empty() {
            run(&transaction, RECEIPT, sql.keep.bind_rows(&self.db.args(), &facts)).await?;
        }
        self.suppress(&transaction, suppressed).await?;
        let waiting: Vec<Args> = placed.iter().filter_map(waiting_row).collect();
        if !waiting.is_empty() {
            run(&transaction, RECEIPT, sql.wait.bind_rows(&self.db.args(), &waiting)).await?;
        }
        for one in placed.iter().filter(|one| one.waited.is_some()) {
            let key = key(&one.receipt).map(|key| key.or(&self.db.args()));
            if let Some(key) = key {
                run(&transaction, RECEIPT, sql.end_wait.bind(&key)).await?;
            }
        }
        self.db.commit(RECEIPT, transaction).await?;
        Ok(taken)
    }

    /// Locks the records of the messages, as far as they are there.
    async fn lock(
        &self,
        on: &impl ConnectionTrait,
        placed: &[Placed],
    ) -> Result<HashMap<Uuid, LockedRecord>, StoreError> {
        let ids: BTreeSet<Uuid> = placed.iter().filter_map(|one| one.message).collect();
        let mut records = HashMap::with_capacity(ids.len());
        if ids.is_empty() {
            return Ok(records);
        }
        let args = self.db.args().with_list("ids", ids.into_iter().map(bytes));
        for row in rows(on, RECEIPT, self.db.sql.receipts.lock.bind(&args)).await? {
            let LockedRow { id, channel, recipient } = LockedRow::read(&row)?;
            let channel = channel.parse().map_err(|e| corrupt(RECEIPT, e))?;
            records.insert(id, LockedRecord { channel, is_erased: recipient == ERASED });
        }
        Ok(records)
    }

    /// What was said of messages before.
    async fn known(
        &self,
        on: &impl ConnectionTrait,
        messages: &HashMap<Uuid, LockedRecord>,
    ) -> Result<HashSet<(Uuid, ReceiptKind)>, StoreError> {
        if messages.is_empty() {
            return Ok(HashSet::new());
        }
        let args = self.db.args().with_list("ids", messages.keys().copied().map(bytes));
        let found = rows(on, RECEIPT, self.db.sql.receipts.known.bind(&args)).await?;
        let known = |row: &Row| {
            let KnownRow { message_id, kind } = KnownRow::read(row)?;
            Ok((message_id, receipt_kind(&kind)?))
        };
        found.iter().map(known).collect()
    }

    /// What is kept of messages.
    pub(crate) async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError> {
        let mut facts: HashMap<Uuid, Vec<ReceiptFact>> = HashMap::new();
        for ids in messages.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let read = || rows(self.db.callers(), RECEIPT, self.db.sql.receipts.page.bind(&args));
            for row in self.db.restarting_beside(RECEIPT, read).await? {
                let FactRow { message_id, kind, ago, said_at } = FactRow::read(&row)?;
                let fact = ReceiptFact { kind: receipt_kind(&kind)?, ago: span(ago), said_at };
                facts.entry(message_id).or_default().push(fact);
            }
        }
        facts.values_mut().for_each(|all| all.sort_by_key(|fact| (Reverse(fact.ago), fact.kind)));
        Ok(messages.iter().map(|id| facts.get(id).cloned().unwrap_or_default()).collect())
    }
}

fn fact_row(message: Uuid, one: &Placed) -> Args {
    Args::new()
        .with("message", bytes(message))
        .with("kind", one.receipt.kind.name())
        .with("ago", micros(one.waited.unwrap_or_default()))
        .with("said_at", maybe(one.receipt.said_at.as_deref()))
}

/// The row of a receipt that is to wait.
fn waiting_row(one: &Placed) -> Option<Args> {
    let Placed { receipt, message: None, .. } = one else { return None };
    let row = key(receipt)?.with("address", maybe(receipt.address.as_deref()));
    let row = row.with("said_at", maybe(receipt.said_at.as_deref()));
    Some(row.with("note", maybe(receipt.note.as_deref())))
}

/// The key of a receipt that waits.
fn key(receipt: &DeliveryReceipt) -> Option<Args> {
    let ReceiptOf::Reference(reference) = &receipt.of else { return None };
    let key = Args::new().with("provider", receipt.provider.as_str());
    Some(key.with("reference", reference.as_str()).with("kind", receipt.kind.name()))
}

fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

pub(super) fn receipt_kind(name: &str) -> Result<ReceiptKind, StoreError> {
    name.parse().map_err(|e| corrupt(RECEIPT, e))
}

row! {
    struct FoundRow of "receipts/find" { reference: String, message_id: Uuid }
}

row! {
    struct LockedRow of "receipts/lock" { id: Uuid, channel: String, recipient: String }
}

row! {
    struct KnownRow of "receipts/known" { message_id: Uuid, kind: String }
}

row! {
    struct FactRow of "receipts/page" { message_id: Uuid, kind: String, ago: i64, said_at: Option<String> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_know_every_kind() {
        let column = format!("ENUM('{}') NOT NULL", ReceiptKind::ALL.map(ReceiptKind::name).join("', '"));
        let tables = include_str!("../sql/tables/notifications_1.mysql.sql");
        assert_eq!(tables.matches(&column).count(), 2, "no {column}");
    }
}
