use std::collections::{BTreeMap, BTreeSet};

use claimstream_domain::{
    Fingerprint, NewMessage, Reason, Timestamp,
    notification::{
        Acceptance, DeliveryStatus, ERASED, NotificationRecord, NotificationRequest, Progress, ReceiptCounts,
        RequestStatus,
        provider::{ProviderName, TokenSchedule},
        recipient_hash,
    },
};
use claimstream_ports::notification::{
    Cancelled, CancelledMessages, DeliveryAttempt, DeliveryState, FanOutStep, MessageOutcome, StepNoted,
};
use uuid::Uuid;

use super::{FactRow, WaitingRow, digests::Digests};

/// Notification requests and messages as they have been committed.
#[derive(Debug, Default)]
pub(crate) struct Notifications {
    pub(crate) requests: BTreeMap<Uuid, RequestRow>,
    pub(crate) messages: BTreeMap<Uuid, NotificationRecord>,
    /// When each request was taken in.
    pub(crate) ages: BTreeSet<(Timestamp, Uuid)>,
    pub(crate) attempts: Vec<AttemptRow>,
    pub(crate) rates: BTreeMap<ProviderName, TokenSchedule>,
    pub(crate) receipts: Vec<FactRow>,
    pub(crate) waiting: Vec<WaitingRow>,
    pub(crate) digests: Digests,
    /// When recipients were erased last, by the hashes of their keys.
    pub(crate) erased: BTreeMap<Fingerprint, Timestamp>,
}

/// An attempt, and when it began.
#[derive(Clone, Debug)]
pub(crate) struct AttemptRow {
    pub(crate) attempt: DeliveryAttempt,
    pub(crate) began_at: i64,
}

/// A request, and how far it has come.
#[derive(Debug)]
pub(crate) struct RequestRow {
    pub(crate) request: NotificationRequest,
    /// Of the request as it was taken in.
    pub(crate) fingerprint: Fingerprint,
    pub(crate) status: RequestStatus,
    pub(crate) reason: Option<Reason>,
    /// When it or one of its messages changed last.
    pub(crate) changed_at: Timestamp,
}

impl Notifications {
    /// The fingerprint of a request as it was taken in, if it is known.
    pub(crate) fn fingerprint(&self, request: Uuid) -> Option<Fingerprint> {
        self.requests.get(&request).map(|row| row.fingerprint)
    }

    pub(crate) fn insert(&mut self, request: NotificationRequest, now: Timestamp) {
        let fingerprint = request.fingerprint();
        self.ages.insert((now, request.id));
        let row = RequestRow {
            status: RequestStatus::Pending,
            reason: None,
            request,
            fingerprint,
            changed_at: now,
        };
        self.requests.insert(row.request.id, row);
    }

    /// Notes a step of a fan-out; with the outbox messages that come with its items.
    pub(crate) fn note(&mut self, step: &FanOutStep, now: Timestamp) -> (StepNoted, Vec<NewMessage>) {
        let Some(row) = self.requests.get_mut(&step.request) else {
            return (StepNoted { status: None, records: Vec::new(), outdated: false }, Vec::new());
        };
        if !step.records.is_empty() && row.request.erased_places() > step.erased_places {
            let noted = StepNoted { status: Some(row.status), records: Vec::new(), outdated: true };
            return (noted, Vec::new());
        }
        if let Some(after) = step.end.moves(row.status, step.takes_up) {
            let old = row.reason.as_ref().map(Reason::as_str);
            row.reason = step.end.reason_after(row.status, old, step.flaw.as_ref());
            (row.status, row.changed_at) = (after, now);
        }
        let status = row.status;
        if !status.has_messages() {
            return (StepNoted { status: Some(status), records: Vec::new(), outdated: false }, Vec::new());
        }
        let is_known = |id: &Uuid| self.messages.contains_key(id);
        let known: BTreeSet<Uuid> = step.records.iter().map(|record| record.id).filter(is_known).collect();
        let records = step.records.iter().map(|record| self.keep(record)).collect();
        let pending = step.items.iter().filter(|new| {
            let record = self.messages.get(&new.item.message.id);
            record.is_some_and(|record| record.status == DeliveryStatus::Pending)
        });
        let messages = pending.filter_map(|new| {
            // An item is checked before it comes here.
            self.digests.join(new, !known.contains(&new.item.message.id), now)?.ok()
        });
        let messages = messages.collect();
        (StepNoted { status: Some(status), records, outdated: false }, messages)
    }

