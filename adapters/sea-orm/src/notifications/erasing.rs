use std::sync::Arc;

use claimstream_domain::notification::{
    Channel, ERASED, NotificationMessage, NotificationRecord, NotificationRequest, Priority, Recipient,
    consent::Address, delivery_message, spellings_in,
};
use claimstream_ports::{StoreError, notification::Erased};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::bytes,
        classify::corrupt,
        typed_row::row,
        unit::{rows, run},
    },
    notifications::{
        digests::DigestRows, erasures::Erasures, forgetting::Forgetting, records::cut_recipient,
    },
};

const ERASE: &str = "erase";

/// Removes what is kept of a recipient.
pub(crate) struct Erasing {
    pub(crate) db: Arc<Database>,
    pub(crate) forgetting: Forgetting,
    pub(crate) digests: Arc<DigestRows>,
    pub(crate) erasures: Erasures,
}

impl Erasing {
    /// So many requests are read at a time, and so many records changed in a transaction.
    const PAGE: i64 = 200;
    /// So many records are looked through by one statement.
    const WINDOW: i64 = 5_000;
    /// The payloads of so many messages are read at a time.
    const PAYLOADS: usize = 16;

    /// Notes the erasure, for messages whose records are missing. Then it erases a recipient in the directory, so that no fan-out finds it any more, in requests, then in records with the attempts and payloads of their messages, and at last in its inbox,
    /// where entries outlive their records.
    pub(crate) async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError> {
        let mut erased = Erased::default();
        self.erasures.note(recipient).await?;
        let addresses = self.forgetting.forget(recipient, addresses).await?;
        let unreadable = self.requests(recipient, &mut erased).await?;
        self.records(recipient, &mut erased).await?;
        // Until its record was erased, a bounce of a message spelled its address.
        self.forgetting.forget_again(&addresses).await?;
        self.inbox(recipient).await?;
        match unreadable {
            0 => Ok(erased),
            _ => Err(corrupt(
                ERASE,
                format!(
                    "{unreadable} requests cannot be read and may name the recipient; all others were erased"
                ),
            )),
        }
    }

    /// Looks through all requests; how many could not be read.
    async fn requests(&self, recipient: &str, erased: &mut Erased) -> Result<u64, StoreError> {
        let (mut after, mut unreadable) = (Uuid::nil(), 0);
        loop {
            let args = self.db.args().with("after", bytes(after)).with("limit", Self::PAGE);
            let sql = &self.db.sql.notifications.erase_requests;
            let read = || rows(self.db.callers(), ERASE, sql.bind(&args));
            let page = self.db.restarting_beside(ERASE, read).await?;
            let page = page.iter().map(RequestRow::read).collect::<Result<Vec<_>, _>>()?;
            let Some(last) = page.last() else { return Ok(unreadable) };
            after = last.id;
            for RequestRow { id, request } in page {
                match serde_json::from_slice::<NotificationRequest>(&request) {
                    Ok(request) => erased.requests += self.request(&request, recipient).await?,
                    Err(error) => {
                        tracing::warn!(request = %id, %error, "a request cannot be read and is not erased");
                        unreadable += 1;
                    }
                }
            }
        }
    }

    /// Erases a recipient in a request, if it names it: how many it were. Nothing else ever changes a request's payload, so two
    /// calls for two recipients are the only ones that meet.
    async fn request(&self, request: &NotificationRequest, recipient: &str) -> Result<u64, StoreError> {
        if request.without(recipient).is_none() {
            return Ok(0);
        }
        let sql = &self.db.sql.notifications;
        let args = self.db.args().with("id", bytes(request.id));
        let erase = || async {
            let transaction = self.db.begin_beside(ERASE).await?;
            let held = rows(&transaction, ERASE, sql.request_hold.bind(&args)).await?;
            let held = held.first().map(|row| row.bytes("request")).transpose()?.unwrap_or_default();
            let held: Option<NotificationRequest> = serde_json::from_slice(&held).ok();
            let Some((held, left)) = held.and_then(|held| held.without(recipient).map(|left| (held, left)))
            else {
                self.db.roll_back(ERASE, transaction).await?;
                return Ok(0);
            };
            let fingerprint = held.fingerprint().as_bytes().to_vec();
            let keep = sql.erase_fingerprint.bind(&args.clone().with("fingerprint", fingerprint));
            run(&transaction, ERASE, keep).await?;
            let json = serde_json::to_vec(&left).map_err(|e| corrupt(ERASE, e))?;
            run(&transaction, ERASE, sql.erase_request.bind(&args.clone().with("request", json))).await?;
            self.db.commit(ERASE, transaction).await?;
            Ok(1)
        };
        self.db.restarting_beside(ERASE, erase).await
    }

