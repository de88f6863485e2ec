use std::{sync::Arc, time::Duration};

use claimstream_domain::notification::{Template, TemplateVersion};
use claimstream_notifications::{CachedTemplates, TemplateAge};
use claimstream_ports::notification::{NewTemplateVersion, TemplateSource, TemplateStore};
use claimstream_tokio::TokioTimer;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, QueryResult, Statement, Value};

use super::{BudgetTest, measured::Measured, tests};
use crate::{fixture::Command, statement::sql};

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![
        many_requests_at_a_time_read_their_template_once,
        the_version_that_is_sent_is_read_along_the_primary_key,
    ]
}

/// A hundred fan-outs that begin together ask for one template: it is read once, and not at all while the answer is fresh. What the
/// pool does with its connections is not counted.
async fn many_requests_at_a_time_read_their_template_once(measured: &Measured) {
    let outbox = Arc::new(measured.outbox.clone());
    publish(measured, "t", 1).await;
    let age = TemplateAge { fresh: Duration::from_secs(600), stale: Duration::from_secs(600) };
    let cache = CachedTemplates::new(outbox, Arc::new(TokioTimer::new()), age);
    for expected in [1, 0] {
        let read = join_all((0..100).map(|_| cache.published("t")));
        let (found, sent) = measured.count(read).await;
        assert!(found.into_iter().all(|found| found.expect("an answer").is_some()));
        let is_read = |command: &&Command| matches!(command, Command::Execute(sql) | Command::Query(sql) if sql.contains("claimstream_template"));
        let reads = sent.iter().filter(is_read).count();
        println!("budget: 100 readers of a template: {reads} reads of it");
        assert_eq!(reads, expected, "{sent:#?}");
    }
}

async fn the_version_that_is_sent_is_read_along_the_primary_key(measured: &Measured) {
    for id in 0..40 {
        for number in 1..=8 {
            publish(measured, &format!("t-{id}"), number).await;
        }
    }
    let connection = measured.outbox.connection();
    connection.execute_unprepared("ANALYZE TABLE claimstream_template_version").await.expect("statistics");
    let args = vec![("template", vec![Value::from("t-7")])];
    let read = sql("templates/published", &args);
    let explain = Statement { sql: format!("EXPLAIN FORMAT=TRADITIONAL {}", read.sql), ..read };
    let plan = connection.query_all_raw(explain).await.expect("a plan");
    let text = |row: &QueryResult, column| {
        row.try_get::<Option<String>>("", column).ok().flatten().unwrap_or_default()
    };
    let found: Vec<_> = plan.iter().map(|row| ["key", "Extra"].map(|column| text(row, column))).collect();
    assert!(found.iter().all(|[key, extra]| key == "PRIMARY" && !extra.contains("filesort")), "{found:?}");
}

async fn publish(measured: &Measured, id: &str, number: u32) {
    let template = Template { default_language: "en".into(), variables: None, texts: Default::default() };
    let version = TemplateVersion { id: id.into(), number, template, partials: Default::default() };
    let new = NewTemplateVersion { version, restores: None };
    measured.outbox.publish(&new).await.expect("publish");
}
