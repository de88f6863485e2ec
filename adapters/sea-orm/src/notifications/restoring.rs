use std::collections::{BTreeSet, HashMap};

use claimstream_domain::notification::{
    DeliveryStatus, NotificationRecord, NotificationRequest, RequestStatus, recipient_hash,
};
use claimstream_ports::{
    StoreError,
    notification::{MissingRecord, restoring},
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{Database, args::bytes, classify::corrupt, typed_row::row, unit::rows},
    notifications::{
        erasing::{Erasing, RecordRow},
        erasures::ErasedAt,
        fan_outs::{FanOuts, Standing},
        records::Records,
    },
};

const RECORD: &str = "notification message";

/// Keeps records that a failover has lost.
pub(crate) struct Restoring<'a> {
    pub(crate) db: &'a Database,
    pub(crate) fan_outs: &'a FanOuts,
    pub(crate) records: &'a Records,
    pub(crate) erasing: &'a Erasing,
}

/// Requests, and when they were taken in, in microseconds.
type TakenIn = HashMap<Uuid, (NotificationRequest, i64)>;

impl Restoring<'_> {
    /// How many requests one statement names.
    const IDS: usize = 500;

    /// Keeps records in one transaction, and answers where each stands then.
    ///
    /// Locks are taken in one order, requests before recipients before records, and each kind in order. An erasure notes its recipient
    /// before it looks for records: it waits here, and finds what is kept, or was first, and is found.
    pub(crate) async fn restore(
        &self,
        missing: &[MissingRecord],
    ) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        self.db.restarting_beside(RECORD, || self.write(missing)).await
    }

    async fn write(&self, missing: &[MissingRecord]) -> Result<Vec<Option<DeliveryStatus>>, StoreError> {
        let (steps, erasures) = (restoring(missing), &self.erasing.erasures);
        let recipients: BTreeSet<_> =
            missing.iter().map(|one| recipient_hash(&one.record.recipient)).collect();
        let transaction = self.db.begin_beside(RECORD).await?;
        let (mut standing, reasons) = self.fan_outs.lock(&transaction, &steps).await?;
        let erased_at = erasures.hold(&transaction, &recipients).await?;
        let taken_in = self.taken_in(&transaction, &standing).await?;
        self.fan_outs.move_on(&transaction, steps.iter(), &mut standing, reasons).await?;
        let all = || missing.iter().map(|one| &one.record);
        let has_messages = |record: &&NotificationRecord| {
            standing.get(&record.request_id).copied().is_some_and(RequestStatus::has_messages)
        };
        let kept: Vec<&NotificationRecord> = all().filter(has_messages).collect();
        let known = self.records.keep(&transaction, kept).await?;
        let lost: HashMap<Uuid, &NotificationRecord> = all()
            .filter(|record| is_lost(record, &taken_in, &erased_at))
            .map(|record| (record.id, record))
            .collect();
        let frames: Vec<RecordRow> = lost.values().map(|record| RecordRow::of(record)).collect();
        self.erasing.leave_frames(&transaction, &frames).await?;
        erasures.release(&transaction, &recipients, &erased_at).await?;
        self.db.commit(RECORD, transaction).await?;
        let stands = |record: &NotificationRecord| match standing.get(&record.request_id) {
            _ if lost.contains_key(&record.id) => Some(DeliveryStatus::Cancelled),
            Some(RequestStatus::Cancelled) => Some(DeliveryStatus::Cancelled),
            Some(status) if status.has_messages() => {
                Some(known.get(&record.id).copied().unwrap_or(record.status))
            }
            _ => None,
        };
        Ok(all().map(stands).collect())
    }

    /// The requests whose rows the transaction holds.
    async fn taken_in(&self, on: &impl ConnectionTrait, standing: &Standing) -> Result<TakenIn, StoreError> {
        let (mut taken_in, ids) = (TakenIn::new(), standing.keys().copied().collect::<Vec<_>>());
        for ids in ids.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            for row in rows(on, RECORD, self.db.sql.erasures.requests.bind(&args)).await? {
                let RequestRow { id, request, created_at } = RequestRow::read(&row)?;
                let request = serde_json::from_slice(&request).map_err(|e| corrupt(RECORD, e))?;
                taken_in.insert(id, (request, created_at));
            }
        }
        Ok(taken_in)
    }
}

/// Whether the recipient of a record was erased since its request was taken in, or at any time if nothing is known of the request.
fn is_lost(record: &NotificationRecord, taken_in: &TakenIn, erased_at: &ErasedAt) -> bool {
    let erased_at = erased_at.get(&recipient_hash(&record.recipient));
    match taken_in.get(&record.request_id) {
        Some((request, taken_in)) => request.has_lost(&record.recipient, taken_in, erased_at),
        None => erased_at.is_some(),
    }
}

row! {
    struct RequestRow of "erasures/requests" { id: Uuid, request: Vec<u8>, created_at: i64 }
}
