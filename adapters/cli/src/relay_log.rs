use claimstream::PipelineReport;
use claimstream_sea_orm::SeaOrmOutbox;

use crate::{
    RelayReport,
    config::{DatabaseName, DatabaseSettings},
};

/// Logs that a relay has started, and where.
pub(crate) fn announce(database: &DatabaseSettings, outbox: &SeaOrmOutbox) {
    let url = database.url.as_ref().map(ToString::to_string).unwrap_or_default();
    let (strategy, shards) = (outbox.strategy(), outbox.shards().get());
    tracing::info!(database = url, %strategy, configured = %database.strategy, shards, "relay started");
}

/// Logs what became of the messages that a relay claimed, on one of several databases or on the only one.
pub(crate) fn log_ended(database: Option<&DatabaseName>, report: RelayReport) {
    log_report(database, "requests", report.requests);
    log_report(database, "messages", report.messages);
}

/// Logs what became of the messages of some pipelines.
pub(crate) fn log_report(database: Option<&DatabaseName>, pipelines: &'static str, report: PipelineReport) {
    let database = database.map(DatabaseName::as_str);
    let PipelineReport {
        claimed,
        acked,
        nacked,
        buried,
        released,
        superseded,
        unsettled,
        panicked,
        timed_out,
    } = report;
    tracing::info!(
        database,
        pipelines,
        claimed,
        acked,
        nacked,
        buried,
        released,
        superseded,
        unsettled,
        panicked,
        timed_out,
        "pipelines ended"
    );
}
