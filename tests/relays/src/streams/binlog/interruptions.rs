//! Rotations, purges, connections that are killed, silent or useless, and servers that are killed.
//! Promise: a reader of the binary log follows rotations, purges, kills, silence, restarts and take-overs,
//! skips unreadable events, wakes all relays after a gap, and leaves no connection open

use std::{sync::Arc, time::Duration};

use claimstream_binlog::BinlogPlace;
use claimstream_domain::QueueName;
use claimstream_testbed::eventually;
use sea_orm::ConnectionTrait;
use tokio::time::sleep;

use super::{
    damage::Damage,
    site::{LoggingServer, Site, plain_insert},
};
use crate::{
    Fixture, PrivateDatabase, Server, Suite, fixture::Wire, streams::listener::Listener, suite::RUNTIME,
};

pub(super) fn add_to(suite: &mut Suite, name: &impl Fn(&str) -> String, logging: &Arc<LoggingServer>) {
    let [rotated, killed, silent, damaged, ended] = [(); 5].map(|()| Arc::clone(logging));
    suite.add_async_test(&name("rotations_and_purges_are_followed"), async move {
        is_followed(&Site::readable(&rotated.url().await).await).await;
    });
    // Guard: a new connection to the log wakes all relays | adapters/binlog/src/tail.rs `opened`: nothing is
    // new
    suite.add_async_test(
        &name("after_a_kill_of_its_connection_everybody_looks_and_hears_again"),
        async move {
            is_received_after_a_kill(&Site::readable(&killed.url().await).await).await;
        },
    );
    // Guard: a silent server is left | adapters/binlog/src/tail.rs `read`: waits a thousand times as long
    // Guard: the server sends heartbeats | adapters/binlog/src/connection.rs `events`: no heartbeats
    suite.add_long("faults", &name("a_silent_server_is_left_and_a_quiet_one_is_not"), move || {
        RUNTIME.block_on(async { is_left_if_silent(&Site::readable(&silent.url().await).await).await });
    });
    // Guard: the position before an unreadable event is known | adapters/binlog/src/position.rs `is_stuck`:
    // false; fails on MySQL
    // Guard: a position from which nothing can be read is forgotten | adapters/binlog/src/tail.rs `note`: it
    // is kept; fails on MySQL
    suite.add_long("faults", &name("an_event_that_cannot_be_read_is_skipped"), move || {
        RUNTIME.block_on(async { is_skipped(&Site::readable(&damaged.url().await).await).await });
    });
    // Guard: the reader of the log ends with its wakeup | adapters/binlog/src/wakeup.rs `drop`: no abort
    suite.add_async_test(&name("no_connection_outlives_its_reader"), async move {
        ends_with_its_reader(&Site::readable(&ended.url().await).await).await;
    });
    let server = logging.server;
    let what = "a_relay_hears_again_when_its_server_is_back_or_another_has_taken_over";
    suite.add_long("kills", &name(what), move || RUNTIME.block_on(is_received_after_a_restart(server)));
}

async fn is_received(site: &Site, queue: &QueueName, listener: &mut Listener, what: &str) {
    site.outbox.connection().execute_unprepared(&plain_insert(queue, 0)).await.expect("insert");
    listener.receives(what).await;
    listener.is_quiet().await;
}

async fn is_followed(site: &Site) {
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    let reading = site.readings().await;
    for _ in 0..3 {
        site.run("FLUSH BINARY LOGS").await;
        is_received(site, &queue, &mut listener, "a commit after a rotation").await;
    }
    assert_eq!(site.readings().await, reading, "it is the same connection");

    // While the reader is locked out, the file that it has read from is purged.
    let lock = |word: &str| format!("ALTER USER '{}'@'%' ACCOUNT {word}", site.user);
    site.run(&lock("LOCK")).await;
    site.run(&format!("KILL {}", reading[0])).await;
    for _ in 0..2 {
        site.run("FLUSH BINARY LOGS").await;
    }
    site.run("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY").await;
    site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    assert_eq!(listener.is_quiet().await, 0, "the log is not read");
    site.run(&lock("UNLOCK")).await;
    listener.is_connected().await;
    is_received(site, &queue, &mut listener, "a commit after a purge").await;
}

