use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use claimstream_domain::{
    NewMessage,
    notification::{DeliveryStatus, FanOut, NotificationRequest, Priority, RequestStatus, repair_message},
};
use claimstream_ports::{StoreError, StoreErrorKind, notification::MessageOutcome};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        clock::micros,
        sql::Sql,
        typed_row::row,
        unit::{rows, run},
    },
    enqueue::rows::Enqueueing,
    notifications::{
        failover_remains::{FailoverRemains, FailoverRepair},
        records::Records,
        requests::Requests,
        statuses::request_status,
    },
};

const REMAINS: &str = "failover remains";

/// Finds and repairs what a failover has left.
pub(crate) struct Remains<'a> {
    pub(crate) db: &'a Database,
    pub(crate) enqueueing: &'a Enqueueing,
    pub(crate) requests: &'a Requests,
    pub(crate) records: &'a Arc<Records>,
}

/// A pending notification that no message in a queue carries.
struct Stranded {
    id: Uuid,
    request: Uuid,
    carrier: Uuid,
}

impl Remains<'_> {
    /// How many rows one statement reads or names.
    const PAGE: usize = 500;
    /// How many requests one transaction fans out again. Each looks through all steps that are queued, so with few requests in each the work
    /// would grow with the square of what is left.
    const HELD: usize = 2_000;

    /// What has been left by now, of what has not changed for `quiet`. It walks over whole tables.
    pub(crate) async fn find(&self, quiet: Duration) -> Result<FailoverRemains, StoreError> {
        let args = self.db.args().with("quiet", micros(quiet));
        // What is open is read before what is queued: a fan-out that goes on meanwhile has its next step queued by then.
        let mut open = self.open_requests(&args).await?;
        let under_way = self.requests_under_way().await?;
        open.retain(|request| !under_way.contains(request));
        let carriers = self.carriers().await?;
        let mut found = FailoverRemains::default();
        let (mut again, mut after) = (open.into_iter().collect::<BTreeSet<Uuid>>(), Uuid::nil());
        let mut messages = BTreeSet::new();
        loop {
            let page = self.pending(&args, after).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            let stranded = page
                .into_iter()
                .filter(|one| !carriers.contains(&one.carrier) && !under_way.contains(&one.request));
            let stranded: Vec<Stranded> = stranded.collect();
            let had = self.had_by_providers(stranded.iter().map(|one| one.carrier)).await?;
            let (had, stranded): (Vec<_>, Vec<_>) =
                stranded.into_iter().partition(|one| had.contains(&one.carrier));
            found.delivered.extend(had.into_iter().map(|one| one.id));
            let with_body = self.with_bodies(stranded.iter().map(|one| one.carrier)).await?;
            let (carried, bare): (Vec<_>, Vec<_>) =
                stranded.into_iter().partition(|one| with_body.contains(&one.carrier));
            messages.extend(carried.into_iter().map(|one| one.carrier));
            // A fan-out that is repeated enqueues the messages whose bodies are gone, and no others.
            let bare: Vec<_> = bare.into_iter().filter(|one| !again.contains(&one.request)).collect();
            let standing = self.standing(bare.iter().map(|one| one.request)).await?;
            for Stranded { id, request, .. } in bare {
                match standing.get(&request) {
                    Some(RequestStatus::Dispatched) => drop(again.insert(request)),
                    // It has changed a moment ago. A later look finds it, unless somebody works on it.
                    Some(RequestStatus::Pending | RequestStatus::Processing) => {}
                    _ => found.beyond_repair.push(id),
                }
            }
        }
        Ok(FailoverRemains {
            requests: again.into_iter().collect(),
            messages: messages.into_iter().collect(),
            ..found
        })
    }

    /// Has all of it worked on again, in bounded transactions.
    pub(crate) async fn repair(&self, remains: &FailoverRemains) -> Result<FailoverRepair, StoreError> {
        // What was delivered is noted first: a fan-out that is repeated enqueues what is pending.
        for ids in remains.delivered.chunks(Self::PAGE) {
            self.records.conclude(ids.iter().copied().map(delivered).collect()).await?;
        }
        let mut came_to = FailoverRepair::default();
        for ids in remains.messages.chunks(Self::PAGE) {
            came_to.queued += self.db.restarting(|| self.queue_again(ids)).await?;
        }
        let repair = Uuid::now_v7();
        for ids in remains.requests.chunks(Self::HELD) {
            let FailoverRepair { queued, unreadable } =
                self.db.restarting(|| self.fan_out_again(ids, repair)).await?;
            came_to.queued += queued;
            came_to.unreadable.extend(unreadable);
        }
        Ok(came_to)
    }

    /// Enqueues the first step of requests that are not over and of which no step is queued, under ids that no step has had.
    ///
    /// The transaction locks the requests and writes them, so of two repairs at the same time, also at two nodes of a cluster, the second finds
    /// the steps of the first.
    async fn fan_out_again(&self, ids: &[Uuid], repair: Uuid) -> Result<FailoverRepair, StoreError> {
        let (first_steps, mut unreadable) = self.first_steps(ids, repair).await?;
        let transaction = self.db.begin(REMAINS).await?;
        let mut open = HashSet::new();
        for ids in ids.chunks(Self::PAGE) {
            let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
            for row in rows(&transaction, REMAINS, self.db.sql.notifications.request_lock.bind(&args)).await?
            {
                if !is_over(request_status(&row.text("status")?)?) {
                    open.insert(row.uuid("id")?);
                }
            }
        }
        let under_way = self.steps(&transaction).await?;
        let is_left = |id: &Uuid| open.contains(id) && !under_way.contains(id);
        unreadable.retain(is_left);
        let again: Vec<_> = first_steps.into_iter().filter(|(id, _)| is_left(id)).collect();
        self.take_up(&transaction, &again.iter().map(|(id, _)| *id).collect::<Vec<_>>()).await?;
        let again: Vec<NewMessage> = again.into_iter().map(|(_, step)| step).collect();
        for again in again.chunks(Self::PAGE) {
            self.enqueueing.enqueue(&transaction, again).await?;
        }
        self.db.commit(REMAINS, transaction).await?;
        Ok(FailoverRepair { queued: again.len() as u64, unreadable })
    }

    /// Holds these requests, and takes pending messages of them out of digests whose own messages are gone: a fan-out then enqueues each by itself.
    async fn take_up(&self, on: &impl ConnectionTrait, requests: &[Uuid]) -> Result<(), StoreError> {
        let of = |ids: &[Uuid]| self.db.args().with_list("ids", ids.iter().copied().map(bytes));
        for requests in requests.chunks(Self::PAGE) {
            run(on, REMAINS, self.db.sql.remains.hold.bind(&of(requests))).await?;
            let lost = rows(on, REMAINS, self.db.sql.remains.lost_items.bind(&of(requests))).await?;
            let lost = lost.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
            for lost in lost.chunks(Self::PAGE) {
                run(on, REMAINS, self.db.sql.digests.forget.bind(&of(lost))).await?;
            }
        }
        Ok(())
    }

    /// The steps that fan requests out once more, and the requests that cannot be read: one of these keeps no other one from its repair.
    async fn first_steps(
        &self,
        ids: &[Uuid],
        repair: Uuid,
    ) -> Result<(Vec<(Uuid, NewMessage)>, Vec<Uuid>), StoreError> {
        let (mut steps, mut unreadable) = (Vec::new(), Vec::new());
        for ids in ids.chunks(Self::PAGE) {
            for request in self.readable(ids, &mut unreadable).await? {
                match repair_message(&request, repair) {
                    Ok(step) => steps.push((request.id, step)),
                    Err(error) => unreadable.push(says_unreadable(request.id, &error)),
                }
            }
        }
        Ok((steps, unreadable))
    }

    async fn readable(
        &self,
        ids: &[Uuid],
        unreadable: &mut Vec<Uuid>,
    ) -> Result<Vec<NotificationRequest>, StoreError> {
        let read = match self.requests.read(ids).await {
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                let mut read = Vec::new();
                for id in ids {
                    match self.requests.read(&[*id]).await {
                        Ok(one) => read.extend(one),
                        Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                            unreadable.push(says_unreadable(*id, &error));
                        }
                        Err(error) => return Err(error),
                    }
                }
                read
            }
            read => read?,
        };
        Ok(read.into_iter().flatten().map(|read| read.request).collect())
    }

    /// Queues messages whose bodies are there, in one transaction.
    async fn queue_again(&self, ids: &[Uuid]) -> Result<u64, StoreError> {
        let transaction = self.db.begin(REMAINS).await?;
        let args = self.db.args().with_list("ids", ids.iter().copied().map(bytes));
        let known = self.bodies(&transaction, &args).await?;
        let sql = &self.db.sql;
        let mut queued = 0;
        if !known.is_empty() {
            // Their bodies are kept from now on as long as those of new messages.
            run(&transaction, REMAINS, sql.dead_letters.revive_message.bind(&args)).await?;
            queued += run(&transaction, REMAINS, sql.remains.requeue.bind(&args)).await?;
        }
        self.db.commit(REMAINS, transaction).await?;
        Ok(queued)
    }

    async fn bodies(&self, on: &impl ConnectionTrait, args: &Args) -> Result<HashSet<Uuid>, StoreError> {
        let found = rows(on, REMAINS, self.db.sql.remains.bodies.bind(args)).await?;
        found.iter().map(|row| row.uuid("id")).collect()
    }

    async fn open_requests(&self, args: &Args) -> Result<Vec<Uuid>, StoreError> {
        let (mut open, mut after) = (Vec::new(), Uuid::nil());
        loop {
            let args = args.clone().with("after", bytes(after)).with("limit", Self::PAGE as i64);
            let sql = &self.db.sql.remains.open_requests;
            let page = self.db.restarting(|| rows(self.db.relay(), REMAINS, sql.bind(&args))).await?;
            let ids = page.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = ids.last() else { return Ok(open) };
            after = *last;
            open.extend(ids);
        }
    }

    /// The requests of which a step is queued, or is a dead letter, which an operator revives.
    async fn requests_under_way(&self) -> Result<HashSet<Uuid>, StoreError> {
        self.db.restarting(|| self.steps(self.db.relay())).await
    }

    async fn steps(&self, on: &impl ConnectionTrait) -> Result<HashSet<Uuid>, StoreError> {
        let mut requests = HashSet::new();
        for priority in Priority::ALL {
            let args = self.db.args().with("queue", priority.request_queue());
            for row in rows(on, REMAINS, self.db.sql.remains.steps.bind(&args)).await? {
                // A dead letter without a body, or that is no step because somebody wrote it wrong, works on no request.
                let payload = row.maybe_bytes("payload")?.unwrap_or_default();
                if let Ok(step) = serde_json::from_slice::<FanOut>(&payload) {
                    requests.insert(step.request);
                }
            }
        }
        Ok(requests)
    }

    /// The messages that carry notifications and are queued, or are dead letters.
    async fn carriers(&self) -> Result<HashSet<Uuid>, StoreError> {
        let mut carriers = HashSet::new();
        for priority in Priority::ALL {
            let args = self.db.args().with("queue", priority.message_queue());
            let ask = || rows(self.db.relay(), REMAINS, self.db.sql.remains.carriers.bind(&args));
            for row in self.db.restarting(ask).await? {
                carriers.insert(row.uuid("id")?);
            }
        }
        Ok(carriers)
    }

    async fn pending(&self, args: &Args, after: Uuid) -> Result<Vec<Stranded>, StoreError> {
        let args = args.clone().with("after", bytes(after)).with("limit", Self::PAGE as i64);
        let ask = || rows(self.db.relay(), REMAINS, self.db.sql.remains.pending.bind(&args));
        let found = self.db.restarting(ask).await?;
        let stranded = |row| {
            let PendingRow { id, request_id, carrier } = PendingRow::read(row)?;
            Ok(Stranded { id, request: request_id, carrier })
        };
        found.iter().map(stranded).collect()
    }

    async fn with_bodies(&self, ids: impl Iterator<Item = Uuid>) -> Result<HashSet<Uuid>, StoreError> {
        self.among(ids, &self.db.sql.enqueue.known).await
    }

    /// Those of these messages that a provider has.
    async fn had_by_providers(&self, ids: impl Iterator<Item = Uuid>) -> Result<HashSet<Uuid>, StoreError> {
        self.among(ids, &self.db.sql.remains.delivered).await
    }

    /// Those of these ids that a statement answers.
    async fn among(&self, ids: impl Iterator<Item = Uuid>, sql: &Sql) -> Result<HashSet<Uuid>, StoreError> {
        let ids: BTreeSet<Uuid> = ids.collect();
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let args = self.db.args().with_list("ids", ids.into_iter().map(bytes));
        let ask = || rows(self.db.relay(), REMAINS, sql.bind(&args));
        self.db.restarting(ask).await?.iter().map(|row| row.uuid("id")).collect()
    }

    /// Where these requests stand: when one is fanned out again that was dispatched, what is pending is enqueued.
    async fn standing(
        &self,
        requests: impl Iterator<Item = Uuid>,
    ) -> Result<HashMap<Uuid, RequestStatus>, StoreError> {
        let ids: BTreeSet<Uuid> = requests.collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let args = self.db.args().with_list("ids", ids.into_iter().map(bytes));
        let ask = || rows(self.db.relay(), REMAINS, self.db.sql.remains.standing.bind(&args));
        let found = self.db.restarting(ask).await?;
        found.iter().map(|row| Ok((row.uuid("id")?, request_status(&row.text("status")?)?))).collect()
    }
}

/// Logs why a request is not fanned out again, and answers its id.
fn says_unreadable(request: Uuid, error: &dyn std::error::Error) -> Uuid {
    tracing::warn!(%request, %error, "a request cannot be read, and is not fanned out again");
    request
}

/// Whether a request has ended since it was found.
fn is_over(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::Failed | RequestStatus::Cancelled)
}

/// The outcome of a notification that a provider has.
fn delivered(id: Uuid) -> MessageOutcome {
    MessageOutcome { id, status: DeliveryStatus::Delivered, reason: None, reference: None }
}

row! {
    struct PendingRow of "remains/pending" { id: Uuid, request_id: Uuid, carrier: Uuid }
}
