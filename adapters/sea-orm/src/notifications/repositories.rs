use std::sync::Arc;

use crate::{
    enqueue::rows::Enqueueing,
    notifications::{
        attempts::Attempts, digests::DigestRows, erasing::Erasing, erasures::Erasures, fan_outs::FanOuts,
        forgetting::Forgetting, in_app::InApp, people::People, preferences::PreferenceRows, rates::Rates,
        receipts::ReceiptRows, records::Records, requests::Requests, suppressions::SuppressionRows,
        templates::TemplateRows,
    },
};

/// The repositories of notifications; all handles of an outbox share them.
pub(crate) struct Repositories {
    pub(crate) requests: Requests,
    pub(crate) records: Arc<Records>,
    pub(crate) fan_outs: FanOuts,
    pub(crate) digests: Arc<DigestRows>,
    pub(crate) in_app: Arc<InApp>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) erasing: Erasing,
    pub(crate) people: Arc<People>,
    pub(crate) preferences: PreferenceRows,
    pub(crate) suppressions: SuppressionRows,
    pub(crate) receipts: ReceiptRows,
    pub(crate) templates: TemplateRows,
}

impl Repositories {
    pub(crate) fn of(enqueueing: &Arc<Enqueueing>) -> Self {
        let db = &enqueueing.db;
        let records = Arc::new(Records::of(Arc::clone(db)));
        let people = Arc::new(People::of(Arc::clone(db)));
        let forgetting = Forgetting { db: Arc::clone(db), people: Arc::clone(&people) };
        let digests = DigestRows { db: Arc::clone(db), enqueueing: Arc::clone(enqueueing) };
        let digests = Arc::new(digests);
        Self {
            requests: Requests { db: Arc::clone(db), enqueueing: Arc::clone(enqueueing) },
            fan_outs: FanOuts {
                db: Arc::clone(db),
                records: Arc::clone(&records),
                digests: Arc::clone(&digests),
            },
            in_app: Arc::new(InApp::of(Arc::clone(db))),
            erasing: Erasing {
                db: Arc::clone(db),
                forgetting,
                digests: Arc::clone(&digests),
                erasures: Erasures { db: Arc::clone(db) },
            },
            digests,
            records,
            attempts: Arc::new(Attempts::of(Arc::clone(db))),
            rates: Arc::new(Rates { db: Arc::clone(db) }),
            people,
            preferences: PreferenceRows { db: Arc::clone(db) },
            suppressions: SuppressionRows { db: Arc::clone(db) },
            receipts: ReceiptRows { db: Arc::clone(db) },
            templates: TemplateRows { db: Arc::clone(db) },
        }
    }
}
