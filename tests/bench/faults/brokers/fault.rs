use clap::ValueEnum;

use super::gate::Point;

/// What is killed with signal 9 under load and started again, or happens to a mock cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Fault {
    /// The broker; it comes back with its data.
    Broker,
    /// One of two relays.
    Relay,
    /// The broker and one of the relays at the same time.
    Both,
    /// The consumer, at any moment.
    Consumer,
    /// The consumer, when an effect is written and not committed.
    ConsumerInEffect,
    /// The consumer, when an effect was committed and the broker does not know.
    ConsumerBeforeAck,
    /// A broker of the mock cluster; it refuses connections for two seconds.
    BrokerAway,
    /// All brokers of the mock cluster; they refuse connections for six seconds.
    ClusterAway,
    /// The leader of each partition of the mock cluster.
    LeadersMove,
    /// The answers of the mock cluster: it has done what was asked, and its connections end before it says so.
    AnswersLost,
    /// The connections of ten requests to the mock cluster.
    ConnectionsBreak,
    /// A request to the mock cluster, which is answered with an error that passes.
    PassingErrors,
}

/// What a fault does to the broker.
pub(super) enum Stroke {
    /// It is killed with signal 9 and started again.
    Kill,
    /// Something happens to a mock cluster.
    Mocked(Mishap),
}

/// What can happen to a mock cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mishap {
    BrokerAway,
    ClusterAway,
    LeadersMove,
    AnswersLost,
    ConnectionsBreak,
    PassingErrors,
}

impl Fault {
    /// What it is called in a line of figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Relay => "relay",
            Self::Both => "both",
            Self::Consumer => "consumer",
            Self::ConsumerInEffect => "consumer-in-effect",
            Self::ConsumerBeforeAck => "consumer-before-ack",
            Self::BrokerAway => "broker-away",
            Self::ClusterAway => "cluster-away",
            Self::LeadersMove => "leaders-move",
            Self::AnswersLost => "answers-lost",
            Self::ConnectionsBreak => "connections-break",
            Self::PassingErrors => "passing-errors",
        }
    }

    /// What it does to the broker, if anything.
    pub(super) fn of_broker(self) -> Option<Stroke> {
        let mishap = match self {
            Self::Broker | Self::Both => return Some(Stroke::Kill),
            Self::Relay | Self::Consumer | Self::ConsumerInEffect | Self::ConsumerBeforeAck => return None,
            Self::BrokerAway => Mishap::BrokerAway,
            Self::ClusterAway => Mishap::ClusterAway,
            Self::LeadersMove => Mishap::LeadersMove,
            Self::AnswersLost => Mishap::AnswersLost,
            Self::ConnectionsBreak => Mishap::ConnectionsBreak,
            Self::PassingErrors => Mishap::PassingErrors,
        };
        Some(Stroke::Mocked(mishap))
    }

    /// Whether a relay is killed.
    pub(super) fn is_of_relay(self) -> bool {
        matches!(self, Self::Relay | Self::Both)
    }

    /// Whether what is called so in a line of figures kills processes.
    pub(super) fn kills(name: &str) -> bool {
        let is_mocked = |fault: &Self| matches!(fault.of_broker(), Some(Stroke::Mocked(_)));
        !Self::value_variants().iter().filter(|fault| is_mocked(fault)).any(|fault| fault.name() == name)
    }

    /// Where the consumer is killed, if it is and anywhere is named.
    pub(super) fn of_consumer(self) -> Option<Option<Point>> {
        match self {
            Self::Consumer => Some(None),
            Self::ConsumerInEffect => Some(Some(Point::InEffect)),
            Self::ConsumerBeforeAck => Some(Some(Point::BeforeAcknowledgement)),
            _ => None,
        }
    }

    /// How many kills or faults a round of it is.
    pub(super) fn times(self) -> u64 {
        match self {
            Self::Both => 2,
            _ => 1,
        }
    }

    /// What the page says of it.
    pub(super) fn described(name: &str) -> &str {
        match name {
            "broker" => "the broker is killed (kill -9) and started again",
            "relay" => "a relay is killed (kill -9) and started again",
            "both" => "the broker and a relay are killed (kill -9) at the same time and started again",
            "consumer" => "the consumer is killed (kill -9) and started again",
            "consumer-in-effect" => {
                "the consumer is killed (kill -9) when an effect is written and not committed"
            }
            "consumer-before-ack" => {
                "the consumer is killed (kill -9) when an effect was committed and the broker does not know"
            }
            "broker-away" => "a broker of the mock cluster refuses connections for two seconds",
            "cluster-away" => "all brokers of the mock cluster refuse connections for six seconds",
            "leaders-move" => "the leaders of all partitions of the mock cluster move",
            "answers-lost" => {
                "the mock cluster does what is asked, and its connections end before it answers"
            }
            "connections-break" => "connections to the mock cluster break at each kind of request",
            "passing-errors" => "the mock cluster answers a request with an error that passes",
            other => other,
        }
    }
}
