//! A service behind RabbitMQ ships each order once, though the broker gives it several times.
//!
//! `cargo run -p claimstream-examples --features rabbitmq --example consuming`, with the URL of a RabbitMQ that has a queue `orders` in
//! `BROKER_URL`. It ends when no order has come for a few seconds.
#![forbid(unsafe_code)]

use std::{error::Error, pin::pin, sync::Arc, time::Duration};

use claimstream::{RelayConfig, RetryPolicy};
use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqConsumer};
use claimstream_domain::Received;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::{
    StepResult,
    inbox::{Consumer, Handed, Inbox, StepError, deliveries},
};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, StreamExt};
use sea_orm::{ConnectionTrait, DatabaseTransaction};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let Ok(broker_url) = std::env::var("BROKER_URL") else {
        println!("BROKER_URL names no RabbitMQ, so there is nothing to consume");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("shipping.db").display());
    let database = Arc::new(SeaOrmOutbox::open(&url, OpenOptions::default()).await?);
    database.connection().execute_unprepared("CREATE TABLE shipment (order_body TEXT)").await?;
    tokio::select! {
        done = consume(database, &broker_url) => done,
        () = tokio::time::sleep(Duration::from_secs(5)) => Ok(()),
    }
}

async fn consume(database: Arc<SeaOrmOutbox>, broker_url: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let inbox = Inbox::new(database, &RelayConfig::default())?;
    let broker = RabbitMqConsumer::new(RabbitMqConfig::new(broker_url)?, "orders");
    let (shipping, timer) = (Consumer::new("shipping")?, TokioTimer::new());
    let consumption = inbox.consumption(shipping, TokioTimer::new(), RetryPolicy::default(), |tx, order| {
        ship(tx, order).boxed()
    });

    let mut given = pin!(deliveries(&broker, &timer));
    while let Some(delivery) = given.next().await {
        let handed = match delivery {
            Ok(delivery) => consumption.hand(delivery).await,
            Err(away) => Err(away),
        };
        match handed {
            Ok(Handed::Done(_)) => println!("shipped"),
            Ok(Handed::Repeated(_)) => println!("had been shipped"),
            Ok(Handed::Refused(delivery, why)) => {
                eprintln!("order {} can never be shipped: {why}", delivery.received.id);
                keep_for_a_person(&delivery.received).await?;
                delivery.finish().await?;
            }
            Ok(Handed::GivenBack(why)) => eprintln!("it comes again: {why}"),
            // The stream waits before it asks again; what was not finished comes again.
            Err(away) => eprintln!("{away}"),
        }
    }
    Ok(())
}

async fn ship(tx: &DatabaseTransaction, order: &Received) -> Result<StepResult, StepError> {
    let body = std::str::from_utf8(order.body.bytes()).map_err(StepError::bury)?;
    let insert = "INSERT INTO shipment (order_body) VALUES (?)";
    let insert = sea_orm::Statement::from_sql_and_values(tx.get_database_backend(), insert, [body.into()]);
    tx.execute_raw(insert).await.map_err(|e| store_error("ship", e))?;
    Ok(StepResult::default())
}

async fn keep_for_a_person(_order: &Received) -> Result<(), Box<dyn Error + Send + Sync>> {
    Ok(())
}
