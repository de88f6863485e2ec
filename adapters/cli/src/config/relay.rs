use std::time::Duration;

use claimstream::{RelayConfig, SharedConcurrency};
use claimstream_domain::{ByteBudget, InstanceId, Invalid, Lease, Owner, Pacing, QueueName, RetryPolicy};

use super::{
    contradiction::Contradiction, database_url::DatabaseUrl, setting::Setting, wakeup_choice::WakeupChoice,
};

/// How messages are claimed and settled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relay {
    /// The most messages of one claim; 100 by default.
    pub batch: u32,
    /// The most messages that a pipeline holds at a time, claimed and not yet settled; 200 by default.
    pub prefetch: u32,
    /// The most bytes of payloads that a pipeline holds at a time; 64 MiB by default.
    pub prefetch_bytes: ByteBudget,
    /// How long a claim lasts unless it is renewed; 30 s by default.
    pub lease: Lease,
    /// How many messages a pipeline handles at the same time, and so how many deliveries run at most; 32 by default.
    pub concurrency: u32,
    /// How many messages all pipelines of the process handle at the same time, on all databases, in turn between these; no limit by
    /// default.
    pub process_concurrency: Option<u32>,
    /// The most messages that are settled together; 100 by default.
    pub settle_batch: u32,
    /// The longest that a finished message waits for others to be settled with; 10 ms by default.
    pub settle_age: Duration,
    /// The wait after the first claim that was not full; 20 ms by default.
    pub idle_min: Duration,
    /// The longest wait while nothing is found; 5 s by default.
    pub idle_max: Duration,
    /// How long a delivery, or a step of a fan-out, may take; 10 minutes by default.
    pub handle_timeout: Duration,
    /// How long running handlers may go on after the signal to stop; 30 s by default.
    pub drain: Duration,
    /// The queue into which an event goes for each dead letter; none by default.
    pub dead_letter_events: Option<QueueName>,
    /// What wakes this relay when another process has written; nothing by default.
    pub wakeup: WakeupChoice,
    /// The server id under which it reads the binary log, unique among servers and readers; drawn at random by default.
    pub binlog_server_id: Option<u32>,
    /// The name of this instance in the tables, at most 64 bytes; the process id by default.
    pub label: Option<String>,
}

impl Relay {
    /// The settings of a relay whose pipeline tries messages again by `retry`.
    pub fn settings(&self, retry: RetryPolicy) -> RelayConfig {
        RelayConfig {
            batch: self.batch,
            prefetch: self.prefetch,
            prefetch_bytes: self.prefetch_bytes,
            lease: self.lease,
            pacing: Pacing { idle_min: self.idle_min, idle_max: self.idle_max },
            retry,
            settle_batch: self.settle_batch,
            settle_age: self.settle_age,
            handle_timeout: self.handle_timeout,
            drain: self.drain,
            dead_letter_events: self.dead_letter_events.clone(),
            concurrency: self.concurrency,
        }
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("relay.batch", &mut self.batch);
        visit("relay.prefetch", &mut self.prefetch);
        visit("relay.prefetch_bytes", &mut self.prefetch_bytes);
        visit("relay.lease", &mut self.lease);
        visit("relay.concurrency", &mut self.concurrency);
        visit("relay.process_concurrency", &mut self.process_concurrency);
        visit("relay.settle_batch", &mut self.settle_batch);
        visit("relay.settle_age", &mut self.settle_age);
        visit("relay.idle_min", &mut self.idle_min);
        visit("relay.idle_max", &mut self.idle_max);
        visit("relay.handle_timeout", &mut self.handle_timeout);
        visit("relay.drain", &mut self.drain);
        visit("relay.dead_letter_events", &mut self.dead_letter_events);
        visit("relay.wakeup", &mut self.wakeup);
        visit("relay.binlog_server_id", &mut self.binlog_server_id);
        visit("relay.label", &mut self.label);
    }

    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let settings = self.settings(RetryPolicy::default()).check();
        let settings = settings.err().map(|invalid| (key(&invalid).into(), invalid.to_string()));
        let label = self.label.as_ref().and_then(|label| Owner::new(InstanceId(0), label).err());
        let label = label.map(|invalid| ("relay.label".into(), invalid.to_string()));
        let id = (self.binlog_server_id == Some(0)).then(|| {
            let why = "0 is no server id; from 1 to 4294967295, unique among servers and readers";
            ("relay.binlog_server_id".into(), why.into())
        });
        let shared = self.process_concurrency.and_then(|most| SharedConcurrency::new(most).err());
        let shared = shared.map(|invalid| ("relay.process_concurrency".into(), invalid.to_string()));
        settings.into_iter().chain(label).chain(id).chain(shared).collect()
    }

    /// Fewer places than databases: none could be kept for each.
    pub(super) fn contradiction_of_sharing(&self, databases: usize) -> Option<Contradiction> {
        let most = self.process_concurrency.filter(|most| (*most as usize) < databases)?;
        let why = format!(
            "{most} at a time are too few for {databases} databases, of which one that hangs would hold up the others; set {databases} or more"
        );
        Some(("relay.process_concurrency".into(), why))
    }

    /// What the readers of the binary logs of these databases cannot do: a server ends a reader when another of the same id comes, and a reader
    /// knows one address.
    pub(super) fn binlog_contradiction<'a>(
        &self,
        databases: impl Iterator<Item = &'a DatabaseUrl>,
    ) -> Option<Contradiction> {
        let databases: Vec<_> = databases.collect();
        let (key, why) = match self.wakeup.binlog {
            true if self.binlog_server_id.is_some() && databases.len() > 1 => (
                "relay.binlog_server_id",
                "several databases need readers of several ids; leave it out, and each draws one",
            ),
            true if databases.iter().any(|url| url.has_several_servers()) => (
                "relay.wakeup",
                "a binary log is read from one server, and the database has several; use a Redis, or none",
            ),
            _ => return None,
        };
        Some((key.into(), why.into()))
    }
}

