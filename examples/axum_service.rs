//! A service that takes orders over HTTP and bills each of them once, in one process.
//!
//! `cargo run -p claimstream-examples --features axum --example axum_service`, then `curl -X POST localhost:3000/orders -d '7'` and
//! `curl localhost:3000/health`
#![forbid(unsafe_code)]

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use claimstream::{
    Compose, EnqueueHinted, LocalWakeup, Message, NewMessage, PipelineMonitor, PipelineState, Relay,
    RelayConfig, StoreError,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::{
    StepResult,
    inbox::{Consumer, Inbox},
};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::FutureExt;
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Shop {
    outbox: Arc<SeaOrmOutbox>,
    wakeup: Arc<LocalWakeup>,
    billing: PipelineMonitor,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    tracing_subscriber::fmt::init();
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    run("sqlite://shop.db", listener, shutdown_signal()?).await
}

/// Serves and bills until a signal stops it, then ends in order: the server first takes no more requests, and the pipeline
/// finishes the messages that it has in hand.
async fn run(
    url: &str,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let outbox = Arc::new(SeaOrmOutbox::open(url, OpenOptions::default()).await?);
    for table in ["orders (item INTEGER)", "bills (message VARCHAR(36))"] {
        outbox.connection().execute_unprepared(&format!("CREATE TABLE IF NOT EXISTS {table}")).await?;
    }

    let (config, wakeup) = (RelayConfig::default(), Arc::new(LocalWakeup::new()));
    let inbox = Inbox::new(outbox.clone(), &config)?;
    let bill = inbox.handler(Consumer::new("billing")?, TokioTimer::new(), |tx, claimed| {
        async { Ok(write_bill(tx, &claimed.message).await?) }.boxed()
    });
    let relay = Relay::new(outbox.clone(), TokioTimer::new(), config).with_wakeup(wakeup.clone());
    let pipeline = relay.pipeline("orders", bill)?;

    let sweeper = outbox.clone();
    let shop = Shop { outbox, wakeup, billing: pipeline.monitor() };
    let routes = Router::new().route("/orders", post(order)).route("/health", get(health)).with_state(shop);
    let stop = stop.shared();
    let server = axum::serve(listener, routes).with_graceful_shutdown(stop.clone());
    let both = async { tokio::join!(server.into_future(), pipeline.run_until(stop)) };
    let (served, billed) = tokio::select! {
        ended = both => ended,
        never = sweeper.sweep_regularly() => match never {},
    };
    served?;
    billed?;
    Ok(())
}

/// Writes the order and its message in one transaction, and wakes the pipeline after the commit.
async fn order(State(shop): State<Shop>, item: String) -> Result<StatusCode, (StatusCode, String)> {
    let item: u64 = item.trim().parse().map_err(|e| (StatusCode::BAD_REQUEST, format!("item: {e}")))?;
    place(&shop, item).await.map_err(|e| (StatusCode::SERVICE_UNAVAILABLE, e.to_string()))?;
    Ok(StatusCode::ACCEPTED)
}

async fn place(shop: &Shop, item: u64) -> Result<(), Failure> {
    let tx = shop.outbox.begin().await?;
    tx.execute_unprepared(&format!("INSERT INTO orders (item) VALUES ({item})")).await?;
    let hint = shop.outbox.enqueue_hinted(&tx, &[NewMessage::json("orders", &item)?]).await?;
    shop.outbox.commit(tx).await?;
    hint.wake(&*shop.wakeup).await;
    Ok(())
}

async fn health(State(shop): State<Shop>) -> Result<(), (StatusCode, String)> {
    match shop.billing.state() {
        PipelineState::Failing { since, error, .. } if since > Duration::from_secs(60) => {
            Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
        PipelineState::Ended => Err((StatusCode::SERVICE_UNAVAILABLE, "billing has ended".to_owned())),
        _ => Ok(()),
    }
}

async fn write_bill(tx: &DatabaseTransaction, message: &Message) -> Result<StepResult, StoreError> {
    let insert = format!("INSERT INTO bills (message) VALUES ('{}')", message.id);
    tx.execute_unprepared(&insert).await.map_err(|e| store_error("bill", e))?;
    Ok(StepResult::default())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use sea_orm::Statement;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_order_is_billed_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("shop.db").display());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = futures::channel::oneshot::channel::<()>();
        let service = tokio::spawn({
            let url = url.clone();
            async move { run(&url, listener, stopped.map(|_| ())).await }
        });

        assert!(ask(address, "POST /orders", "7").await.starts_with("HTTP/1.1 202"));
        assert!(ask(address, "POST /orders", "seven").await.starts_with("HTTP/1.1 400"));
        assert!(ask(address, "GET /health", "").await.starts_with("HTTP/1.1 200"));
        let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        while count(&outbox, "bills").await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop.send(()).expect("the service runs");
        service.await.expect("no panic").expect("an orderly end");
        assert_eq!((count(&outbox, "orders").await, count(&outbox, "bills").await), (1, 1));
    }

    async fn ask(address: std::net::SocketAddr, what: &str, body: &str) -> String {
        let length = body.len();
        let request = format!(
            "{what} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address)?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        });
        asked.await.expect("no panic").expect("an answer")
    }

    async fn count(outbox: &SeaOrmOutbox, table: &str) -> i64 {
        let db = outbox.connection();
        let sql = Statement::from_string(db.get_database_backend(), format!("SELECT COUNT(*) FROM {table}"));
        let row = db.query_one_raw(sql).await.expect("a count").expect("a row");
        row.try_get_by_index(0).expect("a number")
    }
}
