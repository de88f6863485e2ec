//! Promise: a notification costs no more than one statement in batches of a hundred, from the claim of its
//! request to the settlement of its message

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{
    Claimed, Fingerprint, QueueName, RetryPolicy, Settlement, Verdict, decide,
    notification::{
        Answer, Channel, Content, DeliveryReceipt, DeliveryStatus, DirectRecipient, FanOutEnd, MESSAGE_QUEUE,
        NewInAppEntry, NotificationRecord, NotificationRequest, REQUEST_QUEUE, ReceiptKind, ReceiptOf,
        RecipientReference,
        consent::{Address, PreferenceChange, Suppression},
        provider::ProviderName,
    },
};
use claimstream_notifications::{Consents, consent::ConsentRules};
use claimstream_ports::{
    BatchHandler, Verdicts,
    notification::{
        AttemptLog, DeliveryAttempt, DeliveryReceipts, FanOutStep, InAppInbox, NotificationReports,
        PreferenceRepository, RequestRepository, Suppressions,
    },
};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, QueryResult, Statement, Value};
use uuid::Uuid;

use super::{BudgetTest, measured::Measured, tests};
use crate::{
    Instance,
    fixture::{Command, Cost, Deliveries, fan_out_to, mail_to},
    statement::{Args, sql},
};

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![
        a_backlog_of_notifications,
        recipients_are_read_along_primary_keys,
        receipts_find_their_messages_along_indexes,
        progress_reads_the_messages_of_its_request_and_their_receipts_alone,
        old_entries_of_inboxes_are_found_along_their_ages,
        erased_recipients_are_found_along_their_keys_and_ages
    ]
}

const REQUESTS: usize = 400;
const BATCH: usize = 100;

/// Four batches of requests of one recipient each, from the claim of the requests to the settlement of the messages. Each
/// delivery has a reference of its own, and each recipient is asked twice.
async fn a_backlog_of_notifications(measured: &Measured) {
    let outbox = Arc::new(measured.outbox.clone());
    let deliveries = Deliveries::default();
    let consents = Consents::new(outbox.clone(), ConsentRules::default());
    let fan_out = fan_out_to("u-1", outbox.clone(), outbox.clone()).with_consents(consents.clone());
    // Each delivery is noted, as the program does it.
    let deliver = deliveries.handler(outbox.clone()).with_attempt_log(outbox).with_consents(consents);
    for round in 0..3 {
        let requests: Vec<_> = (0..REQUESTS).map(request).collect();
        measured.outbox.submit_now(&requests).await.expect("submit");
        let work = async {
            handle(&on(measured, REQUEST_QUEUE), &fan_out).await;
            handle(&on(measured, MESSAGE_QUEUE), &deliver).await;
        };
        let ((), sent) = measured.count(work).await;
        assert!(requests.iter().all(|request| deliveries.of(request.id).len() == 1));
        let cost = Cost::of(&sent);
        println!("budget: {REQUESTS} notifications in batches of {BATCH}: {cost}");
        // The first round prepares statements.
        assert!(round == 0 || cost.statements <= REQUESTS, "{cost}: {sent:#?}");
    }
}

/// The one statement that asks about the recipients of a batch reads no row that it does not name.
async fn recipients_are_read_along_primary_keys(measured: &Measured) {
    const ROWS: usize = 300;
    let outbox = &measured.outbox;
    let address = |n: usize| Address::new(Channel::Email, &format!("{n}@example.com"));
    let off: PreferenceChange = "any/marketing=off".parse().expect("a change");
    for n in 0..ROWS {
        outbox.suppress(&address(n), Suppression::Bounced, None).await.expect("suppress");
        outbox.change(&format!("user:{n}"), std::slice::from_ref(&off)).await.expect("change");
    }
    let analyze = "ANALYZE TABLE claimstream_preference, claimstream_suppression";
    outbox.connection().execute_unprepared(analyze).await.expect("statistics");
    let hash = |fingerprint: Fingerprint| Value::Bytes(Some(fingerprint.as_bytes().to_vec()));
    let recipients = (0..8).map(|n| hash(Fingerprint::of(&[format!("user:{n}").as_bytes()])));
    let addresses = (0..8).map(|n| hash(address(n).fingerprint()));
    let args = vec![("recipients", recipients.collect()), ("addresses", addresses.collect())];
    let found = explained(outbox, "preferences/read", &args).await;
    for table in ["claimstream_preference", "claimstream_suppression"] {
        let along = [table, "range", "PRIMARY"].map(str::to_owned);
        assert!(found.contains(&along), "{table} is not read along its primary key: {found:?}");
    }
}

