mod binlog;
#[cfg(feature = "brokers")]
mod brokers;
#[cfg(feature = "configuration")]
mod configuration;
mod headers;
#[cfg(feature = "http")]
mod http;
mod notifications;
mod schedules;
mod templates;
mod words;

use crate::Target;

/// All targets.
pub const TARGETS: &[Target] = &[
    binlog::STATEMENT,
    binlog::COMPRESSED,
    #[cfg(feature = "brokers")]
    binlog::URL,
    #[cfg(feature = "brokers")]
    brokers::NATS,
    #[cfg(feature = "brokers")]
    brokers::REDIS_STREAMS,
    #[cfg(feature = "configuration")]
    configuration::FILE,
    #[cfg(feature = "configuration")]
    configuration::DATABASE_URL,
    headers::TRACE_CONTEXT,
    headers::CLOUD_EVENT,
    headers::ROUTE_TEMPLATE,
    notifications::REQUEST_LINE,
    notifications::ADDRESS,
    notifications::TOKEN,
    schedules::CRON,
    schedules::QUIET_HOURS,
    templates::SOURCE,
    templates::DEFINITION,
    words::WORDS,
    #[cfg(feature = "http")]
    http::REQUEST,
    #[cfg(feature = "http")]
    http::RECEIPT,
];
