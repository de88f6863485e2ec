//! The routine `claimstream_enqueue`, as programs in other languages call it.
//! Promise: the routine chooses the same shard as Rust, for every key and number of shards; what it refuses
//! writes nothing and leaves the transaction open; a repeated header name is refused

use claimstream_domain::{MessageId, OrderingKey, ShardCount};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SchemaExtra};
use sea_orm::{ConnectionTrait, DbBackend, Statement, Value};
use uuid::Uuid;

use super::{
    Shop,
    client::{Answer, Call, Client, connect},
    taken_keys::{a_key_or_an_id_that_is_taken_writes_nothing, a_key_that_is_taken_says_whose_it_is},
};
use crate::{Suite, backend::SeaOrmBackend};
use claimstream_testbed::statement_waits;

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: impl Fn() -> SeaOrmBackend) {
    macro_rules! tests {
        ($($test:ident),+ $(,)?) => {
            $(let on = backend();
            let name = format!("{store}::producers::routine::{}", stringify!($test));
            suite.add_async_test(&name, async move { $test(&on).await });)+
        };
    }
    tests![
        it_chooses_the_shard_that_rust_chooses,
        a_message_arrives_as_it_was_written,
        a_key_or_an_id_that_is_taken_writes_nothing,
        a_key_that_is_taken_says_whose_it_is,
        a_header_name_that_is_there_twice_is_refused,
        a_wrong_argument_is_refused_and_the_transaction_goes_on,
        it_is_refused_outside_a_transaction,
        an_error_undoes_the_call_alone,
        a_deadlock_is_said_by_its_name,
        a_caller_needs_no_right_but_to_execute_it,
        text_is_stored_as_utf_8_whatever_the_client_sends,
        it_is_replaced_by_a_newer_one,
    ];
    let sqlite = SeaOrmBackend::sqlite("preemptive_update");
    suite.add_async_test(&format!("{store}::producers::routine::sqlite_has_none"), async move {
        let shop = Shop::open(&sqlite, sqlite.options()).await;
        let refused = shop.outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect_err("none");
        assert_eq!(refused.kind(), StoreErrorKind::Unsupported);
        assert!(refused.to_string().contains("docs/other-languages.md"), "{refused}");
    });
}

/// Keys of every length and of every kind of letter.
fn keys() -> Vec<Option<String>> {
    let letters = ["a", "Z", "0", "-", " ", "'", "\\", "ä", "ß", "日", "🦀", "\u{7f}", "\u{85}"];
    let drawn = (0..120_usize).map(|n| {
        let mut key: String =
            (0..=n % 40).map(|at| letters[(n * 7 + at * (n + 3)) % letters.len()]).collect();
        key.truncate(key.floor_char_boundary(255));
        Some(key)
    });
    let none = (0..40).map(|_| None);
    drawn.chain(["k".repeat(255), "ü".repeat(127)].map(Some)).chain(none).collect()
}

async fn it_chooses_the_shard_that_rust_chooses(backend: &SeaOrmBackend) {
    for shards in [1, 7, 16, 256] {
        let shards = ShardCount::new(shards).expect("a count");
        let shop = Shop::open(backend, OpenOptions { shards, ..backend.options() }).await;
        let client = Client::in_shop(shop).await;
        client.run("BEGIN").await;
        let mut expected = Vec::new();
        for key in keys() {
            let call = Call { ordering_key: Value::String(key.clone()), ..client.call() };
            let answer = call.on(&client.db).await.unwrap_or_else(|e| panic!("{key:?}: {e}"));
            let key = key.map(|key| OrderingKey::new(&key).expect("a key"));
            let shard = shards.shard_of(MessageId::new(answer.id), key.as_ref());
            expected.push((answer.id, i64::from(shard.number())));
        }
        client.run("COMMIT").await;
        let sql = "SELECT q.id, CAST(q.shard AS SIGNED), CAST(m.shard AS SIGNED)
                     FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id";
        let rows =
            client.db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await.expect("rows");
        let mut chosen: Vec<_> = rows
            .iter()
            .map(|row| {
                let id: Vec<u8> = row.try_get_by_index(0).expect("an id");
                let [entry, body]: [i64; 2] = [1, 2].map(|n| row.try_get_by_index(n).expect("a shard"));
                assert_eq!(entry, body);
                (Uuid::from_slice(&id).expect("an id"), entry)
            })
            .collect();
        expected.sort();
        chosen.sort();
        assert_eq!(chosen, expected, "of {shards:?}");
        assert!(chosen.iter().all(|(id, _)| id.get_version_num() == 7));
    }
}

