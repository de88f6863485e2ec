//! Users who may not read the log, and servers that write none: no consumer is woken, and a sentence says what would help.
//! Promise: where the binary log cannot be read, relays poll, and one warning names the right or the setting

use std::sync::Arc;

use claimstream_sea_orm::Severity;
use sea_orm::ConnectionTrait;

use super::site::{LoggingServer, RIGHTS, Site, plain_insert};
use crate::{Fixture, Suite, streams::listener::Listener};

pub(super) fn add_to(
    suite: &mut Suite,
    name: &impl Fn(&str) -> String,
    logging: &Arc<LoggingServer>,
    without_log: &str,
) {
    let shared = Arc::clone(logging);
    suite.add_async_test(
        &name("a_right_that_is_missing_is_named_and_noticed_when_it_is_there"),
        async move {
            is_named(&Site::on(&shared.url().await).await).await;
        },
    );
    let without_log = without_log.to_owned();
    suite.add_async_test(&name("a_server_without_a_log_wakes_no_consumer"), async move {
        wakes_no_consumer(&Site::readable(&without_log).await).await;
    });
}

const PAGE: &str = include_str!("../../../../../docs/rights.md");

async fn is_named(site: &Site) {
    assert!(PAGE.contains(&format!("`GRANT {RIGHTS} TO 'service'@'%'`")), "the page names the rights");
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    let sentence = format!("GRANT {RIGHTS} TO '{}'@'%'", site.user);
    // With one of the two rights it is no better.
    for granted in ["", "REPLICATION CLIENT", "REPLICATION SLAVE"] {
        if !granted.is_empty() {
            site.run(&format!("GRANT {granted} ON *.* TO '{}'@'%'", site.user)).await;
        }
        let found = site.place().examine().await;
        assert!(
            found.severity == Severity::Warning && found.detail.ends_with(&sentence),
            "{granted}: {found}"
        );
        site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
        assert_eq!(listener.is_quiet().await, 0, "{granted}");
        if !granted.is_empty() {
            site.run(&format!("REVOKE {granted} ON *.* FROM '{}'@'%'", site.user)).await;
        }
    }
    site.grant().await;
    listener.is_connected().await;
    site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    listener.receives("a commit").await;
    let found = site.place().examine().await;
    assert!(found.severity == Severity::Good && found.detail.contains("is read at binlog.0"), "{found}");
}

async fn wakes_no_consumer(site: &Site) {
    let found = site.place().examine().await;
    let says = found.detail.contains("writes no binary log; start it with log_bin");
    assert!(found.severity == Severity::Warning && says, "{found}");
    let (queue, reader) = (Fixture::fresh_queue(), site.reader());
    let mut listener = Listener::on(&reader, &queue);
    site.outbox.connection().execute_unprepared(&plain_insert(&queue, 0)).await.expect("insert");
    assert_eq!(listener.is_quiet().await, 0);
    reader.wake(&queue).await.expect("wake");
    listener.receives("a wakeup of this process").await;
    site.run(&format!("DROP DATABASE {}", site.user)).await;
    site.run(&format!("DROP USER '{}'@'%'", site.user)).await;
}