/// A receipt finds its message, and receipts that wait theirs, without a look at all attempts.
async fn receipts_find_their_messages_along_indexes(measured: &Measured) {
    const ROWS: usize = 300;
    let outbox = &measured.outbox;
    let provider: ProviderName = "mail".parse().expect("a name");
    let attempts: Vec<_> = (0..ROWS).map(|n| attempt(&provider, format!("sid-{n}"))).collect();
    outbox.note(&attempts).await.expect("note");
    let early: Vec<_> = (0..ROWS).map(|n| early(&provider, format!("foreign-{n}"))).collect();
    outbox.take(&early).await.expect("receipts that wait");
    let tables = "claimstream_notification_attempt, claimstream_notification_receipt_waiting";
    outbox.connection().execute_unprepared(&format!("ANALYZE TABLE {tables}")).await.expect("statistics");
    let references = (0..4).map(|n| Value::from(format!("sid-{n}"))).collect();
    let args = vec![
        ("provider", vec![Value::from("mail")]),
        ("references", references),
        ("within", vec![Value::from(3_600_000_000_i64)]),
        ("limit", vec![Value::from(500_i64)]),
    ];
    for (name, table) in [("receipts/find", "claimstream_notification_attempt"), ("receipts/waiting", "a")] {
        let plan = explained(outbox, name, &args).await;
        let of_attempts = plan.iter().find(|step| step[0] == table);
        assert!(
            of_attempts.is_some_and(|step| step[2] == "delivery" && step[1] != "index"),
            "{name}: {plan:?}"
        );
    }
}

/// Two statements, and the messages lead to their receipts even if there are few of those.
async fn progress_reads_the_messages_of_its_request_and_their_receipts_alone(measured: &Measured) {
    let outbox = &measured.outbox;
    let requests: Vec<_> = (0..12).map(request).collect();
    outbox.submit_now(&requests).await.expect("submit");
    let step = |request: &NotificationRequest| FanOutStep {
        request: request.id,
        end: FanOutEnd::Done,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records: (0..40).map(|n| delivered_record(request.id, n)).collect(),
        items: vec![],
    };
    let steps: Vec<_> = requests.iter().map(step).collect();
    outbox.note_steps(&steps).await.expect("steps");
    let request = requests[0].id;
    // To begin with the two receipts that there are would look cheaper.
    let said: Vec<_> = steps[0].records[..2].iter().map(|record| of_message(record.id)).collect();
    outbox.take(&said).await.expect("receipts");
    let tables = "claimstream_notification_message, claimstream_notification_receipt";
    outbox.connection().execute_unprepared(&format!("ANALYZE TABLE {tables}")).await.expect("statistics");
    // The first answer prepares both statements.
    outbox.progress(request).await.expect("progress");
    let (progress, sent) = measured.count(outbox.progress(request)).await;
    let counted = progress.expect("progress").expect("a request").receipts;
    // What connections are sent before and after is not counted.
    let executed = sent.iter().filter(|one| matches!(one, Command::Execute(_))).count();
    assert!(counted.of(ReceiptKind::Sent) == 2 && executed == 2, "{sent:#?}");
    let id = vec![Value::Bytes(Some(request.as_bytes().to_vec()))];
    let plan = explained(outbox, "notifications/request_counts", &vec![("id", id)]).await;
    let reads: Vec<_> = plan.iter().filter(|step| !step[0].is_empty() && !step[0].starts_with('<')).collect();
    let tables: Vec<_> = reads.iter().map(|step| step[0].as_str()).collect();
    assert_eq!(tables, ["claimstream_notification_message", "m", "r"], "{plan:?}");
    let keys: Vec<_> = reads.iter().map(|step| (step[1].as_str(), step[2].as_str())).collect();
    let of_request = ("ref", "messages_of_request");
    assert_eq!(keys, [of_request, of_request, ("ref", "PRIMARY")], "{plan:?}");
}

fn delivered_record(request_id: Uuid, n: u32) -> NotificationRecord {
    NotificationRecord {
        id: Uuid::now_v7(),
        request_id,
        channel: Channel::Email,
        recipient: format!("user:{n}"),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    }
}

fn of_message(id: Uuid) -> DeliveryReceipt {
    let provider: ProviderName = "mail".parse().expect("a name");
    DeliveryReceipt { of: ReceiptOf::Message(id), ..early(&provider, String::new()) }
}

/// The sweep sorts nothing and looks at no entry that stays.
async fn old_entries_of_inboxes_are_found_along_their_ages(measured: &Measured) {
    let outbox = &measured.outbox;
    for user in 0..10 {
        let entries: Vec<_> = (0..100).map(|_| entry(format!("u-{user}"))).collect();
        outbox.put(&entries).await.expect("put");
    }
    outbox.connection().execute_unprepared("ANALYZE TABLE claimstream_in_app").await.expect("statistics");
    let day = vec![Value::from(86_400_000_000_i64)];
    let args = vec![("age", day), ("limit", vec![Value::from(500_i64)])];
    let plan = explained(outbox, "in_app/forget_older", &args).await;
    let [step] = plan.as_slice() else { panic!("{plan:?}") };
    assert!(step[1] == "range" && step[2] == "age", "{plan:?}");
}

