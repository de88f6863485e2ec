use std::sync::Arc;

use claimstream_binlog::{BinlogPlace, BinlogWakeup};
use claimstream_domain::{Finding, Severity};
use claimstream_ports::Wakeup;

use crate::config::Config;

/// What the binary log wakes as well as `local`, or why there is none.
pub(crate) fn binlog_wakeup(config: &Config, local: Arc<dyn Wakeup>) -> Result<Arc<dyn Wakeup>, String> {
    Ok(Arc::new(BinlogWakeup::new(binlog_place(config)?, local)))
}

fn binlog_place(config: &Config) -> Result<BinlogPlace, String> {
    let url = config.database.location().map_err(|error| error.to_string())?;
    if url.is_sqlite() {
        return Err("SQLite has no binary log".into());
    }
    let place = BinlogPlace::new(url.reveal()).map_err(|why| why.to_string())?;
    match config.relay.binlog_server_id {
        Some(id) => place.with_server_id(id).map_err(|why| why.to_string()),
        None => Ok(place),
    }
}

/// Whether the binary log can be read, where a relay is to be woken by it.
pub(crate) async fn examine_binlog(config: &Config) -> Option<Finding> {
    if !config.relay.wakeup.binlog {
        return None;
    }
    Some(match binlog_place(config) {
        Ok(place) => place.examine().await,
        Err(why) => Finding {
            severity: Severity::Warning,
            check: "wakeup",
            detail: format!("{why}; relays look by themselves, every relay.idle_max at least"),
        },
    })
}
