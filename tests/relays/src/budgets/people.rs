//! Promise: users and members of a segment are read along keys, and users of a batch together

use std::sync::Arc;

use claimstream_domain::{
    RetryPolicy,
    notification::{MESSAGE_QUEUE, NotificationRequest, REQUEST_QUEUE, Recipient, RecipientReference},
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{RequestConfig, RequestHandler};
use claimstream_ports::notification::{DirectoryRepository, RecipientDirectory};
use sea_orm::{ConnectionTrait, QueryResult, Statement, Value};

use super::{
    BudgetTest,
    measured::Measured,
    notifications::{handle_batch, on},
    tests,
};
use crate::{
    fixture::{Cost, Deliveries, mail_to},
    statement::sql,
};

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![
        a_backlog_of_notifications_to_users_of_the_directory,
        a_fan_out_from_the_database_sends_little_more_than_one_from_a_file,
        people_are_read_along_their_keys
    ]
}

const CHUNK: u32 = 500;

/// Four batches of requests of one user each, whom the directory in the database knows. The users of a batch are read together.
async fn a_backlog_of_notifications_to_users_of_the_directory(measured: &Measured) {
    const REQUESTS: usize = 400;
    let outbox = Arc::new(measured.outbox.clone());
    outbox.put(&(0..REQUESTS).map(member).collect::<Vec<_>>(), None).await.expect("put");
    let deliveries = Deliveries::default();
    let (fan_out, deliver) = (handler(measured, outbox.clone()), deliveries.handler(outbox.clone()));
    for round in 0..3 {
        let to_user = |n| mail_to(RecipientReference::User { user: id(n) });
        let requests: Vec<NotificationRequest> = (0..REQUESTS).map(to_user).collect();
        outbox.submit_now(&requests).await.expect("submit");
        let work = async {
            for _ in 0..4 {
                handle_batch(&on(measured, REQUEST_QUEUE), &fan_out).await;
            }
            for _ in 0..4 {
                handle_batch(&on(measured, MESSAGE_QUEUE), &deliver).await;
            }
        };
        let ((), sent) = measured.count(work).await;
        assert!(requests.iter().all(|request| deliveries.of(request.id).len() == 1));
        let cost = Cost::of(&sent);
        println!("budget: {REQUESTS} notifications to users of the directory: {cost}");
        // The first round prepares statements.
        assert!(round == 0 || cost.statements <= REQUESTS, "{cost}: {sent:#?}");
    }
}

/// A segment is fanned out from a directory in memory, as a file makes it, and from the one in the database.
/// `CLAIMSTREAM_CROWD` says how many members it has.
async fn a_fan_out_from_the_database_sends_little_more_than_one_from_a_file(measured: &Measured) {
    let crowd = std::env::var("CLAIMSTREAM_CROWD").ok().and_then(|crowd| crowd.parse().ok()).unwrap_or(3_000);
    let all: Vec<Recipient> = (0..crowd).map(member).collect();
    let file = all.iter().cloned().try_fold(MemoryDirectory::new(), MemoryDirectory::with_user);
    for part in all.chunks(500) {
        measured.outbox.put(part, Some("crowd".into())).await.expect("put");
    }
    let ids: Vec<String> = (0..crowd).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let file = file.and_then(|file| file.with_segment("crowd", &ids)).expect("a file");
    let warm_up = fanned_out(measured, Arc::new(measured.outbox.clone()), 0).await;
    let from_file = fanned_out(measured, Arc::new(file), crowd).await;
    let from_database = fanned_out(measured, Arc::new(measured.outbox.clone()), crowd).await;
    println!("budget: {crowd} members, from a file {from_file}, from the database {from_database}");
    assert!(warm_up.statements > 0);
    let chunks = crowd.div_ceil(CHUNK as usize);
    // Two statements a chunk, each with the upkeep of its connection.
    let most = from_file.statements + 8 * chunks + 8;
    assert!(from_database.statements <= most, "{from_database} is more than {most} statements");
}

