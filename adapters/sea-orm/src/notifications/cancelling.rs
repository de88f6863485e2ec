use claimstream_domain::{
    Due,
    notification::{NotificationRequest, Priority, RequestStatus},
};
use claimstream_ports::{
    StoreError,
    notification::{Cancelled, CancelledMessages},
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        args::{Args, bytes},
        capability::{Capability, rows_of},
        clock::micros,
        typed_row::row,
        unit::{rows, run},
    },
    notifications::{requests::Requests, statuses::request_status},
};

const CANCEL: &str = "cancel";

/// How a request was called off.
enum Called {
    /// It is cancelled; so many messages were taken back with it, and the last one of them that was looked at.
    Off(u64, Uuid),
    /// There was nothing left to take back.
    TooLate,
    /// There is no such request.
    Unknown,
}

/// Cancelling of requests.
impl Requests {
    /// So many messages are taken back in one transaction.
    const TAKEN_BACK: i64 = 500;

    /// Calls a request off, and takes its pending messages back chunk by chunk.
    pub(crate) async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError> {
        let in_flight = self.in_flight().await?;
        let call = || self.call_off(id);
        let (mut messages, mut after) = match self.db.restarting_beside(CANCEL, call).await? {
            Called::Off(messages, after) => (messages, after),
            Called::Unknown => return Ok(Cancelled::Unknown),
            Called::TooLate => {
                let progress = self.progress(id).await?;
                return Ok(progress.map_or(Cancelled::Unknown, |found| Cancelled::TooLate(found.status())));
            }
        };
        while after != Uuid::max() {
            let more = || self.take_back(self.db.callers(), id, after);
            let (taken, last) = self.db.restarting_beside(CANCEL, more).await?;
            (messages, after) = (messages + taken, last);
        }
        let delivered = self.progress(id).await?.map_or(0, |progress| progress.delivered);
        Ok(Cancelled::Yes(CancelledMessages { messages, delivered, in_hands: messages.min(in_flight) }))
    }

    /// One transaction that cancels the request, with its outbox message or the first of its messages.
    async fn call_off(&self, id: Uuid) -> Result<Called, StoreError> {
        let transaction = self.db.begin_beside(CANCEL).await?;
        let args = self.db.args().with("id", bytes(id));
        let sql = &self.db.sql.notifications;
        let found = rows(&transaction, CANCEL, sql.request_hold.bind(&args)).await?;
        let Some(found) = found.first().map(HeldRow::read).transpose()? else {
            self.db.roll_back(CANCEL, transaction).await?;
            return Ok(Called::Unknown);
        };
        let status = request_status(&found.status)?;
        let (taken, last) = match status {
            RequestStatus::Pending => (0, Uuid::max()),
            _ => self.take_back(&transaction, id, Uuid::nil()).await?,
        };
        if !status.is_cancellable(taken > 0) {
            self.db.roll_back(CANCEL, transaction).await?;
            return Ok(Called::TooLate);
        }
        if status != RequestStatus::Cancelled {
            run(&transaction, CANCEL, sql.request_cancel.bind(&args)).await?;
        }
        if status == RequestStatus::Pending {
            self.remove_from_outbox(&transaction, id, &found).await?;
        }
        self.db.commit(CANCEL, transaction).await?;
        Ok(Called::Off(taken, last))
    }

    /// Takes the outbox message of a pending request away, if it is not due yet. One that is due may be in a relay's hands under a
    /// shard lease; it is acked when it is met. That of a request that cannot be read stays as well: where it stands in its queue is said
    /// by the request alone. It sends nothing: a relay that meets it tries it as often as any request that it
    /// cannot read, and buries it.
    async fn remove_from_outbox(
        &self,
        on: &impl ConnectionTrait,
        id: Uuid,
        held: &HeldRow,
    ) -> Result<(), StoreError> {
        let Ok(request) = serde_json::from_slice::<NotificationRequest>(&held.request) else {
            return Ok(());
        };
        let from = match request.due() {
            Due::At(at) => at.as_micros(),
            Due::After(delay) => held.created_at.saturating_add(micros(delay)),
            Due::Now => held.created_at,
        };
        // Its body says where it is: the process that wrote it may have known another number of shards.
        let of_body = self.db.args().with_list("ids", [bytes(id)]);
        let body = rows(on, CANCEL, self.db.sql.observe.places.bind(&of_body)).await?;
        let Some(BodyRow { shard }) = body.first().map(BodyRow::read).transpose()? else { return Ok(()) };
        let place: Args = self.db.args().with("queue", request.priority.request_queue()).with("shard", shard);
        let place = place.with("id", bytes(id)).with("from", from);
        let sql = &self.db.sql.notifications;
        let Some(found) = rows(on, CANCEL, sql.outbox_find.bind(&place)).await?.into_iter().next() else {
            return Ok(());
        };
        let place = place.with("due_at", found.int("due_at")?);
        run(on, CANCEL, sql.outbox_remove.bind(&place)).await.map(|_| ())
    }

    /// Takes the next pending messages of a request back: how many, and the last one; the last there is if these were all.
    async fn take_back(
        &self,
        on: &impl ConnectionTrait,
        id: Uuid,
        after: Uuid,
    ) -> Result<(u64, Uuid), StoreError> {
        let args = self.db.args().with("id", bytes(id)).with("after", bytes(after));
        let args = args.with("limit", Self::TAKEN_BACK);
        let page = rows(on, CANCEL, self.db.sql.notifications.message_pending.bind(&args)).await?;
        let ids = page.iter().map(|row| row.uuid("id")).collect::<Result<Vec<Uuid>, _>>()?;
        let Some(last) = ids.last().copied() else { return Ok((0, Uuid::max())) };
        let is_full = ids.len() as i64 == Self::TAKEN_BACK;
        let args = self.db.args().with_list("ids", ids.into_iter().map(bytes));
        let taken = run(on, CANCEL, self.db.sql.notifications.message_take_back.bind(&args)).await?;
        Ok((taken, if is_full { last } else { Uuid::max() }))
    }

    /// How many notification messages relays have claimed.
    async fn in_flight(&self) -> Result<u64, StoreError> {
        let args =
            self.db.args().with_list("queues", Priority::ALL.map(|priority| priority.message_queue().into()));
        let (sql, on) = (&self.db.sql.observe, self.db.callers());
        let claimed = || rows(on, CANCEL, sql.claimed.bind(&args));
        let claimed = self.db.restarting_beside(CANCEL, claimed).await?;
        let leased = || rows_of(on, CANCEL, self.db.sql, Capability::ShardLease, sql.leased.bind(&args));
        let leased = self.db.restarting_beside(CANCEL, leased).await?;
        let claimed: u64 = claimed.first().map_or(Ok(0), |row| row.number("claimed"))?;
        let leased: u64 = leased.first().map_or(Ok(0), |row| row.number("leased"))?;
        Ok(claimed + leased)
    }
}

row! {
    struct BodyRow of "observe/places" { shard: i64 }
}

row! {
    struct HeldRow of "notifications/request_hold" { status: String, request: Vec<u8>, created_at: i64 }
}