/// A restored record looks up its recipient, and the sweep looks at no erasure that stays.
async fn erased_recipients_are_found_along_their_keys_and_ages(measured: &Measured) {
    let outbox = &measured.outbox;
    let row = |n: usize| format!("(UNHEX(SHA2({n}, 256)), UTC_TIMESTAMP(6) - INTERVAL {n} HOUR)");
    let rows = (0..1_000).map(row).collect::<Vec<_>>().join(", ");
    let fill = format!("INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at) VALUES {rows}");
    for statement in [&fill[..], "ANALYZE TABLE claimstream_erased_recipient"] {
        outbox.connection().execute_unprepared(statement).await.expect("a person may do that");
    }
    let hashes = (0..4).map(|n: u8| Value::Bytes(Some(vec![n; 32]))).collect();
    let forty_days_ago =
        std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time").as_micros() as i64 - 40 * 86_400_000_000;
    let args = vec![
        ("hashes", hashes),
        ("bound", vec![Value::from(forty_days_ago)]),
        ("limit", vec![Value::from(500_i64)]),
    ];
    for (name, key) in [
        ("erasures/held", "PRIMARY"),
        ("erasures/release", "PRIMARY"),
        ("erasures/forget_older", "age"),
        ("erasures/oldest", "age"),
    ] {
        let plan = explained(outbox, name, &args).await;
        let step = plan.iter().find(|step| step[0] == "claimstream_erased_recipient");
        assert!(step.is_some_and(|step| step[1] == "range" && step[2] == key), "{name}: {plan:?}");
    }
}

fn entry(user: String) -> NewInAppEntry {
    NewInAppEntry { id: Uuid::now_v7(), request_id: Uuid::nil(), user, content: Content::default() }
}

fn attempt(provider: &ProviderName, reference: String) -> DeliveryAttempt {
    DeliveryAttempt {
        message: Uuid::now_v7(),
        claim: Uuid::now_v7(),
        call: 1,
        number: 1,
        provider: provider.clone(),
        ago: Duration::ZERO,
        took: Duration::ZERO,
        answer: Answer::DELIVERED,
        reason: None,
        reference: Some(reference),
    }
}

fn early(provider: &ProviderName, reference: String) -> DeliveryReceipt {
    let (provider, of, kind) = (provider.clone(), ReceiptOf::Reference(reference), ReceiptKind::Sent);
    DeliveryReceipt { provider, of, kind, channel: None, address: None, said_at: None, note: None }
}

/// The table, the way and the key of each step of a plan.
pub(super) async fn explained(outbox: &SeaOrmOutbox, name: &str, args: &Args) -> Vec<[String; 3]> {
    let statement = sql(name, args);
    let explain = Statement { sql: format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql), ..statement };
    let plan = outbox.connection().query_all_raw(explain).await.expect("a plan");
    let text = |row: &QueryResult, column| {
        row.try_get::<Option<String>>("", column).ok().flatten().unwrap_or_default()
    };
    plan.iter().map(|row| ["table", "type", "key"].map(|column| text(row, column))).collect()
}

pub(super) fn request(n: usize) -> NotificationRequest {
    let email = Some(format!("{n}@example.com"));
    mail_to(RecipientReference::Direct(DirectRecipient { email, ..DirectRecipient::default() }))
}

pub(super) fn on(measured: &Measured, queue: &str) -> Instance {
    measured.instance.on(&QueueName::new(queue).expect("a queue name"))
}

/// Claims, handles and settles one batch after another.
async fn handle(instance: &Instance, handler: &dyn BatchHandler) {
    for _ in 0..REQUESTS / BATCH {
        handle_batch(instance, handler).await;
    }
}

pub(super) async fn handle_batch(instance: &Instance, handler: &dyn BatchHandler) {
    let batch = instance.take(BATCH).await;
    let given = Given(Mutex::new(vec![None; batch.len()]));
    handler.handle_batch(&batch, &given).await;
    let verdicts = given.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let settlement = |(claimed, verdict): (&Claimed, Option<Verdict>)| Settlement {
        receipt: claimed.receipt.clone(),
        disposition: decide(verdict.expect("a verdict"), claimed.attempt, &RetryPolicy::default(), 0),
    };
    let settlements: Vec<_> = batch.iter().zip(verdicts).map(settlement).collect();
    instance.settle_all(&settlements).await;
}

/// The verdicts of a batch, in its order.
struct Given(Mutex<Vec<Option<Verdict>>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(verdict);
    }
}