    /// Keeps a record that is missing, of somebody erased if its recipient was: where it stands then, and whether it is of such a recipient.
    pub(crate) fn restore(&mut self, record: &NotificationRecord) -> (Option<DeliveryStatus>, bool) {
        let erased_at = self.erased.get(&recipient_hash(&record.recipient)).copied();
        let Some(row) = self.requests.get(&record.request_id) else {
            return (erased_at.map(|_| DeliveryStatus::Cancelled), erased_at.is_some());
        };
        let taken_in = self.ages.iter().find(|(_, id)| *id == record.request_id).map(|(at, _)| *at);
        let is_lost = row.request.has_lost(&record.recipient, taken_in.unwrap_or(Timestamp::MAX), erased_at);
        let status = row.status;
        if status.has_messages() {
            let kept = self.keep(record);
            return (Some(if is_lost { DeliveryStatus::Cancelled } else { kept }), is_lost);
        }
        let is_over = is_lost || status == RequestStatus::Cancelled;
        (is_over.then_some(DeliveryStatus::Cancelled), is_lost)
    }

    /// Keeps a record unless its id is known, and says where it stands.
    fn keep(&mut self, record: &NotificationRecord) -> DeliveryStatus {
        self.messages.entry(record.id).or_insert_with(|| record.clone()).status
    }

    /// Where a message stands, and which providers may have it.
    pub(crate) fn delivery_state(&self, id: Uuid) -> DeliveryState {
        let mut in_doubt: Vec<ProviderName> = Vec::new();
        for DeliveryAttempt { message, provider, answer, .. } in self.attempts.iter().map(|row| &row.attempt)
        {
            let may_have_it = *message == id && answer.acceptance != Acceptance::NotAccepted;
            if may_have_it && !in_doubt.contains(provider) {
                in_doubt.push(provider.clone());
            }
        }
        DeliveryState { status: self.messages.get(&id).map(|message| message.status), in_doubt }
    }

    /// Moves a failed message on whose dead letter was revived, and says where it stands then.
    pub(crate) fn reopen(&mut self, id: Uuid) -> Option<DeliveryStatus> {
        let message = self.messages.get_mut(&id)?;
        if message.status == DeliveryStatus::Failed {
            let request = self.requests.get(&message.request_id).map(|row| row.status);
            (message.status, message.reason) = DeliveryStatus::revived(request);
        }
        Some(message.status)
    }

    /// Whether a message's recipient was erased.
    pub(crate) fn is_erased(&self, message: Uuid) -> bool {
        self.messages.get(&message).is_some_and(|record| record.recipient == ERASED)
    }

    /// Notes what became of a message.
    pub(crate) fn conclude(&mut self, outcome: &MessageOutcome, now: Timestamp) {
        let Some(message) = self.messages.get_mut(&outcome.id) else { return };
        let Some(after) = message.status.after(outcome.status) else { return };
        message.status = after;
        (message.reason, message.reference) = match message.recipient == ERASED {
            true => (None, None),
            false => (outcome.reason.clone(), outcome.reference.clone()),
        };
        if let Some(row) = self.requests.get_mut(&message.request_id) {
            row.changed_at = now;
        }
    }

