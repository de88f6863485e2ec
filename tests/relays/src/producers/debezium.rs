//! The view under the names of Debezium's outbox event router.
//! Promise: the view of Debezium's names shows stored messages

use claimstream_domain::{Headers, MessageId, NewMessage, Payload};
use claimstream_sea_orm::SchemaExtra;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use uuid::Uuid;

use super::Shop;
use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::producers::debezium::the_view_shows_messages_under_its_names");
    suite.add_async_test(&name, async move { shows_messages(&backend).await });
}

async fn shows_messages(backend: &SeaOrmBackend) {
    let shop = Shop::open(backend, backend.options()).await;
    // Made twice, as by two services that both want it.
    for _ in 0..2 {
        shop.outbox.make_extra(SchemaExtra::DebeziumView).await.expect("the view");
    }
    let queue = shop.instance.queue().clone();
    let (first, second) = (MessageId::new(Uuid::now_v7()), MessageId::new(Uuid::now_v7()));
    let mut headers = Headers::new();
    headers.insert("type", "OrderPaid").expect("a header");
    headers.set_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None).expect("a trace");
    let whole = NewMessage::new(first, queue.clone(), Payload::json("{\"order\":7}"))
        .ordered_by("customer-ä".parse().expect("a key"))
        .with_headers(headers);
    let bare = NewMessage::new(second, queue.clone(), Payload::json("{}"));
    shop.outbox.enqueue_now(&[whole, bare]).await.expect("enqueue");
    let sql = "SELECT id, aggregatetype, aggregateid, type, payload, tracingspancontext,
                      TIMESTAMPDIFF(SECOND, timestamp, UTC_TIMESTAMP(6)) BETWEEN 0 AND 60
                 FROM claimstream_debezium ORDER BY id";
    let rows = shop
        .outbox
        .connection()
        .query_all_raw(Statement::from_string(DbBackend::MySql, sql))
        .await
        .expect("rows");
    let shown = rows.iter().map(|row| {
        let text = |n| row.try_get_by_index::<Option<String>>(n).expect("a text");
        let payload: Vec<u8> = row.try_get_by_index(4).expect("a payload");
        assert_eq!(row.try_get_by_index::<i64>(6).expect("a truth"), 1);
        (text(0), text(1), text(2), text(3), payload, text(5))
    });
    let some = |text: &str| Some(text.to_owned());
    let context = "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let expected = [
        (
            some(&first.to_string()),
            some(queue.as_str()),
            some("customer-ä"),
            some("OrderPaid"),
            b"{\"order\":7}".to_vec(),
            some(context),
        ),
        (
            some(&second.to_string()),
            some(queue.as_str()),
            some(&second.to_string()),
            some(queue.as_str()),
            b"{}".to_vec(),
            None,
        ),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let findings = shop.outbox.doctor().await.expect("findings");
    assert!(findings.iter().all(|one| !one.detail.contains("claimstream_debezium")), "{findings:?}");
}