async fn a_message_arrives_as_it_was_written(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let id = Uuid::now_v7();
    client.run("BEGIN").await;
    let whole = Call {
        payload: Value::from(vec![0, 255, 7]),
        content_type: "application/x-thing".into(),
        ordering_key: "customer-ä".into(),
        dedup_key: "order-7".into(),
        headers: r#"{"X-Tenant":"ä \"b\"","traceparent":"00-1"}"#.into(),
        id: id.to_string().to_uppercase().into(),
        ..client.call()
    };
    assert_eq!(whole.on(&client.db).await.expect("a call"), Answer { id, is_new: true });
    let later = Call { delay_ms: 3_600_000_i64.into(), ..client.call() };
    later.on(&client.db).await.expect("a call");
    client.shop.instance.finds_nothing().await;
    client.run("COMMIT").await;
    let message = client.shop.instance.take_one().await.message;
    assert_eq!((message.id, message.payload.bytes()), (MessageId::new(id), &[0, 255, 7][..]));
    assert_eq!(message.payload.content_type(), "application/x-thing");
    assert_eq!(message.ordering_key.as_ref().map(OrderingKey::as_str), Some("customer-ä"));
    let headers: Vec<_> = message.headers.iter().collect();
    assert_eq!(headers, [("traceparent", "00-1"), ("x-tenant", "ä \"b\"")]);
    client.shop.instance.finds_nothing().await;
    let sql = "SELECT CAST(TIMESTAMPDIFF(SECOND, m.created_at, q.available_at) AS SIGNED)
                 FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id WHERE m.content_type = 'application/json'";
    let row = client
        .db
        .query_one_raw(Statement::from_string(DbBackend::MySql, sql))
        .await
        .expect("a row")
        .expect("a row");
    assert_eq!(row.try_get_by_index::<i64>(0).expect("a delay"), 3600);
}

