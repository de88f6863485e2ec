use std::{pin::pin, sync::Arc, time::Duration};

use claimstream::{RelayConfig, RetryPolicy};
use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqConsumer};
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::{
    StepResult,
    inbox::{Consumer, Handed, Inbox, deliveries},
};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, StreamExt};
use sea_orm::{ConnectionTrait, Statement};

use super::{databases::options, helper::setting};

pub(super) const NAME: &str = "consumer";

/// They take every effect that they are given, also a second one of the same order, and note the repeats.
pub(super) const TABLES: [&str; 2] = [
    "CREATE TABLE effect (at BIGINT PRIMARY KEY AUTO_INCREMENT, number BIGINT NOT NULL)",
    "CREATE TABLE effect_repeat (one INT NOT NULL)",
];

/// Consumes until it is killed.
pub(super) async fn run() {
    let outbox = Arc::new(SeaOrmOutbox::open(&setting("INBOX"), options()).await.unwrap());
    let inbox = Inbox::new(outbox.clone(), &RelayConfig::default()).unwrap();
    let place = RabbitMqConfig::new(&setting("BROKER")).unwrap();
    let (broker, timer) = (RabbitMqConsumer::new(place, &setting("QUEUE")), TokioTimer::new());
    let shipping = Consumer::new("shipping").unwrap();
    let consumption =
        inbox.consumption(shipping, TokioTimer::new(), RetryPolicy::default(), |tx, received| {
            let number = String::from_utf8_lossy(received.body.bytes()).into_owned();
            async move {
                let insert = format!("INSERT INTO effect (number) VALUES ({number})");
                tx.execute_unprepared(&insert).await.map_err(|e| store_error("ship", e))?;
                Ok(StepResult::default())
            }
            .boxed()
        });
    let mut given = pin!(deliveries(&broker, &timer));
    while let Some(delivery) = given.next().await {
        let Ok(delivery) = delivery else { continue };
        match consumption.hand(delivery).await {
            Ok(Handed::Refused(_, why)) => panic!("refused: {why}"),
            Ok(Handed::Repeated(_)) => {
                outbox.connection().execute_unprepared("INSERT INTO effect_repeat VALUES (1)").await.ok();
            }
            Ok(Handed::Done(_) | Handed::GivenBack(_)) | Err(_) => {}
        }
    }
}

/// The effects in the order in which they happened, as soon as there are so many, and none has come for a while.
pub(super) async fn settled_effects(inbox: &SeaOrmOutbox, expected: u64) -> Vec<u64> {
    let all_are_there = async || effects(inbox).await.len() as u64 >= expected;
    eventually("every order has its effect", all_are_there).await;
    // A second effect of one would come behind.
    tokio::time::sleep(Duration::from_secs(2)).await;
    effects(inbox).await
}

async fn effects(inbox: &SeaOrmOutbox) -> Vec<u64> {
    numbers(inbox, "SELECT number FROM effect ORDER BY at").await
}

/// How many deliveries found that their effect had been had.
pub(super) async fn repeats(inbox: &SeaOrmOutbox) -> u64 {
    numbers(inbox, "SELECT COUNT(*) FROM effect_repeat").await[0]
}

async fn numbers(inbox: &SeaOrmOutbox, sql: &str) -> Vec<u64> {
    let connection = inbox.connection();
    let rows = connection
        .query_all_raw(Statement::from_string(connection.get_database_backend(), sql))
        .await
        .unwrap();
    rows.iter().map(|row| row.try_get_by_index::<i64>(0).unwrap() as u64).collect()
}
