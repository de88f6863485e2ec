use std::collections::BTreeMap;

use claimstream_domain::{
    Reason,
    notification::{DeliveryStatus, NotificationRecord, NotificationRequest, Progress, RequestStatus},
};
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
    /// Moves on from exactly this status; whether it did.
    pub(crate) fn move_on(&mut self, from: RequestStatus, to: RequestStatus) -> bool {
        let moves = self.status == from;
        if moves {
            self.status = to;
        }
        moves
    }
}