async fn a_header_name_that_is_there_twice_is_refused(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let headers = |json: &str| Call { headers: json.into(), ..client.call() };
    client.run("BEGIN").await;
    let twice = "a header name must not be there twice";
    let refused = headers(r#"{"Tenant":"a","x":"b","tenant":"c"}"#).on(&client.db).await.expect_err(twice);
    assert!(refused.to_string().contains(twice), "{refused}");
    // Names that contain each other are different.
    headers(r#"{"tenant":"a","ten":"b","ant":"c"}"#).on(&client.db).await.expect("three names");
    // MySQL keeps the last value of a name that is there twice letter by letter; MariaDB tells.
    let same = headers(r#"{"a":"1","a":"2"}"#).on(&client.db).await;
    client.run("COMMIT").await;
    let messages = client.shop.instance.take_all().await;
    let values: Vec<_> = messages.iter().map(|claimed| claimed.message.headers.get("a")).collect();
    match same {
        Ok(_) => {
            assert_eq!(values, [None, Some("2")], "the value that was looked at is the one that is read")
        }
        Err(refused) => {
            assert!(refused.to_string().contains(twice), "{refused}");
            assert_eq!(values, [None]);
        }
    }
}

async fn a_wrong_argument_is_refused_and_the_transaction_goes_on(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let headers = |json: &str| Call { headers: json.into(), ..client.call() };
    let of = |call: Call, why: &'static str| (call, why);
    let wrong = [
        of(Call { queue: "no such queue".into(), ..client.call() }, "the queue must be"),
        of(Call { queue: "é".into(), ..client.call() }, "the queue must be"),
        of(Call { queue: "".into(), ..client.call() }, "the queue must be"),
        of(Call { queue: "q".repeat(65).into(), ..client.call() }, "the queue must be"),
        of(Call { queue: Value::String(None), ..client.call() }, "the queue must be"),
        of(Call { payload: Value::Bytes(None), ..client.call() }, "the payload is NULL"),
        of(Call { content_type: "".into(), ..client.call() }, "the content type"),
        of(Call { content_type: "a\nb".into(), ..client.call() }, "the content type"),
        of(Call { content_type: "t".repeat(128).into(), ..client.call() }, "the content type"),
        of(Call { ordering_key: "".into(), ..client.call() }, "the ordering key"),
        of(Call { ordering_key: "ä".repeat(128).into(), ..client.call() }, "the ordering key"),
        of(Call { dedup_key: "".into(), ..client.call() }, "the dedup key"),
        of(Call { dedup_key: "k".repeat(256).into(), ..client.call() }, "the dedup key"),
        of(Call { delay_ms: (-1_i64).into(), ..client.call() }, "the delay"),
        of(Call { delay_ms: i64::MAX.into(), ..client.call() }, "the delay"),
        of(Call { id: "7".into(), ..client.call() }, "the id must be"),
        of(Call { id: "g".repeat(32).into(), ..client.call() }, "the id must be"),
        of(headers("x=1"), "the headers must be"),
        of(headers("[\"a\"]"), "the headers must be"),
        of(headers(r#"{"a":1}"#), "a header value must be a text"),
        of(headers(r#"{"a":null}"#), "a header value must be a text"),
        of(headers(r#"{"a":{"b":"c"}}"#), "a header value must be a text"),
        of(headers(r#"{"a b":"c"}"#), "a header name"),
        of(headers(r#"{"":"c"}"#), "a header name"),
        of(headers(r#"{"ſ":"c"}"#), "a header name"),
        of(headers(r#"{"a":"b\nc"}"#), "control characters"),
        of(headers("{\"a\":\"b\\u0085\"}"), "control characters"),
        of(headers(&format!(r#"{{"a":"{}"}}"#, "v".repeat(16 * 1024))), "16384 bytes"),
    ];
    client.run("BEGIN").await;
    for (call, why) in wrong {
        let refused = call.on(&client.db).await.expect_err(why).to_string();
        assert!(refused.contains(why) && refused.contains("claimstream_enqueue: "), "{why}: {refused}");
    }
    let largest = format!(r#"{{"a":"{}","B.-_9":"ä\"\\"}}"#, "v".repeat(16 * 1024 - 10));
    headers(&largest).on(&client.db).await.expect("the most headers");
    Call { payload: Value::from(vec![]), headers: "{}".into(), ..client.call() }
        .on(&client.db)
        .await
        .expect("an empty one");
    client.run("COMMIT").await;
    assert_eq!(client.counts().await, [2, 2, 0]);
    assert_eq!(client.shop.instance.take_all().await.len(), 2, "the relay reads both");
}

async fn it_is_refused_outside_a_transaction(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let refused = client.call().on(&client.db).await.expect_err("no transaction").to_string();
    assert!(refused.contains("no transaction is open"), "{refused}");
    assert_eq!(client.counts().await, [0, 0, 0]);
    // As drivers of Python and Java begin: the first statement begins the transaction.
    client.run("SET autocommit = 0").await;
    client.call().on(&client.db).await.expect("a transaction begins by itself");
    client.run("ROLLBACK").await;
    assert_eq!(client.counts().await, [0, 0, 0]);
    client.call().on(&client.db).await.expect("a call");
    client.run("COMMIT").await;
    assert_eq!(client.counts().await, [1, 1, 0]);
}

async fn an_error_undoes_the_call_alone(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    client.run("CREATE TABLE orders (id INT PRIMARY KEY) ENGINE = InnoDB").await;
    client
        .run(
            "CREATE TRIGGER full BEFORE INSERT ON claimstream_queue FOR EACH ROW
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the disk is full'",
        )
        .await;
    client.run("BEGIN").await;
    client.run("INSERT INTO orders VALUES (1)").await;
    let call = Call { dedup_key: "order-7".into(), ..client.call() };
    let error = call.on(&client.db).await.expect_err("the trigger").to_string();
    assert!(error.contains("the disk is full"), "{error}");
    client.run("COMMIT").await;
    assert_eq!((client.counts().await, client.count("orders").await), ([0, 0, 0], 1));
    client.run("DROP TRIGGER full").await;
    // A wait for a key that another transaction holds ends without an end of the transaction.
    let other = connect(&client.shop.url).await;
    other.execute_unprepared("BEGIN").await.expect("begin");
    let unique = || Call { dedup_key: "order-8".into(), ..client.call() };
    unique().on(&other).await.expect("the key");
    client.run("SET SESSION innodb_lock_wait_timeout = 1").await;
    client.run("BEGIN").await;
    client.run("INSERT INTO orders VALUES (2)").await;
    let error = unique().on(&client.db).await.expect_err("a lock").to_string();
    assert!(error.contains("Lock wait timeout"), "{error}");
    client.run("COMMIT").await;
    other.execute_unprepared("ROLLBACK").await.expect("rollback");
    assert_eq!((client.counts().await, client.count("orders").await), ([0, 0, 0], 2));
}

async fn a_deadlock_is_said_by_its_name(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let other = connect(&client.shop.url).await;
    let unique = |key: &str| Call { dedup_key: key.into(), ..client.call() };
    client.run("BEGIN").await;
    other.execute_unprepared("BEGIN").await.expect("begin");
    unique("a").on(&client.db).await.expect("a call");
    unique("b").on(&other).await.expect("a call");
    let (one, two) = futures::join!(unique("b").on(&client.db), async {
        statement_waits(&client.shop.outbox).await;
        let ended = unique("a").on(&other).await;
        if ended.is_ok() {
            other.execute_unprepared("ROLLBACK").await.expect("rollback");
        }
        ended
    });
    let errors: Vec<String> =
        [one, two].into_iter().filter_map(|ended| ended.err()).map(|e| e.to_string()).collect();
    let [deadlock] = &errors[..] else { panic!("{errors:?}") };
    assert!(deadlock.contains("Deadlock found"), "{deadlock}");
}

async fn a_caller_needs_no_right_but_to_execute_it(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let name = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
    let (address, parameters) = client.shop.url.split_once('?').expect("parameters");
    let (place, database) = address.rsplit_once('/').expect("a database");
    let (_, host) = place.split_once('@').expect("a user");
    client.run(&format!("CREATE USER '{name}'@'%'")).await;
    let page = include_str!("../../../../docs/rights.md");
    let grants: Vec<_> =
        page.lines().filter(|line| line.starts_with("GRANT") && line.contains("'caller'@")).collect();
    assert_eq!(grants.len(), 1, "{grants:?}");
    let grant =
        grants[0].replace("shop.", &format!("{database}.")).replace("'caller'@", &format!("'{name}'@"));
    client.run(grant.trim_end_matches(';')).await;
    let theirs = connect(&format!("mysql://{name}@{host}/{database}?{parameters}")).await;
    theirs.execute_unprepared("BEGIN").await.expect("begin");
    let call = Call { dedup_key: "order-7".into(), ordering_key: "k".into(), ..client.call() };
    assert!(call.clone().on(&theirs).await.expect("a call").is_new);
    assert!(!call.on(&theirs).await.expect("a call").is_new);
    theirs.execute_unprepared("COMMIT").await.expect("commit");
    let refused = theirs.execute_unprepared("SELECT * FROM claimstream_message").await.expect_err("no right");
    assert!(refused.to_string().contains("denied"), "{refused}");
    assert_eq!(client.shop.instance.take_all().await.len(), 1);
    client.run(&format!("DROP USER '{name}'@'%'")).await;
}

async fn text_is_stored_as_utf_8_whatever_the_client_sends(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let queue = client.shop.instance.queue().clone();
    // In latin1, E4 is the letter that UTF-8 writes as C3 A4.
    let call = format!(
        "CALL claimstream_enqueue('{queue}', x'E4', NULL, _latin1 x'E4', NULL, CONCAT('{{\"a\":\"', _latin1 x'E4', '\"}}'), NULL, NULL)"
    );
    client.run("BEGIN").await;
    client.run(&call).await;
    client.run("COMMIT").await;
    let message = client.shop.instance.take_one().await.message;
    assert_eq!(message.ordering_key.as_ref().map(OrderingKey::as_str), Some("ä"));
    assert_eq!((message.headers.get("a"), message.payload.bytes()), (Some("ä"), &[0xe4][..]));
}

async fn it_is_replaced_by_a_newer_one(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    client.shop.outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect("once more");
    client.run("BEGIN").await;
    client.call().on(&client.db).await.expect("a call");
    client.run("COMMIT").await;
}
