//! What breaks under an outbox and what it does then.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream::Compose;
use claimstream_domain::{Disposition, NewMessage, QueueName, Settled};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
};

use crate::{Instance, Ports, Server, Stage, Suite, venue::SeaOrmVenue};

/// Adds the outages on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::outages::{what}", server.name);
        let (killed, lost, ended, claimed) = (url.clone(), url.clone(), url.clone(), url);
        suite.add_async_trial(&name("a_pool_of_dead_connections_costs_one_call"), async move {
            let venue = SeaOrmVenue::server(server.name, &killed, "auto");
            costs_one_call(&venue).await;
        });
        suite.add_async_trial(&name("a_settlement_whose_commit_went_unanswered_is_accepted"), async move {
            let venue = SeaOrmVenue::server(server.name, &lost, "auto");
            is_accepted(&venue).await;
        });
        suite.add_async_trial(&name("a_settlement_whose_one_answer_was_lost_is_accepted"), async move {
            let venue = SeaOrmVenue::server(server.name, &ended, "auto");
            is_accepted_without_a_commit(&venue).await;
        });
        suite.add_async_trial(
            &name("a_claim_whose_answer_was_lost_is_settled_in_a_transaction"),
            async move {
                let venue = SeaOrmVenue::server(server.name, &claimed, "preemptive_update");
                is_settled_in_a_transaction(&venue).await;
            },
        );
    }
}

async fn costs_one_call(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let queue = Stage::fresh_queue();
    let sends = |n: usize| (0..n).map(|_| send(&outbox, &queue));
    assert!(join_all(sends(8)).await.iter().all(Result::is_ok));
    let killer = venue.open(&url, None).await.expect("open");
    kill_others(&killer).await;
    let mut failures = 0;
    for sent in sends(10) {
        failures += usize::from(sent.await.is_err());
    }
    assert!(failures <= 1, "{failures} calls met a dead connection");
}

async fn send(outbox: &SeaOrmOutbox, queue: &QueueName) -> Result<(), StoreErrorKind> {
    let message = NewMessage::json(queue.clone(), &7).expect("a message");
    outbox.enqueue_now(&[message]).await.map(|_| ()).map_err(|e| e.kind())
}

async fn kill_others(killer: &SeaOrmOutbox) {
    let others = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
                  WHERE db = DATABASE() AND id <> CONNECTION_ID()";
    let others = Statement::from_string(DbBackend::MySql, others);
    for row in killer.connection().query_all_raw(others).await.expect("the connections") {
        let id: i64 = row.try_get_by_index(0).expect("an id");
        // The killer's own idle connections may be among them, and one may be gone already.
        let _ = killer.connection().execute_unprepared(&format!("KILL {id}")).await;
    }
}

async fn is_accepted(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    let queue = Stage::fresh_queue();
    for _ in 0..3 {
        send(&outbox, &queue).await.expect("enqueue");
        let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
        let claimed = instance.take_one().await;
        wire.cut_after_commit.store(true, Ordering::SeqCst);
        // A child takes a transaction.
        let child = NewMessage::json(Stage::fresh_queue(), &7).expect("a message");
        let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![child] }).await;
        assert_eq!(settled, Settled::Accepted);
        assert!(!wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
    }
}

async fn is_accepted_without_a_commit(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    let queue = Stage::fresh_queue();
    let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
    for _ in 0..3 {
        send(&outbox, &queue).await.expect("enqueue");
        let claimed = instance.take_one().await;
        wire.cut_after_change.store(true, Ordering::SeqCst);
        let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![] }).await;
        assert_eq!(settled, Settled::Accepted);
        assert!(!wire.cut_after_change.load(Ordering::SeqCst), "nothing was changed outside a transaction");
    }
    assert_eq!(instance.status().await, None);
}

/// What a statement marks whose answer was lost is not known in full, so no settlement may commit itself.
async fn is_settled_in_a_transaction(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, venue.options()).await.expect("open");
    let queue = Stage::fresh_queue();
    let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
    send(&outbox, &queue).await.expect("enqueue");
    assert_eq!(instance.claim(1).await.len(), 1);
    send(&outbox, &queue).await.expect("enqueue");
    wire.cut_after_change.store(true, Ordering::SeqCst);
    let claimed = instance.take_one().await;
    assert!(!wire.cut_after_change.load(Ordering::SeqCst), "nothing was changed outside a transaction");
    // Leaves a connection at hand whose first answer in a transaction is that to the commit.
    send(&outbox, &queue).await.expect("enqueue");
    wire.cut_after_commit.store(true, Ordering::SeqCst);
    let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![] }).await;
    assert_eq!(settled, Settled::Accepted);
    assert!(!wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
}

/// A wire to a server that can lose the answer to a commit, or to a statement that has changed something and commits
/// itself, with the connections that are open then.
struct Wire {
    url: String,
    cut_after_commit: Arc<AtomicBool>,
    cut_after_change: Arc<AtomicBool>,
}

impl Wire {
    async fn to(url: &str) -> io::Result<Self> {
        let (_, rest) = url.split_once('@').expect("a user");
        let (server, _) = rest.split_once('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = url.replace(server, &listener.local_addr()?.to_string());
        let [cut_after_commit, cut_after_change] = [(); 2].map(|()| Arc::<AtomicBool>::default());
        let (commit, change) = (cut_after_commit.clone(), cut_after_change.clone());
        tokio::spawn(serve(listener, server.to_owned(), commit, change));
        Ok(Self { url, cut_after_commit, cut_after_change })
    }
}

async fn serve(listener: TcpListener, server: String, cut: Arc<AtomicBool>, change: Arc<AtomicBool>) {
    let (breaks, _) = tokio::sync::broadcast::channel::<()>(8);
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(&server).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let (cut, change) = (cut.clone(), change.clone());
        let (breaking, mut broken) = (breaks.clone(), breaks.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                _ = requests(from_client, to_server, &cut) => {
                    // The commit is given time to be done, and its answer goes nowhere.
                    let _ = breaking.send(());
                }
                true = answers(from_server, to_client, &cut, &change) => {
                    let _ = breaking.send(());
                }
                _ = broken.recv() => {}
            }
        });
    }
}

/// Passes requests on; ends after a commit that is to be cut.
async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cut: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        let is_commit = buffer[..n].windows(6).any(|bytes| bytes == b"COMMIT");
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
        if is_commit && cut.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cut.store(false, Ordering::SeqCst);
            return;
        }
    }
    std::future::pending::<()>().await
}

/// Passes answers on, except while a commit is to be cut and has been sent; ends with true at the answer to a change that is
/// to be cut.
async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    cut: &AtomicBool,
    change: &AtomicBool,
) -> bool {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if is_answer_to_commit(&buffer[..n]) && cut.load(Ordering::SeqCst) {
            continue;
        }
        if is_answer_to_change(&buffer[..n]) && change.swap(false, Ordering::SeqCst) {
            return true;
        }
        if to.write_all(&buffer[..n]).await.is_err() {
            return false;
        }
    }
    false
}

/// An OK without rows, outside a transaction: status flags without SERVER_STATUS_IN_TRANS.
fn is_answer_to_commit(packet: &[u8]) -> bool {
    matches!(packet, [7, 0, 0, 1, 0, 0, 0, flags, ..] if flags & 1 == 0)
}

/// An OK with a few rows that have been changed: outside a transaction, and with SERVER_STATUS_AUTOCOMMIT.
fn is_answer_to_change(packet: &[u8]) -> bool {
    matches!(packet, [_, 0, 0, 1, 0, 1..=250, 0, flags, ..] if flags & 3 == 2)
}
