use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use claimstream_domain::{
    Due, NewMessage,
    notification::{FanOut, NotificationRequest, Priority, RequestStatus, request_message},
};
use claimstream_ports::{StoreError, notification::RequestRead};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        classify::corrupt,
        clock::micros,
        typed_row::row,
        unit::{rows, run},
    },
    enqueue::rows::Enqueueing,
    notifications::requests::Requests,
};

const REMAINS: &str = "failover remains";

/// What an asynchronous failover has left that nobody works on any more: it spans several transactions, of which the failover has lost
/// some.
///
/// Everything else heals by itself, because it is written in one transaction or is tried again until its end is recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FailoverRemains {
    /// Requests whose fan-out has no message in a queue; a repair fans them out again, which sends nothing twice that is recorded.
    pub requests: Vec<Uuid>,
    /// Messages that carry pending notifications and are in no queue; a repair queues them again, so that what was delivered
    /// without a record of it is delivered twice.
    pub messages: Vec<Uuid>,
    /// Pending notifications that nobody can deliver any more: neither their message nor an open request is there.
    pub beyond_repair: Vec<Uuid>,
}

impl FailoverRemains {
    /// Whether there is nothing to repair.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.messages.is_empty()
    }
}

/// Finds and repairs what a failover has left.
pub(crate) struct Remains<'a> {
    pub(crate) db: &'a Database,
    pub(crate) enqueueing: &'a Enqueueing,
    pub(crate) requests: &'a Requests,
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
            let stranded = page.into_iter().filter(|one| {
                !carriers.contains(&one.carrier)
                    && !under_way.contains(&one.request)
                    && !again.contains(&one.request)
            });
            let stranded: Vec<Stranded> = stranded.collect();
            let with_body = self.with_bodies(stranded.iter().map(|one| one.carrier)).await?;
            let (carried, bare): (Vec<_>, Vec<_>) =
                stranded.into_iter().partition(|one| with_body.contains(&one.carrier));
            messages.extend(carried.into_iter().map(|one| one.carrier));
            let dispatched = self.dispatched(bare.iter().map(|one| one.request)).await?;
            for Stranded { id, request, .. } in bare {
                match dispatched.contains(&request) {
                    true => drop(again.insert(request)),
                    false => found.beyond_repair.push(id),
                }
            }
        }
        Ok(FailoverRemains {
            requests: again.into_iter().collect(),
            messages: messages.into_iter().collect(),
            ..found
        })
    }

    /// Has all of it worked on again, in bounded transactions; answers how many messages were queued.
    pub(crate) async fn repair(&self, remains: &FailoverRemains) -> Result<u64, StoreError> {
        let mut queued = 0;
        for ids in remains.messages.chunks(Self::PAGE) {
            queued += self.db.restarting(|| self.queue_again(ids, &[])).await?;
        }
        for ids in remains.requests.chunks(Self::PAGE) {
            let read = self.requests.read(ids).await?;
            let first = read
                .into_iter()
                .flatten()
                .filter(|read| !is_over(read.status))
                .map(|read| first_step(&read.request));
            let first = first.collect::<Result<Vec<NewMessage>, StoreError>>()?;
            let ids: Vec<Uuid> = first.iter().map(|message| message.id.uuid()).collect();
            queued += self.db.restarting(|| self.queue_again(&ids, &first)).await?;
        }
        Ok(queued)
    }

    /// One transaction: messages whose bodies are there are queued, and the others are enqueued if they are among `new`.
    async fn queue_again(&self, ids: &[Uuid], new: &[NewMessage]) -> Result<u64, StoreError> {
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
        let new: Vec<NewMessage> =
            new.iter().filter(|message| !known.contains(&message.id.uuid())).cloned().collect();
        queued += new.len() as u64;
        self.enqueueing.enqueue(&transaction, &new).await?;
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
        let mut requests = HashSet::new();
        for priority in Priority::ALL {
            let args = self.db.args().with("queue", priority.request_queue());
            let ask = || rows(self.db.relay(), REMAINS, self.db.sql.remains.steps.bind(&args));
            for row in self.db.restarting(ask).await? {
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
        let ids: Vec<Uuid> = ids.collect();
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let args = self.db.args().with_list("ids", ids.into_iter().map(bytes));
        let ask = || rows(self.db.relay(), REMAINS, self.db.sql.enqueue.known.bind(&args));
        self.db.restarting(ask).await?.iter().map(|row| row.uuid("id")).collect()
    }

    /// Those of these requests that were dispatched: when one of them is fanned out again, what is pending is enqueued.
    async fn dispatched(&self, requests: impl Iterator<Item = Uuid>) -> Result<HashSet<Uuid>, StoreError> {
        let ids: Vec<Uuid> = requests.collect::<BTreeSet<_>>().into_iter().collect();
        let read = self.requests.read(&ids).await?;
        let is_dispatched = |read: &RequestRead| read.status == RequestStatus::Dispatched;
        Ok(read.into_iter().flatten().filter(is_dispatched).map(|read| read.request.id).collect())
    }
}

/// Whether a request has ended since it was found.
fn is_over(status: RequestStatus) -> bool {
    matches!(status, RequestStatus::Failed | RequestStatus::Cancelled)
}

fn first_step(request: &NotificationRequest) -> Result<NewMessage, StoreError> {
    let message = request_message(request).map_err(|e| corrupt(REMAINS, e))?;
    Ok(NewMessage { due: Due::Now, ..message })
}

row! {
    struct PendingRow of "remains/pending" { id: Uuid, request_id: Uuid, carrier: Uuid }
}
