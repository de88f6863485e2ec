use clap::ValueEnum;

/// What is killed with signal 9 under load, and started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Fault {
    /// The broker; it comes back with its data.
    Broker,
    /// One of two relays.
    Relay,
    /// The broker and one of the relays at the same time.
    Both,
}

impl Fault {
    /// What it is called in a line of figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Relay => "relay",
            Self::Both => "both",
        }
    }

    /// How many processes it kills.
    pub(super) fn kills(self) -> u64 {
        match self {
            Self::Broker | Self::Relay => 1,
            Self::Both => 2,
        }
    }

    /// What the page says of it.
    pub(super) fn described(name: &str) -> &str {
        match name {
            "broker" => "the broker is killed (kill -9) and started again",
            "relay" => "a relay is killed (kill -9) and started again",
            "both" => "the broker and a relay are killed (kill -9) at the same time and started again",
            other => other,
        }
    }
}
