use std::sync::Arc;

use claimstream_domain::Finding;
use claimstream_ports::Wakeup;

use crate::{config::Config, not_built::not_built};

/// No binary log can be read; a configuration that asks for it is refused before.
pub(crate) fn binlog_wakeup(_: &Config, _: Arc<dyn Wakeup>) -> Result<Arc<dyn Wakeup>, String> {
    Err(not_built("wakeups by the binary log", "binlog"))
}

pub(crate) async fn examine_binlog(_: &Config) -> Option<Finding> {
    None
}
