use std::sync::Arc;

use claimstream_domain::Reason;
use claimstream_ports::Publish;

use crate::{
    config::{Secret, TargetSettings},
    not_built::not_built,
};

/// The broker of a target, by the scheme of its URL.
#[derive(Debug)]
pub(crate) enum Broker {
    #[cfg(feature = "kafka")]
    Kafka(Arc<claimstream_brokers::kafka::KafkaPublisher>),
    #[cfg(feature = "nats")]
    Nats(Arc<claimstream_brokers::nats::NatsPublisher>),
    #[cfg(feature = "rabbitmq")]
    RabbitMq(Arc<claimstream_brokers::rabbitmq::RabbitMqPublisher>),
    #[cfg(feature = "redis-streams")]
    RedisStreams(Arc<claimstream_brokers::redis_streams::RedisStreamsPublisher>),
}

/// A key of a target's section, and what is wrong with its value.
pub(crate) type KeyRefusal = (&'static str, String);

/// How a target logs in.
#[cfg_attr(
    not(any(feature = "kafka", feature = "nats", feature = "rabbitmq", feature = "redis-streams")),
    allow(dead_code, reason = "there is no broker")
)]
struct Login {
    user: Option<String>,
    password: Option<Secret>,
    token: Option<Secret>,
}

impl Broker {
    /// The broker that settings name; nothing is sent to it yet.
    pub(crate) fn of(settings: &TargetSettings) -> Result<Self, KeyRefusal> {
        let Some(url) = &settings.to else {
            return Err(("to", format!("set the broker's URL, {}", schemes().join(" or "))));
        };
        let login = Login::of(settings)?;
        match (url.scheme(), login) {
            #[cfg(feature = "kafka")]
            ("kafka", login) => kafka(settings, &login),
            #[cfg(feature = "nats")]
            ("nats" | "tls", login) => nats(settings, login),
            #[cfg(feature = "rabbitmq")]
            ("amqp" | "amqps", login) => rabbitmq(settings, &login),
            #[cfg(feature = "redis-streams")]
            ("redis" | "rediss", login) => redis_streams(settings, login),
            (other, _) => Err(("to", no_broker(other))),
        }
    }

    /// What publishes to it.
    pub(crate) fn publisher(&self) -> Arc<dyn Publish> {
        match *self {
            #[cfg(feature = "kafka")]
            Self::Kafka(ref kafka) => kafka.clone(),
            #[cfg(feature = "nats")]
            Self::Nats(ref nats) => nats.clone(),
            #[cfg(feature = "rabbitmq")]
            Self::RabbitMq(ref rabbitmq) => rabbitmq.clone(),
            #[cfg(feature = "redis-streams")]
            Self::RedisStreams(ref redis) => redis.clone(),
        }
    }

    /// Connects to it, or says what is in the way.
    pub(crate) async fn reach(&self) -> Result<(), Reason> {
        match *self {
            #[cfg(feature = "kafka")]
            Self::Kafka(ref kafka) => kafka.reach().await,
            #[cfg(feature = "nats")]
            Self::Nats(ref nats) => nats.reach().await,
            #[cfg(feature = "rabbitmq")]
            Self::RabbitMq(ref rabbitmq) => rabbitmq.reach().await,
            #[cfg(feature = "redis-streams")]
            Self::RedisStreams(ref redis) => redis.reach().await,
        }
    }
}

impl Broker {
    /// What is missing at this place, as far as the broker can be asked: a stream, an exchange or a queue that does not exist.
    pub(crate) async fn lacks(&self, place: &str) -> Option<Reason> {
        match *self {
            #[cfg(feature = "nats")]
            Self::Nats(ref nats) => nats.lacks(place).await,
            #[cfg(feature = "rabbitmq")]
            Self::RabbitMq(ref rabbitmq) => rabbitmq.lacks(place).await,
            // The others make it, or say so when the first message comes.
            #[allow(unreachable_patterns, reason = "there may be no others")]
            _ => {
                let _ = place;
                None
            }
        }
    }
}

/// Why no broker has this scheme, and which feature brings the one that has.
fn no_broker(scheme: &str) -> String {
    let feature = match scheme {
        "kafka" => "kafka",
        "nats" | "tls" => "nats",
        "amqp" | "amqps" => "rabbitmq",
        "redis" | "rediss" => "redis-streams",
        _ => {
            let known = schemes().join(" or ");
            return format!("no broker of this program has the scheme {scheme:?}; use {known}");
        }
    };
    not_built(&format!("the broker of {scheme:?}"), feature)
}