async fn is_received_after_a_kill(site: &Site) {
    let (queue, other, reader) = (Fixture::fresh_queue(), Fixture::fresh_queue(), site.reader());
    let (mut listener, mut other_listener) = (Listener::on(&reader, &queue), Listener::on(&reader, &other));
    listener.is_connected().await;
    other_listener.is_quiet().await;
    for _ in 0..3 {
        let readings = site.readings().await;
        assert_eq!(readings.len(), 1, "one for all queues of a process");
        site.run(&format!("KILL {}", readings[0])).await;
        listener.receives("a new connection").await;
        other_listener.receives("a new connection, on every queue").await;
        listener.is_quiet().await;
        other_listener.is_quiet().await;
        is_received(site, &queue, &mut listener, "a commit after a kill").await;
        assert_eq!(other_listener.is_quiet().await, 0);
    }
}

async fn is_left_if_silent(site: &Site) {
    let wire = Wire::to(&site.url).await.expect("a port");
    let place = BinlogPlace::new(&wire.url).expect("a place");
    let (queue, reader) = (Fixture::fresh_queue(), Site::reader_at(place));
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    let reading = site.readings().await;
    // Longer than a server may be silent.
    sleep(Duration::from_secs(8)).await;
    assert_eq!(site.readings().await, reading, "it receives that nothing is new");
    is_received(site, &queue, &mut listener, "a commit after a quiet time").await;

    wire.answer_after(Duration::from_secs(3_600));
    site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    assert_eq!(listener.is_quiet().await, 0);
    // The reader has left by then, and its next connection waits for an answer.
    sleep(Duration::from_secs(7)).await;
    wire.answer_after(Duration::ZERO);
    listener.receives("a new connection").await;
    listener.is_quiet().await;
    is_received(site, &queue, &mut listener, "a commit on a new connection").await;
}

async fn is_skipped(site: &Site) {
    let damage = Damage::on_the_way_to(&site.url, "claimstream_queue").await;
    let (queue, reader) =
        (Fixture::fresh_queue(), Site::reader_at(BinlogPlace::new(&damage.url).expect("a place")));
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    let before = site.readings().await;
    damage.begin();
    site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    listener.receives("a look at every queue").await;
    // It is read once more, in case the connection was at fault, and not a third time.
    let reading = is_read_on(site).await;
    assert_ne!(reading, before, "the event was damaged");
    listener.is_quiet().await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(site.readings().await, reading, "by one connection");
    assert_eq!(listener.is_quiet().await, 0);
}

/// The connection on which the log is read, as soon as it has been the same for longer than a server may list one that is gone.
async fn is_read_on(site: &Site) -> Vec<u64> {
    for _ in 0..12 {
        let reading = site.readings().await;
        sleep(Duration::from_secs(5)).await;
        if reading.len() == 1 && site.readings().await == reading {
            return reading;
        }
    }
    panic!("no connection reads on");
}

async fn ends_with_its_reader(site: &Site) {
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    assert_eq!(site.readings().await.len(), 1);
    drop((listener, reader));
    // The server notices when it says next that nothing is new.
    eventually("the server sends its log no more", || async { site.readings().await.is_empty() }).await;
}

/// The log of the server that takes over is another one, of which the old place says nothing.
async fn is_received_after_a_restart(server: Server) {
    let start = || tokio::task::spawn_blocking(move || LoggingServer::start(server));
    let (own, next) = futures::join!(start(), start());
    let (own, next): (PrivateDatabase, PrivateDatabase) = (own.expect("a server"), next.expect("a server"));
    let site = Site::readable(own.url()).await;
    let wire = Wire::to(&site.url).await.expect("a port");
    let queue = Fixture::fresh_queue();
    let reader = Site::reader_at(BinlogPlace::new(&wire.url).expect("a place"));
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    is_received(&site, &queue, &mut listener, "a commit").await;
    let own = tokio::task::spawn_blocking(move || {
        own.restart();
        own
    });
    let own = own.await.expect("a restart");
    listener.is_connected().await;
    let again = site.writer().await;
    again.execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    listener.receives("a commit after a restart").await;
    listener.is_quiet().await;

    let successor = Site::on(next.url()).await;
    for sql in [
        format!("CREATE DATABASE {}", site.user),
        format!("CREATE TABLE {0}.claimstream_queue LIKE {1}.claimstream_queue", site.user, successor.user),
        format!("CREATE USER '{}'@'%'", site.user),
        format!("GRANT {} TO '{}'@'%'", super::site::RIGHTS, site.user),
    ] {
        successor.run(&sql).await;
    }
    wire.lead_to(next.url());
    listener.is_connected().await;
    let insert =
        plain_insert(&queue, 0).replace("claimstream_queue", &format!("{}.claimstream_queue", site.user));
    successor.run(&insert).await;
    listener.receives("a commit on the server that has taken over").await;
    drop(own);
}
