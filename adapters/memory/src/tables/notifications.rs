use std::collections::BTreeMap;

use claimstream_domain::{
    Reason,
    notification::{DeliveryStatus, NotificationRecord, NotificationRequest, Progress, RequestStatus},
};
use claimstream_ports::notification::{FanOutStep, StepNoted};
use uuid::Uuid;

/// Notification requests and messages as they have been committed.
#[derive(Debug, Default)]
pub(crate) struct Notifications {
    pub(crate) requests: BTreeMap<Uuid, RequestRow>,
    pub(crate) messages: BTreeMap<Uuid, NotificationRecord>,
}

/// A request, and how far it has come.
#[derive(Debug)]
pub(crate) struct RequestRow {
    pub(crate) request: NotificationRequest,
    pub(crate) status: RequestStatus,
    pub(crate) failure: Option<Reason>,
}

impl Notifications {
    pub(crate) fn knows(&self, request: Uuid) -> bool {
        self.requests.contains_key(&request)
    }

    pub(crate) fn insert(&mut self, request: NotificationRequest) {
        let row = RequestRow { status: RequestStatus::Pending, failure: None, request };
        self.requests.insert(row.request.id, row);
    }

    /// Notes a step of a fan-out.
    pub(crate) fn note(&mut self, step: &FanOutStep) -> StepNoted {
        let Some(row) = self.requests.get_mut(&step.request) else {
            return StepNoted { status: None, records: Vec::new() };
        };
        if let Some(after) = step.end.moves(row.status, step.takes_up) {
            (row.status, row.failure) = (after, step.end.reason().cloned());
        }
        let status = row.status;
        let records = match status.has_messages() {
            true => step.records.iter().map(|record| self.keep(record)).collect(),
            false => Vec::new(),
        };
        StepNoted { status: Some(status), records }
    }

    /// Keeps a record unless its id is known, and says where it stands.
    fn keep(&mut self, record: &NotificationRecord) -> DeliveryStatus {
        self.messages.entry(record.id).or_insert_with(|| record.clone()).status
    }

    /// The messages of a request, by id.
    pub(crate) fn of_request(&self, id: Uuid) -> impl Iterator<Item = &NotificationRecord> {
        self.messages.values().filter(move |message| message.request_id == id)
    }

    /// How far a request has come.
    pub(crate) fn progress(&self, id: Uuid) -> Option<Progress> {
        let row = self.requests.get(&id)?;
        let count = |status| self.of_request(id).filter(|message| message.status == status).count() as u64;
        Some(Progress {
            recorded: row.status,
            reason: row.failure.as_ref().map(|reason| reason.as_str().to_owned()),
            pending: count(DeliveryStatus::Pending),
            delivered: count(DeliveryStatus::Delivered),
            skipped: count(DeliveryStatus::Skipped),
            failed: count(DeliveryStatus::Failed),
        })
    }
}

impl RequestRow {
    /// Moves on from exactly this status.
    pub(crate) fn move_on(&mut self, from: RequestStatus, to: RequestStatus) {
        if self.status == from {
            self.status = to;
        }
    }
}
