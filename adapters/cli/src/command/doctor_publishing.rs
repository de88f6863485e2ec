use std::time::Duration;

use claimstream_domain::{Finding, Severity, publishing::RouteTemplate};
use futures::future::join_all;
use tokio::time::timeout;

use crate::{
    broker::Broker,
    config::{BrokerUrl, Config, TargetName},
};

/// How long a broker may take; all are asked at once.
const PATIENCE: Duration = Duration::from_secs(3);

/// A finding for each target: whether its broker can be reached, and where its messages go.
pub(crate) async fn examine_publishing(config: &Config) -> Vec<Finding> {
    join_all(config.publish.named.keys().map(|name| examine(name, config))).await
}

async fn examine(name: &TargetName, config: &Config) -> Finding {
    let settings = config.publish.of(name).unwrap_or_default();
    let found = |severity, detail: String| Finding { check: "publish", severity, detail };
    let broker = match Broker::of(&settings) {
        Ok(broker) => broker,
        Err((key, why)) => return found(Severity::Failure, format!("`publish.{name}.{key}`: {why}")),
    };
    let to = settings.to.as_ref().map(BrokerUrl::to_string).unwrap_or_default();
    match timeout(PATIENCE, broker.reach()).await {
        Ok(Ok(())) => {
            let queue = settings.queue_of(name).map(|queue| queue.to_string()).unwrap_or_default();
            let place = settings.place.as_ref().map(RouteTemplate::to_string).unwrap_or_default();
            found(Severity::Good, format!("{name}: queue {queue} to {to} at {place}"))
        }
        Ok(Err(why)) => found(Severity::Failure, format!("{name}: {why}")),
        Err(_) => found(Severity::Failure, format!("{name}: {to} gave no answer within {PATIENCE:?}")),
    }
}
