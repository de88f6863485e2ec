use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use claimstream_domain::Invalid;
use claimstream_ports::Timer;
use claimstream_tokio::TokioTimer;
use rdkafka::ClientConfig;

/// Where a Kafka cluster is, and how to log in there; settings are never shown.
///
/// `kafka://host:9092`, or several brokers of one cluster: `kafka://host:9092,host:9092`.
#[derive(Clone)]
pub struct KafkaConfig {
    brokers: String,
    settings: BTreeMap<String, String>,
    timeout: Duration,
    timer: Arc<dyn Timer>,
}

impl KafkaConfig {
    /// How long a call waits for a confirmation by default.
    pub const TIMEOUT: Duration = Duration::from_secs(4);

    const FORMS: &str = "like kafka://host:9092 or kafka://host:9092,host:9092";

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let brokers =
            text.trim().strip_prefix("kafka://").ok_or_else(|| Self::refused("no URL of a Kafka"))?;
        let brokers = brokers.trim_end_matches('/');
        if brokers.contains(['@', '/', '?', '#', ' ']) {
            return Err(Self::refused(
                "a URL with more than hosts and ports; a login is a setting of librdkafka",
            ));
        }
        if brokers.split(',').any(str::is_empty) {
            return Err(Self::refused("a URL without a host"));
        }
        let (settings, timer) = (BTreeMap::new(), Arc::new(TokioTimer::new()));
        Ok(Self { brokers: brokers.to_owned(), settings, timeout: Self::TIMEOUT, timer })
    }

    /// Sets a setting of librdkafka, such as `security.protocol`, `sasl.username` or `message.max.bytes`. Those that this crate's promises
    /// rest on, such as `enable.idempotence`, cannot be set.
    pub fn with_setting(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same configuration with this timeout of a call.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same configuration, waited for by this timer in place of tokio's clock. The client keeps its own clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    fn refused(given: &str) -> Invalid {
        Invalid::OutOfRange { what: "kafka", given: given.into(), allowed: Self::FORMS.into() }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn timer(&self) -> &Arc<dyn Timer> {
        &self.timer
    }

    /// How long a member may take until it asks for records again.
    pub(super) fn poll_interval(&self) -> Duration {
        let set = self.settings.get("max.poll.interval.ms").and_then(|text| text.parse().ok());
        Duration::from_millis(set.unwrap_or(POLL_INTERVAL_MS))
    }

    /// The settings of a member of a consumer group. What is done is stored by the member, and committed from time to time.
    pub(super) fn member(&self, group: &str) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("client.id", "claimstream").set("auto.offset.reset", "earliest");
        config.set("reconnect.backoff.max.ms", RECONNECT_MS);
        // A member that joins takes some partitions, and the other members keep what they have in hand of the rest.
        config
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("auto.commit.interval.ms", "1000");
        for (name, value) in &self.settings {
            config.set(name, value);
        }
        config.set("bootstrap.servers", &self.brokers).set("group.id", group);
        config.set("enable.auto.commit", "true").set("enable.auto.offset.store", "false");
        config.set("isolation.level", "read_committed");
        config
    }

    /// The settings of a producer.
    pub(super) fn producer(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        // As Java's clients do, so that producers of both put a key into the same partition.
        config.set("partitioner", "murmur2_random").set("client.id", "claimstream").set("linger.ms", "1");
        config.set("reconnect.backoff.max.ms", RECONNECT_MS);
        // A topic that was just made may be unknown for a moment; then it is said to be missing.
        let timeout = self.timeout.as_millis().max(2);
        config.set("topic.metadata.propagation.max.ms", (timeout / 2).to_string());
        for (name, value) in &self.settings {
            config.set(name, value);
        }
        config.set("bootstrap.servers", &self.brokers);
        config.set("enable.idempotence", "true").set("acks", "all");
        config.set("message.timeout.ms", timeout.to_string());
        config
    }
}

/// What librdkafka has as `max.poll.interval.ms` unless it is set.
const POLL_INTERVAL_MS: u64 = 300_000;

/// The longest pause between two attempts to connect. With librdkafka's 10 s a cluster that is back would be looked for long after the
/// timeout of a call.
const RECONNECT_MS: &str = "1000";

impl FromStr for KafkaConfig {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for KafkaConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}", self.brokers)
    }
}

impl fmt::Debug for KafkaConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_settings() {
        let config = KafkaConfig::new("kafka://one:9092,two:9092/").unwrap();
        let config = config.with_setting("sasl.password", "hunter2");
        assert_eq!(format!("{config} {config:?}"), "kafka://one:9092,two:9092 kafka://one:9092,two:9092");
    }

    #[test]
    fn what_the_promises_rest_on_cannot_be_set() {
        let config = KafkaConfig::new("kafka://one").unwrap().with_setting("enable.idempotence", "false");
        let config = config.with_setting("acks", "0").with_setting("linger.ms", "7");
        let config = config.producer();
        assert_eq!((config.get("enable.idempotence"), config.get("acks")), (Some("true"), Some("all")));
        assert_eq!(config.get("linger.ms"), Some("7"));
    }

    #[test]
    fn a_member_stores_only_what_is_done_whatever_is_set() {
        let config =
            KafkaConfig::new("kafka://one").unwrap().with_setting("enable.auto.offset.store", "true");
        let config = config.with_setting("auto.offset.reset", "latest").member("shipping");
        assert_eq!(config.get("enable.auto.offset.store"), Some("false"));
        assert_eq!(
            (config.get("group.id"), config.get("auto.offset.reset")),
            (Some("shipping"), Some("latest"))
        );
    }

    #[test]
    fn what_is_no_place_is_refused_and_not_repeated() {
        for bad in ["", "one:9092", "kafka://", "kafka://a,,b", "kafka://app:hunter2@one", "http://hunter2"] {
            let why = KafkaConfig::new(bad).unwrap_err().to_string();
            assert!(why.contains("like kafka://host:9092") && !why.contains("hunter2"), "{bad}: {why}");
        }
    }
}
