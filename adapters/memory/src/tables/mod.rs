//! What a store holds: plain data, and what may be asked of it without waiting.

mod audit;
mod change;
mod dead;
mod digests;
mod in_app;
mod instances;
mod locks;
mod notifications;
mod open_transactions;
mod outbox;
mod pauses;
mod people;
mod preferences;
mod receipts;
mod row;
mod sagas;
mod steps;
mod templates;

use std::task::Waker;

use claimstream_domain::Timestamp;

use self::{
    audit::Audit, in_app::InApp, instances::Instances, locks::Locks, open_transactions::OpenTransactions,
    outbox::Outbox, pauses::Pauses, sagas::Sagas, steps::Steps, templates::TemplateTable,
};
pub(crate) use self::{
    change::{Change, Identity, TransactionId, identities},
    in_app::InAppRow,
    notifications::{AttemptRow, Notifications, RequestRow},
    people::People,
    preferences::{Consents, SuppressionRow},
    receipts::{FactRow, WaitingRow},
    row::Row,
    templates::VersionRow,
};

/// The committed tables, and the changes of open transactions.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) outbox: Outbox,
    pub(crate) notifications: Notifications,
    pub(crate) in_app: InApp,
    pub(crate) consents: Consents,
    pub(crate) templates: TemplateTable,
    pub(crate) people: People,
    pub(crate) steps: Steps,
    pub(crate) sagas: Sagas,
    pub(crate) instances: Instances,
    pub(crate) locks: Locks,
    pub(crate) pauses: Pauses,
    pub(crate) audit: Audit,
    pub(crate) open: OpenTransactions,
}

impl Tables {
    /// Makes the writes of a transaction visible, and answers with those that waited for it.
    pub(crate) fn commit(&mut self, id: TransactionId, now: Timestamp) -> Vec<Waker> {
        let (changes, wakers) = self.open.end(id);
        for change in changes {
            match change {
                Change::Enqueue(row) => self.outbox.enqueue(row, now),
                Change::Submit(request) => self.notifications.insert(*request, now),
                Change::Step(key, step) => self.steps.put(key, step, now),
                Change::Saga(saga, at) => self.sagas.insert(saga, at),
            }
        }
        wakers
    }
}