    /// Looks through all records, window by window.
    async fn records(&self, recipient: &str, erased: &mut Erased) -> Result<(), StoreError> {
        let (mut after, sql) = (Uuid::nil(), &self.db.sql.notifications);
        while after != Uuid::max() {
            let args = self.db.args().with("after", bytes(after)).with("size", Self::WINDOW);
            let look = || rows(self.db.callers(), ERASE, sql.erase_window.bind(&args));
            let end = self.db.restarting_beside(ERASE, look).await?;
            let end = end.first().map_or(Ok(Uuid::max()), |row| row.uuid("id"))?;
            let args = self.db.args().with("after", bytes(after)).with("last", bytes(end));
            let args = args.with("recipient", cut_recipient(recipient));
            let look = || rows(self.db.callers(), ERASE, sql.erase_records.bind(&args));
            let found = self.db.restarting_beside(ERASE, look).await?;
            let found = found.iter().map(RecordRow::read).collect::<Result<Vec<_>, _>>()?;
            for part in found.chunks(Self::PAGE as usize) {
                let erase = || self.part(part);
                let (bodies, dead) = self.db.restarting_beside(ERASE, erase).await?;
                erased.records += part.len() as u64;
                (erased.bodies, erased.dead_letters) = (erased.bodies + bodies, erased.dead_letters + dead);
            }
            after = end;
        }
        Ok(())
    }

    /// Empties the inbox of a user.
    async fn inbox(&self, recipient: &str) -> Result<(), StoreError> {
        let Some(user) = Recipient::user_of_key(recipient) else { return Ok(()) };
        let args = self.db.args().with("user", user).with("limit", Self::PAGE);
        let forget = || run(self.db.callers(), ERASE, self.db.sql.in_app.forget_user.bind(&args));
        while self.db.restarting_beside(ERASE, forget).await? >= Self::PAGE.unsigned_abs() {}
        Ok(())
    }

    /// Erases some records in one transaction.
    async fn part(&self, records: &[RecordRow]) -> Result<(u64, u64), StoreError> {
        let transaction = self.db.begin_beside(ERASE).await?;
        let replaced = self.leave_frames(&transaction, records).await?;
        self.db.commit(ERASE, transaction).await?;
        Ok(replaced)
    }

    /// Erases some records, and the attempts, receipts, entries and payloads of their messages, as far as they are there, and forgets whose the addresses
    /// in these payloads are. Answers how many payloads of live or finished messages and of dead letters were replaced.
    pub(super) async fn leave_frames(
        &self,
        on: &impl ConnectionTrait,
        records: &[RecordRow],
    ) -> Result<(u64, u64), StoreError> {
        if records.is_empty() {
            return Ok((0, 0));
        }
        let sql = &self.db.sql.notifications;
        let ids = self.db.args().with("erased", ERASED);
        let ids = ids.with_list("ids", records.iter().map(|record| bytes(record.id)));
        for statement in [&sql.erase_record, &sql.erase_attempts, &sql.erase_receipts, &sql.erase_in_app] {
            run(on, ERASE, statement.bind(&ids)).await?;
        }
        let addresses = self.addresses(on, records).await?;
        self.digests.forget(on, &ids).await?;
        let (mut bodies, mut dead) = (0, 0);
        for record in records {
            let channel: Channel = record.channel.parse().map_err(|e| corrupt(ERASE, e))?;
            let left = NotificationMessage::erased(record.id, record.request_id, channel);
            let payload = delivery_message(&left).map_err(|e| corrupt(ERASE, e))?.payload;
            let args = self.db.args().with("id", bytes(record.id));
            let args =
                args.with_list("queues", Priority::ALL.map(|priority| priority.message_queue().into()));
            let args = args.with("erased", ERASED).with("payload", payload.into_bytes());
            bodies += run(on, ERASE, sql.erase_body.bind(&args)).await?;
            dead += run(on, ERASE, sql.erase_dead.bind(&args)).await?;
        }
        self.forgetting.forget_addresses(on, &addresses).await?;
        Ok((bodies, dead))
    }

    /// The addresses in the payloads of messages, as far as they are there.
    async fn addresses(
        &self,
        on: &impl ConnectionTrait,
        records: &[RecordRow],
    ) -> Result<Vec<Address>, StoreError> {
        let mut addresses = Vec::new();
        for part in records.chunks(Self::PAYLOADS) {
            let args = self.db.args().with_list("ids", part.iter().map(|record| bytes(record.id)));
            for row in rows(on, ERASE, self.db.sql.notifications.erase_payloads.bind(&args)).await? {
                addresses.extend(spellings_in(&row.bytes("payload")?));
            }
        }
        Ok(addresses)
    }
}

row! {
    struct RequestRow of "notifications/erase_requests" { id: Uuid, request: Vec<u8> }
}

row! {
    /// A record that is to be erased.
    pub(super) struct RecordRow of "notifications/erase_records" { id: Uuid, request_id: Uuid, channel: String }
}

impl RecordRow {
    pub(super) fn of(record: &NotificationRecord) -> Self {
        let NotificationRecord { id, request_id, channel, .. } = record;
        Self { id: *id, request_id: *request_id, channel: channel.name().to_owned() }
    }
}
