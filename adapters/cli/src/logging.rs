use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{Log, LogFormat, LogLevel};

/// Sends traces to the standard error, from `usual` on unless the configuration says otherwise.
///
/// The level is that of Claimstream's own crates. Of the libraries beneath nothing below a warning is shown, because some
/// of them trace what goes over the wire, passwords included. Of the client of NATS nothing is shown: it logs an error at each try to connect
/// again, and the call that is under way says what is wrong.
pub(crate) fn start(log: &Log, usual: LogLevel) {
    let level = filter(log.level.unwrap_or(usual));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colours()).log_internal_errors(false);
    let lines: Box<dyn tracing_subscriber::Layer<_> + Send + Sync> = match log.format {
        LogFormat::Text => Box::new(lines),
        LogFormat::Json => Box::new(lines.json().flatten_event(true)),
    };
    // A subscriber that was set up before us stays.
    let _ = tracing_subscriber::registry().with(targets(level)).with(lines).try_init();
}

fn targets(level: LevelFilter) -> Targets {
    let ours = Targets::new().with_target("claimstream", level).with_default(level.min(LevelFilter::WARN));
    ours.with_target("async_nats", LevelFilter::OFF)
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Colours are for terminals, unless the user has asked for none (no-color.org).
fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    /// Guard: the client of NATS logs nothing in addition to its adapter | src/logging.rs `targets`: no `async_nats`
    #[test]
    fn a_library_shows_warnings_and_the_client_of_nats_nothing() {
        let targets = targets(LevelFilter::TRACE);
        assert!(targets.would_enable("claimstream_publishing::pulse", &Level::TRACE));
        assert!(targets.would_enable("sqlx::pool", &Level::WARN));
        assert!(!targets.would_enable("sqlx::pool", &Level::INFO));
        assert!(!targets.would_enable("async_nats::connector", &Level::ERROR));
    }
}
