//! The code of docs/inbox.md; all but the pipeline is run.

use std::{sync::Arc, time::Duration};

use claimstream::{Claimed, Compose, Message, NewMessage, Relay, RelayConfig, StoreError};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::{StepResult, inbox};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use sea_orm::{ConnectionTrait, DatabaseTransaction, Statement};

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    let table = "CREATE TABLE bill (message VARCHAR(36))";
    outbox.connection().execute_unprepared(table).await.expect("a table");
    let message = NewMessage::json("orders", &7).expect("a message");
    outbox.enqueue_now(&[message]).await.expect("enqueue");
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims("orders").expect("claims");
    let claim = claims.try_next().await.expect("a claim").expect("a message");
    for _ in 0..2 {
        once(outbox.clone(), claim.message()).await.expect("an effect");
    }
    let twice = [claim.claimed().clone(), claim.claimed().clone()];
    a_batch(outbox.clone(), &twice).await.expect("no further effect");
    assert_eq!(bills(&outbox).await, 1);
    shows_the_refusal(&url, claim.message()).await;
}

/// The page quotes the words with which a ledger that forgets too soon is refused.
async fn shows_the_refusal(url: &str, message: &Message) {
    let options = OpenOptions { step_retention: Duration::from_secs(3600), ..OpenOptions::default() };
    let outbox = Arc::new(SeaOrmOutbox::open(url, options).await.expect("open"));
    let refused = once(outbox, message).await.expect_err("a refusal").to_string();
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/inbox.md")).expect("a page");
    assert!(page.lines().any(|line| line.trim() == refused), "docs/inbox.md does not show: {refused}");
}

#[allow(dead_code, reason = "it is here to be compiled")]
async fn pipeline(
    relay: Relay,
    inbox: inbox::Inbox<SeaOrmOutbox>,
    billing: inbox::Consumer,
) -> Result<(), Failure> {
    use claimstream_tokio::shutdown_signal;
    use futures::FutureExt;

    let handler = inbox.handler(billing, TokioTimer::new(), |tx, claimed| {
        async { Ok(write_bill(tx, &claimed.message).await?) }.boxed()
    });
    relay.pipeline("orders", handler)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

async fn write_bill(tx: &DatabaseTransaction, message: &Message) -> Result<StepResult, StoreError> {
    let insert = format!("INSERT INTO bill (message) VALUES ('{}')", message.id);
    tx.execute_unprepared(&insert).await.map_err(|e| store_error("bill", e))?;
    Ok(StepResult::default())
}

async fn once(outbox: Arc<SeaOrmOutbox>, message: &Message) -> Result<(), Failure> {
    use claimstream::{in_transaction, work};
    use claimstream_steps::inbox::{Consumer, Inbox, InboxError, Once};

    let inbox = Inbox::new(outbox.clone(), &RelayConfig::default())?;
    let billing = Consumer::new("billing")?;

    let had: Result<Once, InboxError> = in_transaction(&*outbox, &TokioTimer::new(), |tx| {
        work(inbox.once(tx, &billing, message, |tx| async { Ok(write_bill(tx, message).await?) }))
    })
    .await;
    match had? {
        Once::Done(_) => println!("billed now"),
        Once::Repeated(_) => println!("billed before"),
    }
    Ok(())
}

async fn a_batch(outbox: Arc<SeaOrmOutbox>, batch: &[Claimed]) -> Result<(), Failure> {
    use claimstream::{in_transaction, work};
    use claimstream_steps::inbox::{Consumer, Inbox, InboxError, Once};

    let inbox = Inbox::new(outbox.clone(), &RelayConfig::default())?;
    let billing = Consumer::new("billing")?;

    let (inbox, billing) = (&inbox, &billing);
    let effects: Result<(), InboxError> = in_transaction(&*outbox, &TokioTimer::new(), |tx| {
        work(async move {
            for Claimed { message, .. } in batch {
                let effect =
                    inbox.once(tx, billing, message, |tx| async { Ok(write_bill(tx, message).await?) });
                let had: Result<Once, InboxError> = effect.await;
                had?;
            }
            Ok(())
        })
    })
    .await;
    Ok(effects?)
}

async fn bills(outbox: &SeaOrmOutbox) -> i64 {
    let db = outbox.connection();
    let count = Statement::from_string(db.get_database_backend(), "SELECT COUNT(*) FROM bill");
    let row = db.query_one_raw(count).await.expect("a count").expect("a row");
    row.try_get_by_index(0).expect("a number")
}
