//! Promise: digests cost a batch of requests a few statements, and a request without one none

use std::{sync::Arc, time::Duration};

use claimstream_domain::notification::{NotificationRequest, REQUEST_QUEUE, consent::Category};
use claimstream_notifications::{DigestRule, DigestRules};
use sea_orm::{ConnectionTrait, Value};
use uuid::Uuid;

use super::{
    BudgetTest,
    measured::Measured,
    notifications::{explained, handle_batch, on, request},
    tests,
};
use crate::fixture::{Cost, fan_out_to};

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![a_batch_of_requests_with_digests, digests_and_their_items_are_read_along_indexes]
}

const BATCH: usize = 100;

/// A hundred requests of one recipient each, whose messages wait for a hundred digests: the items, the digests and their messages are a
/// handful of statements for all of them.
async fn a_batch_of_requests_with_digests(measured: &Measured) {
    let outbox = Arc::new(measured.outbox.clone());
    let (news, rule) =
        (Category::new("news").expect("a category"), DigestRule::new(Duration::from_secs(3600)));
    let rules = DigestRules { categories: [(news.clone(), rule.expect("a rule"))].into() };
    let fan_out = fan_out_to("u-1", outbox.clone(), outbox).with_digests(rules);
    for round in 0..3 {
        let asked = |n| NotificationRequest { category: Some(news.clone()), ..request(round * BATCH + n) };
        let requests: Vec<_> = (0..BATCH).map(asked).collect();
        measured.outbox.submit_now(&requests).await.expect("submit");
        let queue = on(measured, REQUEST_QUEUE);
        let ((), sent) = measured.count(handle_batch(&queue, &fan_out)).await;
        let cost = Cost::of(&sent);
        let plain: Vec<_> = (0..BATCH).map(|n| request(round * BATCH + n)).collect();
        measured.outbox.submit_now(&plain).await.expect("submit");
        let ((), sent_plain) = measured.count(handle_batch(&queue, &fan_out)).await;
        let plain = Cost::of(&sent_plain);
        println!("budget: {BATCH} requests with digests: {cost}; without: {plain}");
        // The first round prepares statements.
        assert!(round == 0 || cost.statements <= plain.statements + 10, "{cost}: {sent:#?}");
    }
}

/// Closing looks at the digests and items that it names and at no others.
async fn digests_and_their_items_are_read_along_indexes(measured: &Measured) {
    const ROWS: u32 = 300;
    let on = measured.outbox.connection();
    let id = |n: u32| Uuid::from_u128(u128::from(n) << 64 | 1);
    let hex = |n: u32| format!("X'{}'", id(n).simple());
    let now = "TIMESTAMP'2021-01-01 00:00:00'";
    for n in 0..ROWS {
        let id = hex(n);
        let digest = format!("INSERT INTO claimstream_digest VALUES ({id}, {id}, 1, {now})");
        let item = format!("INSERT INTO claimstream_digest_item VALUES ({id}, {id}, '{{}}', {now})");
        for statement in [digest, item] {
            on.execute_unprepared(&statement).await.expect("a row");
        }
    }
    on.execute_unprepared("ANALYZE TABLE claimstream_digest, claimstream_digest_item")
        .await
        .expect("statistics");
    let ids = || (0..4).map(|n| Value::Uuid(Some(id(n)))).collect::<Vec<_>>();
    for (name, list, table, key) in [
        ("digests/items", "ids", "i", "of_digest"),
        ("digests/known", "ids", "claimstream_digest_item", "PRIMARY"),
        ("digests/joined", "keys", "claimstream_digest", "PRIMARY"),
    ] {
        let plan = explained(&measured.outbox, name, &vec![(list, ids())]).await;
        let step = plan.iter().find(|step| step[0] == table);
        assert!(step.is_some_and(|step| step[2] == key && step[1] == "range"), "{name}: {plan:?}");
    }
}
