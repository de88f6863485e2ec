use std::{collections::BTreeMap, time::Duration};

use claimstream_domain::{Invalid, QueueName, publishing::RouteTemplate};
use claimstream_notifications::Priority;

use super::{
    contradiction::Contradiction,
    setting::Setting,
    target_settings::{EventChoice, TargetName, TargetSettings},
};
use crate::broker::Broker;

/// Which queues are published to which brokers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publishing {
    /// The settings of every target that has none of its own.
    pub default: TargetSettings,
    /// What each target says itself.
    pub named: BTreeMap<TargetName, TargetSettings>,
}

impl Publishing {
    /// The settings of a target, the defaults included; `None` if there is none of this name.
    pub fn of(&self, name: &TargetName) -> Option<TargetSettings> {
        self.named.get(name).map(|own| own.over(&self.default))
    }

    /// The targets of each queue.
    pub fn by_queue(&self) -> BTreeMap<QueueName, Vec<&TargetName>> {
        let mut queues: BTreeMap<QueueName, Vec<&TargetName>> = BTreeMap::new();
        for (name, own) in &self.named {
            if let Ok(queue) = own.queue_of(name) {
                queues.entry(queue).or_default().push(name);
            }
        }
        queues
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        self.default.each("publish.default", visit);
        for (name, own) in &mut self.named {
            visit(&format!("publish.{name}.queue"), &mut own.queue);
            own.each(&format!("publish.{name}"), visit);
        }
    }

    /// The shortest `relay.handle_timeout`: a handler keeps its messages for a while if the broker is away, and one that is stopped
    /// before has failed an attempt of each.
    const HANDLE_TIMEOUT: Duration = Duration::from_secs(60);

    /// What nothing could be published by; each with the key that would mend it.
    pub(super) fn contradictions(&self, handle_timeout: Duration) -> Vec<Contradiction> {
        let mut found = self.faults_of_targets();
        if !self.named.is_empty() && handle_timeout < Self::HANDLE_TIMEOUT {
            let why = "with sections [publish.NAME] it is at least 1m, because messages wait in hand while a broker is away";
            found.push(("relay.handle_timeout".into(), why.into()));
        }
        found.extend(self.by_queue().into_iter().filter(|(queue, _)| is_of_notifications(queue)).flat_map(
            |(queue, names)| {
                let why =
                    format!("the queue {queue} is that of notifications, which the relay delivers itself");
                names.into_iter().map(move |name| (format!("publish.{name}.queue"), why.clone()))
            },
        ));
        found
    }

    fn faults_of_targets(&self) -> Vec<Contradiction> {
        let refused = self.named.keys().filter_map(|name| {
            let (key, why) = Broker::of(&self.of(name)?).err()?;
            Some((format!("publish.{name}.{key}"), why))
        });
        let queues = self.by_queue();
        let copies = queues.iter().filter(|(_, names)| names.len() > 1).flat_map(|(queue, names)| {
            names.iter().filter_map(|name| Some((*name, copy_fault(queue, name, &queues)?)))
        });
        refused.chain(copies.map(|(name, why)| (format!("publish.{name}.queue"), why))).collect()
    }
}

fn is_of_notifications(queue: &QueueName) -> bool {
    let is_one =
        |priority: Priority| [priority.request_queue(), priority.message_queue()].contains(&queue.as_str());
    Priority::ALL.into_iter().any(is_one)
}

/// Why the copies of a queue for a target can have no queue of their own, if so.
fn copy_fault(
    queue: &QueueName,
    name: &TargetName,
    queues: &BTreeMap<QueueName, Vec<&TargetName>>,
) -> Option<String> {
    match copy_queue(queue, name) {
        Err(why) => {
            Some(format!("several targets have this queue, and the queue of its copies cannot exist: {why}"))
        }
        Ok(copies) if queues.contains_key(&copies) => Some(format!(
            "the queue {copies} is that of the copies for this target; publish it under another name"
        )),
        Ok(_) => None,
    }
}