/// The key that a refusal is about.
fn key(invalid: &Invalid) -> &'static str {
    match invalid {
        Invalid::OutOfRange { what: "batch", .. } => "relay.batch",
        Invalid::OutOfRange { what: "prefetch", .. } => "relay.prefetch",
        Invalid::OutOfRange { what: "concurrency", .. } => "relay.concurrency",
        Invalid::OutOfRange { what: "settle_batch", .. } => "relay.settle_batch",
        Invalid::OutOfRange { what: "settle_age", .. } => "relay.settle_age",
        Invalid::OutOfRange { what: "handle_timeout", .. } => "relay.handle_timeout",
        Invalid::OutOfRange { what: "idle wait", .. } => "relay.idle_max",
        _ => "relay",
    }
}

impl Default for Relay {
    fn default() -> Self {
        let usual = RelayConfig::default();
        Self {
            batch: usual.batch,
            prefetch: usual.prefetch,
            prefetch_bytes: usual.prefetch_bytes,
            lease: usual.lease,
            concurrency: usual.concurrency,
            process_concurrency: None,
            settle_batch: usual.settle_batch,
            settle_age: usual.settle_age,
            idle_min: usual.pacing.idle_min,
            idle_max: usual.pacing.idle_max,
            handle_timeout: usual.handle_timeout,
            drain: usual.drain,
            dead_letter_events: usual.dead_letter_events,
            wakeup: WakeupChoice::default(),
            binlog_server_id: None,
            label: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_log_is_read_at_one_address_and_under_an_id_of_its_own() {
        let [one, other, several] = ["mysql://a/shop", "mysql://b/shop", "mysql://a,b/shop"]
            .map(|url| DatabaseUrl::new(url).unwrap());
        let wakeup = WakeupChoice { binlog: true, redis: None };
        let drawn = Relay { wakeup, ..Relay::default() };
        let fixed = Relay { binlog_server_id: Some(7), ..drawn.clone() };
        let key = |relay: &Relay, urls: &[&DatabaseUrl]| {
            relay.binlog_contradiction(urls.iter().copied()).map(|(key, _)| key)
        };
        assert_eq!((key(&fixed, &[&one]), key(&drawn, &[&one, &other])), (None, None));
        assert_eq!(key(&fixed, &[&one, &other]).as_deref(), Some("relay.binlog_server_id"));
        assert_eq!(key(&drawn, &[&several]).as_deref(), Some("relay.wakeup"));
        assert_eq!(key(&Relay::default(), &[&several]), None);
    }

    #[test]
    fn each_of_several_databases_has_a_place_of_its_own() {
        let relay = Relay { process_concurrency: Some(2), ..Relay::default() };
        assert_eq!([0, 1, 2].map(|databases| relay.contradiction_of_sharing(databases)), [None, None, None]);
        let (key, why) = relay.contradiction_of_sharing(3).unwrap();
        assert_eq!(key, "relay.process_concurrency");
        assert!(why.contains("too few for 3 databases") && why.ends_with("set 3 or more"), "{why}");
        assert_eq!(Relay::default().contradiction_of_sharing(100), None);
    }
}
