use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use claimstream_domain::notification::{DeliveryStatus, FanOutEnd, NotificationRecord, RequestStatus};
use claimstream_ports::{
    StoreError,
    notification::{FanOutStep, StepNoted},
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::bytes,
        transaction::Transaction,
        typed_row::row,
        unit::{maybe, rows, run},
    },
    notifications::{records::Records, requests::request_status},
};

const REQUEST: &str = "request";

/// Notes how far the fan-outs of requests have come.
pub(crate) struct FanOuts {
    pub(crate) db: Arc<Database>,
    pub(crate) records: Arc<Records>,
}

/// Where requests stand.
type Standing = HashMap<Uuid, RequestStatus>;

/// The reasons of requests that have one.
type Reasons = HashMap<Uuid, String>;

/// Where requests stand after the transaction, and the records that were kept before it.
type Noted = (Standing, HashMap<Uuid, DeliveryStatus>);

impl FanOuts {
    /// How many requests one statement names.
    const IDS: usize = 500;

    /// Notes steps in one transaction, and answers where their requests and records stand then.
    ///
    /// Locks are taken in one order, requests before records and each kind by id, so that two calls with the same ones wait for
    /// each other and do not end in a deadlock.
    pub(crate) async fn note(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let (standing, known) = self.db.restarting_beside(REQUEST, || self.write(steps)).await?;
        let noted = |step: &FanOutStep| {
            let status = standing.get(&step.request).copied();
            let kept = if has_messages(status) { &step.records[..] } else { &[] };
            let stands =
                |record: &NotificationRecord| known.get(&record.id).copied().unwrap_or(record.status);
            StepNoted { status, records: kept.iter().map(stands).collect() }
        };
        Ok(steps.iter().map(noted).collect())
    }

    async fn write(&self, steps: &[FanOutStep]) -> Result<Noted, StoreError> {
        if steps.iter().all(is_last)
            && let Some(noted) = self.dispatch(steps).await?
        {
            return Ok(noted);
        }
        let transaction = self.db.begin_beside(REQUEST).await?;
        let (mut standing, reasons) = self.lock(&transaction, steps).await?;
        self.move_on(&transaction, steps, &mut standing, reasons).await?;
        self.keep(transaction, steps, standing).await
    }

    /// Notes the last steps of requests that are all open, which is how most steps end; one statement locks and moves them.
    /// Answers `None` if a request is not open: nothing is noted then.
    async fn dispatch(&self, steps: &[FanOutStep]) -> Result<Option<Noted>, StoreError> {
        let ids = requests(steps);
        let transaction = self.db.begin_beside(REQUEST).await?;
        let mut moved = 0;
        for ids in ids.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let statement = self.db.sql.notifications.request_dispatch.bind(&args);
            moved += run(&transaction, REQUEST, statement).await?;
        }
        if moved < ids.len() as u64 {
            self.db.roll_back(REQUEST, transaction).await?;
            return Ok(None);
        }
        let standing = ids.into_iter().map(|id| (id, RequestStatus::Dispatched)).collect();
        self.keep(transaction, steps, standing).await.map(Some)
    }

    /// Keeps the records of the steps whose requests have messages, and commits.
    async fn keep(
        &self,
        transaction: Transaction<'_>,
        steps: &[FanOutStep],
        standing: Standing,
    ) -> Result<Noted, StoreError> {
        let kept = steps.iter().filter(|step| has_messages(standing.get(&step.request).copied()));
        let records: Vec<&NotificationRecord> = kept.flat_map(|step| &step.records).collect();
        let known = self.records.keep(&transaction, records).await?;
        self.db.commit(REQUEST, transaction).await?;
        Ok((standing, known))
    }

    /// Locks the requests of these steps.
    async fn lock(
        &self,
        on: &impl ConnectionTrait,
        steps: &[FanOutStep],
    ) -> Result<(Standing, Reasons), StoreError> {
        let (mut standing, mut reasons) = (Standing::new(), Reasons::new());
        for ids in requests(steps).chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            for row in rows(on, REQUEST, self.db.sql.notifications.request_lock.bind(&args)).await? {
                let LockedRow { id, status, reason } = LockedRow::read(&row)?;
                standing.insert(id, request_status(&status)?);
                reasons.extend(reason.map(|reason| (id, reason)));
            }
        }
        Ok((standing, reasons))
    }

    /// Moves requests on that are locked; those that come to the same end share a statement.
    async fn move_on(
        &self,
        on: &impl ConnectionTrait,
        steps: &[FanOutStep],
        standing: &mut Standing,
        mut reasons: Reasons,
    ) -> Result<(), StoreError> {
        let mut moved: BTreeSet<Uuid> = BTreeSet::new();
        for FanOutStep { request, end, takes_up, flaw, .. } in steps {
            let Some(before) = standing.get_mut(request) else { continue };
            let Some(after) = end.moves(*before, *takes_up) else { continue };
            let is_there = *before == after && *end == FanOutEnd::More && flaw.is_none();
            let reason = reasons.remove(request);
            let reason = end.reason_after(*before, reason.as_deref(), flaw.as_ref());
            reasons.extend(reason.map(|reason| (*request, reason.as_str().to_owned())));
            *before = after;
            if !is_there {
                moved.insert(*request);
            }
        }
        let mut groups: HashMap<(RequestStatus, Option<&str>), Vec<Uuid>> = HashMap::new();
        for request in moved {
            let reason = reasons.get(&request).map(String::as_str);
            groups.entry((standing[&request], reason)).or_default().push(request);
        }
        for ((status, reason), ids) in groups {
            for ids in ids.chunks(Self::IDS) {
                let args = self
                    .db
                    .args()
                    .with("status", status.name())
                    .with("reason", maybe(reason))
                    .with_list("ids", ids.iter().copied().map(bytes));
                run(on, REQUEST, self.db.sql.notifications.request_move.bind(&args)).await?;
            }
        }
        Ok(())
    }
}

/// Whether a step is the last one of a request that has not failed before, and has found no flaw.
fn is_last(step: &FanOutStep) -> bool {
    step.end == FanOutEnd::Done && !step.takes_up && step.flaw.is_none()
}

/// The requests of steps, by id.
fn requests(steps: &[FanOutStep]) -> Vec<Uuid> {
    let ids: BTreeSet<Uuid> = steps.iter().map(|step| step.request).collect();
    ids.into_iter().collect()
}

fn has_messages(status: Option<RequestStatus>) -> bool {
    status.is_some_and(RequestStatus::has_messages)
}

row! {
    struct LockedRow of "notifications/request_lock" { id: Uuid, status: String, reason: Option<String> }
}
