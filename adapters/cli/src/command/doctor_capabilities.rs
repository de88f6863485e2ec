use std::collections::BTreeSet;

use claimstream_domain::{Finding, Severity};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};

use crate::{
    config::{Channels, Config, DatabaseSettings, NotificationSettings},
    open::OpenError,
};

/// What the configuration uses a database for.
pub(super) fn used_capabilities(config: &Config) -> BTreeSet<Capability> {
    let mut used = config.database.all_capabilities();
    used.extend(sets_notifications(config).then_some(Capability::Notifications));
    used
}

/// Opens the outbox for what is used and there.
pub(super) async fn open_for(
    database: &DatabaseSettings,
    used: &BTreeSet<Capability>,
) -> Result<SeaOrmOutbox, OpenError> {
    let outbox = database.open_existing().await?;
    let there = outbox.capabilities().await.unwrap_or_default();
    let used: Vec<_> = used.intersection(&there).copied().collect();
    if used.is_empty() {
        return Ok(outbox);
    }
    drop(outbox);
    database.open_existing_for(&used).await
}

/// What the configuration uses and has no tables.
pub(super) async fn examine_capabilities(
    outbox: &SeaOrmOutbox,
    used: &BTreeSet<Capability>,
) -> Option<Finding> {
    let there = outbox.capabilities().await.ok()?;
    let missing: Vec<_> = used.difference(&there).map(|capability| capability.name()).collect();
    (!missing.is_empty()).then(|| {
        let missing = missing.join(",");
        let why =
            format!("used and without tables: {missing}; run `claimstream schema apply --for {missing}`");
        Finding { severity: Severity::Failure, check: "capabilities", detail: why }
    })
}

/// Whether anything about notifications is set to another value than its default.
pub(super) fn sets_notifications(config: &Config) -> bool {
    config.notifications != NotificationSettings::default() || config.channels != Channels::default()
}
