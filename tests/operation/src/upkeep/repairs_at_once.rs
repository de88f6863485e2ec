//! Two operators repair what a failover has left at the same time, at two instances, which are at two nodes of a cluster.
//! Promise: two operators who repair at two nodes of a cluster queue each request once

use std::time::Duration;

use claimstream_domain::notification::{NotificationRequest, REQUEST_QUEUE, RecipientReference};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{FailoverRemains, SeaOrmOutbox};
use claimstream_testbed::{ClusterKind, Nodes, Writers};
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::{Server, Suite, backend::SeaOrmBackend, fixture::mail_to};

/// Adds it for each server and each cluster that is here and takes writes at every node.
pub(super) fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let clusters = ClusterKind::ALL.into_iter().filter(|kind| kind.writers == Writers::All);
    let clusters = clusters.filter_map(|kind| Some((kind.name, kind.url(&environment)?)));
    let servers = Server::ALL.into_iter().filter_map(|server| Some((server.name, server.url(&environment)?)));
    for (name, url) in servers.chain(clusters) {
        // Guard: of two repairs at two nodes, one works on a request |
        // adapters/sea-orm/src/notifications/remains.rs `take_up`: no `hold`
        let test = format!("{name}::upkeep::of_two_repairs_at_once_one_has_each_request_worked_on_again");
        suite.add_async_test(&test, async move { one_repairs(name, &url).await });
    }
}

const REQUESTS: usize = 40;
const ROUNDS: usize = 3;

async fn one_repairs(name: &'static str, url: &str) {
    let (nodes, backend) = (Nodes::of(url).await.expect("nodes"), SeaOrmBackend::server(name, url, "auto"));
    let database = backend.database().await.expect("a database");
    let places = nodes.of_database(&database);
    let one = SeaOrmOutbox::open(&places[0], backend.options()).await.expect("open");
    nodes.catch_up().await;
    let other = SeaOrmOutbox::open(&places[places.len() - 1], backend.options()).await.expect("open");
    for _ in 0..ROUNDS {
        let requests: Vec<NotificationRequest> = (0..REQUESTS).map(|_| request()).collect();
        one.submit_now(&requests).await.expect("submit");
        execute(&one, "DELETE FROM claimstream_queue").await;
        nodes.catch_up().await;
        let found = one.failover_remains(Duration::ZERO).await.expect("a look");
        assert_eq!(found.requests.len(), REQUESTS);
        let (by_one, by_other) = futures::join!(repair(&one, &found), repair(&other, &found));
        nodes.catch_up().await;
        let queued = format!("SELECT COUNT(*) FROM claimstream_queue WHERE queue = '{REQUEST_QUEUE}'");
        assert_eq!(
            count(&one, &queued).await,
            REQUESTS as i64,
            "{by_one} by one and {by_other} by the other"
        );
        execute(&one, "DELETE FROM claimstream_notification_request").await;
        execute(&one, "DELETE FROM claimstream_queue").await;
    }
}

/// Repairs, and begins again where it met the other one.
async fn repair(outbox: &SeaOrmOutbox, found: &FailoverRemains) -> u64 {
    loop {
        match outbox.repair_failover_remains(found).await {
            Err(error) if error.kind() == StoreErrorKind::Transient => {}
            repaired => return repaired.expect("a repair").queued,
        }
    }
}

fn request() -> NotificationRequest {
    mail_to(RecipientReference::User { user: "anna".into() })
}

async fn execute(outbox: &SeaOrmOutbox, sql: &str) {
    outbox.connection().execute_unprepared(sql).await.expect(sql);
}

async fn count(outbox: &SeaOrmOutbox, sql: &str) -> i64 {
    let asked = Statement::from_string(DbBackend::MySql, sql);
    let row = outbox.connection().query_one_raw(asked).await.expect(sql).expect("a row");
    row.try_get_by_index(0).expect("a number")
}