    /// Forgets requests that were settled before the bound, with their messages, unless one of them `is_here`: in its queue or a dead letter.
    pub(crate) fn sweep(&mut self, bound: Timestamp, is_here: impl Fn(Uuid) -> bool) -> u64 {
        let old = self.requests.values().filter(|row| row.changed_at < bound).map(|row| row.request.id);
        let going = old.filter(|id| {
            self.progress(*id).is_some_and(|progress| progress.is_settled())
                && !is_here(*id)
                && !self.of_request(*id).any(|message| is_here(message.id))
        });
        let going: BTreeSet<Uuid> = going.collect();
        self.requests.retain(|id, _| !going.contains(id));
        self.ages.retain(|(_, id)| !going.contains(id));
        let messages: BTreeSet<Uuid> =
            going.iter().flat_map(|id| self.of_request(*id)).map(|message| message.id).collect();
        self.messages.retain(|id, _| !messages.contains(id));
        self.attempts.retain(|row| !messages.contains(&row.attempt.message));
        self.receipts.retain(|row| !messages.contains(&row.message));
        self.digests.forget(|id| messages.contains(&id));
        let oldest = self.ages.first().map(|(taken_in, _)| *taken_in);
        self.erased.retain(|_, erased_at| *erased_at >= bound || oldest.is_some_and(|at| at <= *erased_at));
        going.len() as u64
    }

    /// The messages of a request, by id.
    pub(crate) fn of_request(&self, id: Uuid) -> impl Iterator<Item = &NotificationRecord> {
        self.messages.values().filter(move |message| message.request_id == id)
    }

    /// How far a request has come, but for what providers said of its messages.
    pub(crate) fn progress(&self, id: Uuid) -> Option<Progress> {
        let row = self.requests.get(&id)?;
        let reason = row.reason.as_ref().map(|reason| reason.as_str().to_owned());
        let mut progress = Progress::of(row.status, reason);
        self.of_request(id).for_each(|message| progress.count(message.status, 1));
        Some(progress)
    }

    /// What providers said of the messages of a request.
    pub(crate) fn receipt_counts(&self, id: Uuid) -> ReceiptCounts {
        let mut counts = ReceiptCounts::default();
        let is_ours = |message| self.messages.get(message).is_some_and(|record| record.request_id == id);
        let ours = self.receipts.iter().filter(|fact| is_ours(&fact.message));
        ours.for_each(|fact| counts.count(fact.kind, 1));
        counts
    }

    /// Cancels a request, while at most `in_flight` messages of all requests are in hands.
    pub(crate) fn cancel(&mut self, id: Uuid, in_flight: u64, now: Timestamp) -> Cancelled {
        let Some(progress) = self.progress(id) else { return Cancelled::Unknown };
        let Some(row) = self.requests.get_mut(&id) else { return Cancelled::Unknown };
        if !row.status.is_cancellable(progress.pending > 0) {
            return Cancelled::TooLate(progress.status());
        }
        (row.status, row.changed_at) = (RequestStatus::Cancelled, now);
        let of_request = self.messages.values_mut().filter(|message| message.request_id == id);
        let pending = of_request.filter(|message| message.status == DeliveryStatus::Pending);
        pending.for_each(|message| message.status = DeliveryStatus::Cancelled);
        let (messages, delivered) = (progress.pending, progress.delivered);
        Cancelled::Yes(CancelledMessages { messages, delivered, in_hands: messages.min(in_flight) })
    }
}

/// What providers say of messages.
impl Notifications {
    /// The message that a provider took last under a reference.
    pub(crate) fn delivered_as(&self, provider: &ProviderName, reference: &str) -> Option<Uuid> {
        let fits = |row: &&AttemptRow| {
            row.attempt.provider == *provider && row.attempt.reference.as_deref() == Some(reference)
        };
        let newest = self.attempts.iter().filter(fits).max_by_key(|row| (row.began_at, row.attempt.message));
        newest.map(|row| row.attempt.message)
    }

    /// Keeps what was said of a message; whether that was new.
    pub(crate) fn say(&mut self, fact: FactRow) -> bool {
        let is_known = self.receipts.iter().any(|row| (row.message, row.kind) == (fact.message, fact.kind));
        if !is_known {
            self.receipts.push(fact);
        }
        !is_known
    }

    /// Keeps a receipt for later, unless it waits already.
    pub(crate) fn wait(&mut self, row: WaitingRow) {
        let key = |row: &WaitingRow| (row.receipt.provider.clone(), row.receipt.of.clone(), row.receipt.kind);
        if !self.waiting.iter().any(|known| key(known) == key(&row)) {
            self.waiting.push(row);
        }
    }
}
