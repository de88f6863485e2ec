//! The code that the README shows, compiled; an invariant compares the two line by line.
#![allow(dead_code, reason = "it is here to be compiled")]

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(serde::Serialize)]
struct OrderPaid {
    order: u64,
}

async fn deliver(_: &claimstream::Message) -> Result<(), std::io::Error> {
    Ok(())
}

async fn write() -> Result<(), Failure> {
    use claimstream::{Compose, Enqueue, NewMessage};
    use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
    use sea_orm::ConnectionTrait;

    let outbox = SeaOrmOutbox::open("mysql://app@db.example.com/shop", OpenOptions::default()).await?;

    let tx = outbox.begin().await?;
    tx.execute_unprepared("UPDATE orders SET paid = TRUE WHERE id = 7").await?;
    outbox.enqueue(&tx, &[NewMessage::json("orders", &OrderPaid { order: 7 })?]).await?;
    outbox.commit(tx).await?;
    read(outbox).await
}

async fn hand_in() -> Result<claimstream_sea_orm::SeaOrmOutbox, Failure> {
    use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
    use sea_orm::sqlx::{Executor, mysql::MySqlPoolOptions};

    let pool = MySqlPoolOptions::new()
        // What a cancelled caller has left open must not be the next one's; a pool that does not see to it is refused.
        .after_release(|connection, _| {
            Box::pin(async move { connection.execute("ROLLBACK").await.map(|_| true) })
        })
        .connect("mysql://app@db.example.com/shop")
        .await?;
    let outbox = SeaOrmOutbox::from_pool(pool.clone(), OpenOptions::default()).await?;
    Ok(outbox)
}

async fn read(outbox: claimstream_sea_orm::SeaOrmOutbox) -> Result<(), Failure> {
    use std::sync::Arc;

    use claimstream::{Relay, RelayConfig};
    use claimstream_tokio::{TokioTimer, shutdown_signal};
    use futures::StreamExt;

    let relay = Relay::new(Arc::new(outbox), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims("orders")?;
    let mut until_told = claims.until(shutdown_signal()?);
    while let Some(claim) = until_told.next().await {
        // An error is in the trace, and the stream goes on after it; so does one of a settlement.
        let Ok(claim) = claim else { continue };
        let _settled = match deliver(claim.message()).await {
            Ok(()) => claim.ack().await,
            Err(error) => claim.nack(error).await,
        };
    }
    claims.close().await?; // gives back at once what was not handled
    run(relay).await
}

async fn run(relay: claimstream::Relay) -> Result<(), Failure> {
    use claimstream::{Verdict, handler_fn};
    use claimstream_tokio::shutdown_signal;

    let handler = handler_fn(|claimed| async move {
        match deliver(&claimed.message).await {
            Ok(()) => Verdict::ack(),
            Err(error) => Verdict::nack(error),
        }
    });
    let report = relay.pipeline("orders", handler)?.run_until(shutdown_signal()?).await?;
    println!("{report:?}");
    supervise(relay).await
}

async fn serve(healthy: impl Fn() -> Result<(), String>) -> Result<(), Failure> {
    Ok(healthy()?)
}

async fn supervise(relay: claimstream::Relay) -> Result<(), Failure> {
    use std::time::Duration;

    use claimstream::{Verdict, handler_fn};
    use claimstream_tokio::shutdown_signal;

    let handler = handler_fn(|_| async { Verdict::ack() });

    use claimstream::PipelineState;

    let pipeline = relay.pipeline("orders", handler)?;
    let monitor = pipeline.monitor();
    let healthy = move || match monitor.state() {
        PipelineState::Failing { since, error, .. } if since > Duration::from_secs(60) => {
            Err(error.to_string())
        }
        PipelineState::Ended => Err("nothing is delivered any more".to_owned()),
        _ => Ok(()),
    };
    tokio::select! {
        served = serve(healthy) => served?, // whatever ends first ends the process, and whoever runs it starts it again
        report = pipeline.run_until(shutdown_signal()?) => { report?; }
    }
    hint(relay).await
}

async fn hint(relay: claimstream::Relay) -> Result<(), Failure> {
    use std::sync::Arc;

    use claimstream::{Compose, NewMessage, Verdict, handler_fn};
    use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};

    use claimstream::{EnqueueHinted, LocalWakeup};

    let outbox = SeaOrmOutbox::open("mysql://app@db.example.com/shop", OpenOptions::default()).await?;
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = relay.with_wakeup(wakeup.clone());

    let tx = outbox.begin().await?;
    let hint = outbox.enqueue_hinted(&tx, &[NewMessage::json("orders", &OrderPaid { order: 8 })?]).await?;
    outbox.commit(tx).await?;
    hint.wake(&*wakeup).await;
    let handler = handler_fn(|_| async { Verdict::ack() });
    sweep(relay.pipeline("orders", handler)?).await
}

async fn sweep(pipeline: claimstream::Pipeline) -> Result<(), Failure> {
    use claimstream_sea_orm::SeaOrmOutbox;
    use claimstream_tokio::shutdown_signal;

    use claimstream_sea_orm::OpenOptions;

    let options = OpenOptions { retention: "delete".parse()?, ..OpenOptions::default() };
    let outbox = SeaOrmOutbox::open("mysql://app@db.example.com/shop", options).await?;
    tokio::select! {
        report = pipeline.run_until(shutdown_signal()?) => { report?; }
        never = outbox.sweep_regularly() => match never {},
    }
    Ok(())
}
