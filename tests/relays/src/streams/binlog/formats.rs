//! Every format in which a server writes its log: rows or statements, whole or minimal, plain or compressed.
//! Promise: the binary log wakes relays in each of its formats

use std::sync::Arc;

use claimstream_domain::QueueName;
use sea_orm::{ConnectionTrait, DatabaseConnection};

use super::site::{LoggingServer, Site, plain_insert};
use crate::{Fixture, PrivateDatabase, Server, Suite, streams::listener::Listener};

/// Settings of a writer's session, by what they are about; both servers know these.
const FORMATS: [(&str, &[&str]); 5] = [
    ("rows", &["SET SESSION binlog_format = 'ROW'"]),
    ("minimal rows", &["SET SESSION binlog_format = 'ROW'", "SET SESSION binlog_row_image = 'MINIMAL'"]),
    (
        "rows that say what they come from",
        &["SET SESSION binlog_format = 'ROW'", "/*M! SET SESSION binlog_annotate_row_events = ON */"],
    ),
    ("statements", &["SET SESSION binlog_format = 'STATEMENT'"]),
    ("mixed", &["SET SESSION binlog_format = 'MIXED'"]),
];

pub(super) fn add_to(suite: &mut Suite, name: &impl Fn(&str) -> String, logging: &Arc<LoggingServer>) {
    let shared = Arc::clone(logging);
    // Guard: a logged claim wakes no relay | adapters/binlog/src/statement.rs `may_enqueue`: every statement
    // that names the table
    suite.add_async_test(&name("a_commit_is_received_in_every_format_of_the_log"), async move {
        in_every_format(&Site::readable(&shared.url().await).await).await;
    });
    let server = logging.server;
    suite.add_async_test(&name("a_commit_is_received_in_a_compressed_log"), async move {
        compressed(server).await;
    });
}

async fn in_every_format(site: &Site) {
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    for (what, settings) in FORMATS {
        let writer = site.writer().await;
        set(&writer, settings).await;
        is_received(&writer, &queue, &mut listener, what).await;
        // Claims change rows and are nothing new, also where statements are logged.
        let claim = format!("UPDATE claimstream_queue SET attempts = attempts + 1 WHERE queue = '{queue}'");
        writer.execute_unprepared(&claim).await.expect("a change");
        let delete = format!("DELETE FROM claimstream_queue WHERE queue = '{queue}'");
        writer.execute_unprepared(&delete).await.expect("a change");
        assert_eq!(listener.is_quiet().await, 0, "changes, {what}");
    }
}

/// On a server of its own: MariaDB compresses what all sessions write, or nothing.
async fn compressed(server: Server) {
    let logging = tokio::task::spawn_blocking(move || LoggingServer::start(server));
    let logging: PrivateDatabase = logging.await.expect("a server");
    let site = Site::readable(logging.url()).await;
    let settings: &[(&str, &[&str])] = match server.name.starts_with("mysql") {
        true => &[("transactions", &["SET SESSION binlog_transaction_compression = ON"])],
        false => &[
            ("rows", &["SET SESSION binlog_format = 'ROW'"]),
            ("statements", &["SET SESSION binlog_format = 'STATEMENT'"]),
        ],
    };
    if !server.name.starts_with("mysql") {
        site.run("SET GLOBAL log_bin_compress = ON").await;
        site.run("SET GLOBAL log_bin_compress_min_len = 10").await;
    }
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    listener.is_connected().await;
    for (what, settings) in settings {
        let writer = site.writer().await;
        set(&writer, settings).await;
        for _ in 0..3 {
            is_received(&writer, &queue, &mut listener, what).await;
        }
        let claim = format!("UPDATE claimstream_queue SET attempts = attempts + 1 WHERE queue = '{queue}'");
        writer.execute_unprepared(&claim).await.expect("a change");
        assert_eq!(listener.is_quiet().await, 0, "changes, compressed {what}");
    }
}

async fn set(writer: &DatabaseConnection, settings: &[&str]) {
    for setting in settings {
        writer.execute_unprepared(setting).await.unwrap_or_else(|error| panic!("{setting}: {error}"));
    }
}

async fn is_received(writer: &DatabaseConnection, queue: &QueueName, listener: &mut Listener, what: &str) {
    let insert = plain_insert(queue, 0);
    // It is long enough to be worth compressing.
    let insert = format!("{insert} /* {} */", "written by a service ".repeat(30));
    writer.execute_unprepared(&insert).await.expect("insert");
    listener.receives(what).await;
    listener.is_quiet().await;
}
