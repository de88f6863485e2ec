use clap::ValueEnum;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(crate) enum Fault {
    /// Connections break before a request, in the middle of it, or before its answer, also that of a commit; now and then all at once.
    Connections,
    /// A node ends without a warning and comes back.
    Kill,
    /// A node answers nothing for six seconds.
    Pause,
    /// A node is cut off from the others for six seconds; its clients still reach it.
    CutOff,
    /// One node after the other ends in order and comes back.
    Restart,
    /// The node that takes writes ends without a warning, and another one takes its place.
    Takeover,
    /// The same with a replica that has received nothing for two seconds.
    LossyTakeover,
}

impl Fault {
    /// What it is called in a line of figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::CutOff => "cut-off",
            Self::Restart => "restart",
            Self::Takeover => "takeover",
            Self::LossyTakeover => "lossy-takeover",
        }
    }

    /// What the page says of it.
    pub(crate) fn described(name: &str) -> &str {
        match name {
            "connections" => "a connection breaks before a request, amid it or before its answer",
            "kill" => "a node is killed (kill -9) and started again",
            "pause" => "a node is stopped (SIGSTOP) for six seconds",
            "cut-off" => "a node is cut off from the others for six seconds",
            "restart" => "a node is restarted in order",
            "takeover" => "the node that takes writes is killed (kill -9), and another takes over",
            "lossy-takeover" => {
                "the source is killed (kill -9), and a replica that lacks its last two seconds takes over"
            }
            other => other,
        }
    }
}
