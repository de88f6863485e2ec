use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use claimstream_domain::notification::{
    DeliveryStatus, FanOutEnd, NotificationRecord, NotificationRequest, RequestStatus, digest::NewDigestItem,
};
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
        classify::corrupt,
        transaction::Transaction,
        typed_row::row,
        unit::{maybe, rows, run},
    },
    notifications::{digests::DigestRows, records::Records, statuses::request_status},
};

const REQUEST: &str = "request";

/// Notes how far the fan-outs of requests have come.
pub(crate) struct FanOuts {
    pub(crate) db: Arc<Database>,
    pub(crate) records: Arc<Records>,
    pub(crate) digests: Arc<DigestRows>,
}

/// Where requests stand.
pub(super) type Standing = HashMap<Uuid, RequestStatus>;

/// The reasons of requests that have one.
pub(super) type Reasons = HashMap<Uuid, String>;

/// In how many places of requests somebody was erased, of those with any.
type ErasedPlaces = HashMap<Uuid, usize>;

/// Where everything stands after the transaction.
struct Noted {
    standing: Standing,
    /// The records that were kept before it.
    known: HashMap<Uuid, DeliveryStatus>,
    erased: ErasedPlaces,
}

impl FanOuts {
    /// How many requests one statement names.
    const IDS: usize = 500;

    /// Notes steps in one transaction, and answers where their requests and records stand then.
    ///
    /// Locks are taken in one order, requests before records before digests, and each kind by id, so that two calls with the same ones wait for
    /// each other and do not end in a deadlock.
    pub(crate) async fn note(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError> {
        let Noted { standing, known, erased } =
            self.db.restarting_beside(REQUEST, || self.write(steps)).await?;
        let noted = |step: &FanOutStep| {
            let (status, outdated) = (standing.get(&step.request).copied(), is_outdated(step, &erased));
            let kept = if has_messages(status) && !outdated { &step.records[..] } else { &[] };
            let stands =
                |record: &NotificationRecord| known.get(&record.id).copied().unwrap_or(record.status);
            StepNoted { status, records: kept.iter().map(stands).collect(), outdated }
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
        let erased = self.erased(&transaction, steps).await?;
        let steps = || steps.iter().filter(|step| !is_outdated(step, &erased));
        self.move_on(&transaction, steps(), &mut standing, reasons).await?;
        let known = self.keep(transaction, steps(), &standing).await?;
        Ok(Noted { standing, known, erased })
    }

    /// Notes the last steps of requests that are all open, which is how most steps end; one statement locks and moves them.
    /// Answers `None` if a request is not open, or a recipient of it was erased since it was read: nothing is noted then.
    async fn dispatch(&self, steps: &[FanOutStep]) -> Result<Option<Noted>, StoreError> {
        let ids = requests(steps);
        let transaction = self.db.begin_beside(REQUEST).await?;
        let mut moved = 0;
        for ids in ids.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            let statement = self.db.sql.notifications.request_dispatch.bind(&args);
            moved += run(&transaction, REQUEST, statement).await?;
        }
        let all_open = moved >= ids.len() as u64;
        let erased = if all_open { self.erased(&transaction, steps).await? } else { ErasedPlaces::new() };
        if !all_open || steps.iter().any(|step| is_outdated(step, &erased)) {
            self.db.roll_back(REQUEST, transaction).await?;
            return Ok(None);
        }
        let standing = ids.into_iter().map(|id| (id, RequestStatus::Dispatched)).collect();
        let known = self.keep(transaction, steps.iter(), &standing).await?;
        Ok(Some(Noted { standing, known, erased }))
    }

    /// Looks what of these requests, whose rows the transaction holds, was erased: no erasure ends between the look and its commit.
    async fn erased(
        &self,
        on: &impl ConnectionTrait,
        steps: &[FanOutStep],
    ) -> Result<ErasedPlaces, StoreError> {
        let mut erased = ErasedPlaces::new();
        let with_records: Vec<Uuid> = requests(steps.iter().filter(|step| !step.records.is_empty()));
        for ids in with_records.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            for row in rows(on, REQUEST, self.db.sql.notifications.erase_since.bind(&args)).await? {
                let ErasedRow { id, request } = ErasedRow::read(&row)?;
                let request: NotificationRequest =
                    serde_json::from_slice(&request).map_err(|e| corrupt(REQUEST, e))?;
                erased.insert(id, request.erased_places());
            }
        }
        Ok(erased)
    }

    /// Keeps the records of the steps whose requests have messages, and commits.
    async fn keep<'a>(
        &self,
        transaction: Transaction<'_>,
        steps: impl Iterator<Item = &'a FanOutStep>,
        standing: &Standing,
    ) -> Result<HashMap<Uuid, DeliveryStatus>, StoreError> {
        let kept: Vec<&FanOutStep> =
            steps.filter(|step| has_messages(standing.get(&step.request).copied())).collect();
        let records: Vec<&NotificationRecord> = kept.iter().flat_map(|step| &step.records).collect();
        let known = self.records.keep(&transaction, records).await?;
        let is_open = |new: &&NewDigestItem| {
            known.get(&new.item.message.id).is_none_or(|status| *status == DeliveryStatus::Pending)
        };
        let items: Vec<_> = kept.iter().flat_map(|step| &step.items).filter(is_open).collect();
        if !items.is_empty() {
            self.digests.join(&transaction, items, |id| !known.contains_key(&id)).await?;
        }
        self.db.commit(REQUEST, transaction).await?;
        Ok(known)
    }

    /// Locks the requests of these steps.
    pub(super) async fn lock(
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
    pub(super) async fn move_on<'a>(
        &self,
        on: &impl ConnectionTrait,
        steps: impl Iterator<Item = &'a FanOutStep>,
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
fn requests<'a>(steps: impl IntoIterator<Item = &'a FanOutStep>) -> Vec<Uuid> {
    let ids: BTreeSet<Uuid> = steps.into_iter().map(|step| step.request).collect();
    ids.into_iter().collect()
}

/// Whether more of the step's request was erased than when it was read.
fn is_outdated(step: &FanOutStep, erased: &ErasedPlaces) -> bool {
    erased.get(&step.request).is_some_and(|places| *places > step.erased_places)
}

fn has_messages(status: Option<RequestStatus>) -> bool {
    status.is_some_and(RequestStatus::has_messages)
}

row! {
    struct ErasedRow of "notifications/erase_since" { id: Uuid, request: Vec<u8> }
}

row! {
    struct LockedRow of "notifications/request_lock" { id: Uuid, status: String, reason: Option<String> }
}