/// Fans a request out to the segment, and takes its messages away; counts what the fan-out has cost.
async fn fanned_out(measured: &Measured, directory: Arc<dyn RecipientDirectory>, crowd: usize) -> Cost {
    let segment = if crowd == 0 { "empty" } else { "crowd" };
    let request = mail_to(RecipientReference::Segment { segment: segment.into() });
    measured.outbox.submit_now(&[request]).await.expect("submit");
    let (handler, queue) = (handler(measured, directory), on(measured, REQUEST_QUEUE));
    let work = async {
        while queue.status().await.is_some() {
            handle_batch(&queue, &handler).await;
        }
    };
    let ((), sent) = measured.count(work).await;
    let messages = measured.outbox.connection();
    let waiting = "SELECT CAST(COUNT(*) AS SIGNED) AS n FROM claimstream_queue";
    let waiting = Statement::from_string(messages.get_database_backend(), waiting);
    let waiting = messages.query_one_raw(waiting).await.expect("a count").expect("a row");
    assert_eq!(waiting.try_get::<i64>("", "n").expect("a count"), crowd as i64);
    messages.execute_unprepared("DELETE FROM claimstream_queue").await.expect("nothing waits");
    Cost::of(&sent)
}

/// A page of a segment, of the users, and the segments of a user are ranges of keys, and nothing is sorted.
async fn people_are_read_along_their_keys(measured: &Measured) {
    let outbox = &measured.outbox;
    let all: Vec<Recipient> = (0..2_000).map(member).collect();
    for (part, segment) in all.chunks(500).zip(["a", "b", "c", "d"]) {
        outbox.put(part, Some(segment.into())).await.expect("put");
        outbox.put(part, Some("all of them".into())).await.expect("put");
    }
    let tables = "claimstream_directory_user, claimstream_directory_member, claimstream_directory_segment";
    outbox.connection().execute_unprepared(&format!("ANALYZE TABLE {tables}")).await.expect("statistics");
    let text = |text: &str| vec![Value::from(text)];
    let args = vec![
        ("segment", text("all of them")),
        ("after", text(&id(700))),
        ("user", text(&id(7))),
        ("users", (0..8).map(|n| Value::from(id(n))).collect()),
        ("limit", vec![Value::from(100_i64)]),
    ];
    for (name, key) in [
        ("directory/members", "PRIMARY"),
        ("directory/page", "PRIMARY"),
        ("directory/users", "PRIMARY"),
        ("directory/segments", "of_user"),
        ("directory/leave_segments", "of_user"),
    ] {
        let plan = explained(outbox.connection(), sql(name, &args)).await;
        let [step] = plan.as_slice() else { panic!("{name}: {plan:?}") };
        let along = ["range", "ref"].contains(&&*step[0]) && step[1] == key;
        assert!(along && !step[2].contains("filesort"), "{name} is not read along {key}: {plan:?}");
    }
    let sorting = "SELECT user_id FROM claimstream_directory_user ORDER BY email LIMIT 9";
    let sorting = Statement::from_string(outbox.connection().get_database_backend(), sorting);
    let plan = explained(outbox.connection(), sorting).await;
    assert!(plan[0][2].contains("filesort"), "a sort goes unseen: {plan:?}");
}

async fn explained(on: &impl ConnectionTrait, statement: Statement) -> Vec<[String; 3]> {
    let sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
    let plan = on.query_all_raw(Statement { sql, ..statement }).await.expect("a plan");
    let text = |row: &QueryResult, column| {
        row.try_get::<Option<String>>("", column).ok().flatten().unwrap_or_default()
    };
    plan.iter().map(|row| ["type", "key", "Extra"].map(|column| text(row, column))).collect()
}

fn handler(measured: &Measured, directory: Arc<dyn RecipientDirectory>) -> RequestHandler {
    let outbox = Arc::new(measured.outbox.clone());
    let config = RequestConfig { chunk: CHUNK, retry: RetryPolicy::default() };
    let templates = Arc::new(MemoryTemplates::new("en"));
    RequestHandler::new(outbox.clone(), outbox, directory, templates, config).expect("a handler")
}

fn id(n: usize) -> String {
    format!("u-{n:07}")
}

fn member(n: usize) -> Recipient {
    Recipient { email: Some(format!("user-{n}@example.com")), ..Recipient::user(&id(n)) }
}