/// What a URL of each broker that this program was built with begins with.
fn schemes() -> Vec<&'static str> {
    vec![
        #[cfg(feature = "nats")]
        "nats://host:4222",
        #[cfg(feature = "rabbitmq")]
        "amqp://host:5672",
        #[cfg(feature = "redis-streams")]
        "redis://host:6379/0",
        #[cfg(feature = "kafka")]
        "kafka://host:9092",
    ]
}

#[cfg(feature = "nats")]
fn nats(settings: &TargetSettings, login: Login) -> Result<Broker, KeyRefusal> {
    use claimstream_brokers::nats::{NatsConfig, NatsLogin, NatsPublisher};

    let url = settings.to.as_ref().map(|url| url.reveal()).unwrap_or_default();
    let place = NatsConfig::new(url).map_err(|e| ("to", e.to_string()))?;
    let place = match (login.user, login.password, login.token) {
        // What the URL says holds.
        (None, None, None) => place,
        (None, None, Some(token)) => place.with_login(NatsLogin::Token(token.reveal().to_owned())),
        (Some(user), Some(password), None) => {
            place.with_login(NatsLogin::User { user, password: password.reveal().to_owned() })
        }
        (_, _, Some(_)) => return Err(("token", "give a token, or a user with a password".into())),
        (_, _, None) => return Err(("user", "a user needs a password, and a password a user".into())),
    };
    let place = match settings.certificates.clone() {
        Some(pem) => place.with_certificates(pem),
        None => place,
    };
    Ok(Broker::Nats(Arc::new(NatsPublisher::new(place))))
}

#[cfg(feature = "kafka")]
fn kafka(settings: &TargetSettings, login: &Login) -> Result<Broker, KeyRefusal> {
    use claimstream_brokers::kafka::{KafkaConfig, KafkaPublisher};

    let url = settings.to.as_ref().map(|url| url.reveal()).unwrap_or_default();
    let place = KafkaConfig::new(url).map_err(|e| ("to", e.to_string()))?;
    if login.is_given() {
        return Err(("user", "this program logs in to no Kafka; name a listener that needs no login".into()));
    }
    Ok(Broker::Kafka(Arc::new(KafkaPublisher::new(place))))
}

#[cfg(feature = "rabbitmq")]
fn rabbitmq(settings: &TargetSettings, login: &Login) -> Result<Broker, KeyRefusal> {
    use claimstream_brokers::rabbitmq::{RabbitMqConfig, RabbitMqPublisher};

    let url = settings.to.as_ref().map(|url| url.reveal()).unwrap_or_default();
    let place = RabbitMqConfig::new(url).map_err(|e| ("to", e.to_string()))?;
    if login.token.is_some() {
        return Err(("token", "RabbitMQ knows no tokens; give a user with a password".into()));
    }
    let place = match (&login.user, &login.password) {
        (Some(user), Some(password)) => place.with_login(user, password.reveal()),
        (None, None) => place,
        _ => return Err(("user", "a user needs a password, and a password a user".into())),
    };
    Ok(Broker::RabbitMq(Arc::new(RabbitMqPublisher::new(place))))
}

#[cfg(feature = "redis-streams")]
fn redis_streams(settings: &TargetSettings, login: Login) -> Result<Broker, KeyRefusal> {
    use claimstream_brokers::redis_streams::{RedisStreamsConfig, RedisStreamsPublisher};

    let url = settings.to.as_ref().map(|url| url.reveal()).unwrap_or_default();
    let place = RedisStreamsConfig::new(url).map_err(|e| ("to", e.to_string()))?;
    if login.token.is_some() {
        return Err(("token", "Redis knows no tokens; give a password".into()));
    }
    let place = match (&login.user, &login.password) {
        (user, Some(password)) => place.with_login(user.as_deref(), password.reveal()),
        (Some(_), None) => return Err(("user", "a user needs a password".into())),
        (None, None) => place,
    };
    let publisher = RedisStreamsPublisher::new(place);
    let publisher = match settings.max_len {
        Some(entries) => publisher.keeping(entries.into()),
        None => publisher,
    };
    Ok(Broker::RedisStreams(Arc::new(publisher)))
}

impl Login {
    #[cfg(feature = "kafka")]
    fn is_given(&self) -> bool {
        self.user.is_some() || self.password.is_some() || self.token.is_some()
    }

    fn of(settings: &TargetSettings) -> Result<Self, KeyRefusal> {
        Ok(Self {
            user: settings.user.clone(),
            password: settings.password.read().map_err(|why| ("password", why))?,
            token: settings.token.read().map_err(|why| ("token", why))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_was_not_built_is_named_with_its_feature() {
        assert!(no_broker("kafka").ends_with("`cargo install --path adapters/cli --features kafka`"));
        assert!(no_broker("amqps").contains("--features rabbitmq"));
        assert!(no_broker("ftp").starts_with("no broker of this program has the scheme \"ftp\"; use "));
    }
}