/// The queue of the copies for a target, where several targets have one queue.
pub fn copy_queue(queue: &QueueName, name: &TargetName) -> Result<QueueName, Invalid> {
    QueueName::new(&format!("{queue}.{name}"))
}

impl Default for Publishing {
    fn default() -> Self {
        let template = |text: &str| RouteTemplate::new(text).ok();
        let default = TargetSettings {
            place: template("{queue}"),
            events: Some(EventChoice::Binary),
            source: template("/claimstream/{queue}"),
            kind: template("{queue}"),
            ..TargetSettings::default()
        };
        Self { default, named: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::publishing::EventMode;

    use super::*;
    use crate::config::{broker_url::BrokerUrl, setting::ConfigValue};

    fn publishing(targets: &[(&str, &str, Option<&str>)]) -> Publishing {
        let named = targets.iter().map(|(target, to, queue)| {
            let settings = TargetSettings {
                queue: queue.map(|queue| QueueName::new(queue).unwrap()),
                to: BrokerUrl::read(to).ok(),
                ..TargetSettings::default()
            };
            (TargetName::new(target).unwrap(), settings)
        });
        Publishing { named: named.collect(), ..Publishing::default() }
    }

    fn why(targets: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        publishing(targets)
            .contradictions(Publishing::HANDLE_TIMEOUT)
            .into_iter()
            .map(|(key, why)| format!("{key}: {why}"))
            .collect()
    }

    #[test]
    fn a_target_without_a_broker_that_is_known_is_refused() {
        assert!(why(&[("orders", "nats://broker:4222", None)]).is_empty());
        let missing = why(&[("orders", "", None)]);
        assert!(missing[0].starts_with("publish.orders.to: set the broker's URL"), "{missing:?}");
        let unknown = why(&[("orders", "mqtt://broker", None)]);
        assert!(unknown[0].contains("has the scheme \"mqtt\"; use nats://"), "{unknown:?}");
    }

    #[test]
    fn targets_of_one_queue_have_queues_of_their_own() {
        let nats = "nats://broker:4222";
        let two =
            publishing(&[("a", nats, Some("orders")), ("b", nats, Some("orders")), ("orders-x", nats, None)]);
        let queues = two.by_queue();
        assert_eq!(queues[&QueueName::new("orders").unwrap()].len(), 2);
        assert!(
            queues.contains_key(&QueueName::new("orders-x").unwrap())
                && two.contradictions(Publishing::HANDLE_TIMEOUT).is_empty()
        );
        let met = why(&[("a", nats, Some("q")), ("b", nats, Some("q")), ("c", nats, Some("q.a"))]);
        assert!(
            met.len() == 1 && met[0].starts_with("publish.a.queue: the queue q.a is that of the copies"),
            "{met:?}"
        );
        let long = "q".repeat(63);
        let met = why(&[("a", nats, Some(&long)), ("b", nats, Some(&long))]);
        assert!(met.len() == 2 && met[0].contains("cannot exist: queue name has 65 bytes"), "{met:?}");
    }

    #[test]
    fn neither_notifications_are_published_nor_is_a_batch_stopped_early() {
        let met = why(&[("x", "nats://broker:4222", Some(Priority::Normal.message_queue()))]);
        assert!(met.len() == 1 && met[0].contains("which the relay delivers itself"), "{met:?}");
        let one = publishing(&[("orders", "nats://broker:4222", None)]);
        assert_eq!(one.contradictions(Duration::from_secs(59))[0].0, "relay.handle_timeout");
        assert!(publishing(&[]).contradictions(Duration::from_secs(1)).is_empty());
    }

    #[test]
    fn a_target_says_what_differs() {
        let mut publishing = publishing(&[("orders", "nats://broker:4222", None)]);
        publishing.default.to = BrokerUrl::read("redis://cache").ok();
        publishing.default.events = Some(EventChoice::Plain);
        let settings = publishing.of(&TargetName::new("orders").unwrap()).unwrap();
        assert_eq!(settings.to.as_ref().map(BrokerUrl::scheme), Some("nats"));
        assert_eq!(settings.route().map(|route| route.events), Some(EventMode::Plain));
    }
}
