use std::time::Duration;

use claimstream_domain::{Finding, QueueName, QueueStatus, Reason, Severity, publishing::RouteTemplate};
use claimstream_ports::{Observe, within};
use claimstream_tokio::TokioTimer;
use futures::future::join_all;

use crate::{
    broker::Broker,
    config::{BrokerUrl, Config, Publishing, TargetName},
};

/// How long a broker may take; all are asked at once.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A finding for each target: whether its broker can be reached, where its messages go, and whether anything takes them there.
pub(crate) async fn examine_publishing(config: &Config, timer: TokioTimer) -> Vec<Finding> {
    join_all(config.publish.named.keys().map(|name| examine(name, config, timer))).await
}

/// A warning for each queue that holds copies which no section publishes: its target was taken out of the configuration, or the queue of the
/// copied messages has one target now.
pub(crate) async fn examine_copies(config: &Config, queues: &impl Observe) -> Vec<Finding> {
    // The checks of the database say what is wrong with it.
    let queues = queues.observe().await.unwrap_or_default();
    queues.iter().filter_map(|status| left_over(&config.publish, status)).collect()
}

fn left_over(publishing: &Publishing, status: &QueueStatus) -> Option<Finding> {
    let (queue, published) = (&status.queue, publishing.by_queue());
    let (copied, target) = queue.as_str().rsplit_once('.')?;
    let targets = published.get(&QueueName::new(copied).ok()?)?;
    let is_copied_to = targets.len() > 1 && targets.iter().any(|name| name.as_str() == target);
    if status.depth == 0 || is_copied_to || published.contains_key(queue) {
        return None;
    }
    let detail = format!(
        "the queue {queue} holds {} messages, and no target publishes copies of {copied} from there any more; add a section \
         [publish.NAME] with queue = \"{queue}\" until it is empty",
        status.depth
    );
    Some(Finding { check: "publish", severity: Severity::Warning, detail })
}

async fn examine(name: &TargetName, config: &Config, timer: TokioTimer) -> Finding {
    let settings = config.publish.of(name).unwrap_or_default();
    let found = |severity, detail: String| Finding { check: "publish", severity, detail };
    let broker = match Broker::of(&settings) {
        Ok(broker) => broker,
        Err((key, why)) => return found(Severity::Failure, format!("`publish.{name}.{key}`: {why}")),
    };
    let to = settings.to.as_ref().map(BrokerUrl::to_string).unwrap_or_default();
    let queue = settings.queue_of(name).map(|queue| queue.to_string()).unwrap_or_default();
    let asked = async {
        broker.reach().await?;
        // Where it depends on the message it is not known.
        let fixed = settings.place.as_ref().and_then(|place| place.for_all_of(&queue));
        Ok::<_, Reason>(match fixed {
            Some(place) => broker.lacks(&place).await,
            None => None,
        })
    };
    match within(&timer, TIMEOUT, asked).await {
        Some(Ok(None)) => {
            let place = settings.place.as_ref().map(RouteTemplate::to_string).unwrap_or_default();
            found(Severity::Good, format!("{name}: queue {queue} to {to} at {place}"))
        }
        Some(Ok(Some(missing))) => {
            let detail = format!("{name}: {missing}, or each message of queue {queue} will be a dead letter");
            found(Severity::Warning, detail)
        }
        Some(Err(why)) => found(Severity::Failure, format!("{name}: {why}")),
        None => found(Severity::Failure, format!("{name}: {to} gave no answer within {TIMEOUT:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TargetSettings;

    fn publishing(targets: &[(&str, &str)]) -> Publishing {
        let named = targets.iter().map(|(target, queue)| {
            let queue = QueueName::new(queue).ok();
            (TargetName::new(target).unwrap(), TargetSettings { queue, ..TargetSettings::default() })
        });
        Publishing { named: named.collect(), ..Publishing::default() }
    }

    fn is_left_over(queue: &str, depth: u64, targets: &[(&str, &str)]) -> bool {
        let status = QueueStatus { depth, ..QueueStatus::empty(QueueName::new(queue).unwrap()) };
        left_over(&publishing(targets), &status).is_some()
    }

    #[test]
    fn copies_that_no_target_publishes_are_left_over() {
        let two = [("nats", "orders"), ("audit", "orders")];
        assert!(is_left_over("orders.redis", 3, &two), "its target is gone");
        assert!(is_left_over("orders.nats", 3, &two[..1]), "one target has the queue itself");
        assert!(!is_left_over("orders.nats", 3, &two) && !is_left_over("orders.redis", 0, &two));
        assert!(!is_left_over("bills.redis", 3, &two), "nothing is copied from there");
        let with_rest = [two[0], two[1], ("rest", "orders.redis")];
        assert!(!is_left_over("orders.redis", 3, &with_rest), "a section publishes it");
    }
}
