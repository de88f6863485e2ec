use clap::ValueEnum;

use super::gate::Point;

/// What is killed with signal 9 under load, and started again.
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
        }
    }

    /// Where the consumer is killed, if it is and anywhere is named.
    pub(super) fn of_consumer(self) -> Option<Option<Point>> {
        match self {
            Self::Broker | Self::Relay | Self::Both => None,
            Self::Consumer => Some(None),
            Self::ConsumerInEffect => Some(Some(Point::InEffect)),
            Self::ConsumerBeforeAck => Some(Some(Point::BeforeAcknowledgement)),
        }
    }

    /// How many processes it kills.
    pub(super) fn kills(self) -> u64 {
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
            other => other,
        }
    }
}
