use serde::{Deserialize, Serialize};

/// What a backlog is made of and who works on it: the same for `fill` and for every instance.
#[derive(Deserialize, Debug)]
pub(crate) struct Job {
    /// The database; the tables of the contender there are made anew.
    pub(crate) url: String,
    pub(crate) contender: String,
    /// How many messages, numbered from 0.
    #[serde(default)]
    pub(crate) backlog: u64,
    /// How many bytes each carries.
    #[serde(default)]
    pub(crate) payload: usize,
    /// Which instance this is, from 0.
    #[serde(default)]
    pub(crate) number: usize,
    /// How many there are.
    #[serde(default = "one")]
    pub(crate) instances: usize,
    /// For how long it works; without it until the backlog is gone.
    #[serde(default)]
    pub(crate) seconds: f64,
}

/// Messages sent for a while by many at once.
#[derive(Deserialize, Debug)]
pub(crate) struct Sending {
    pub(crate) url: String,
    pub(crate) contender: String,
    pub(crate) producers: usize,
    pub(crate) per_transaction: u64,
    pub(crate) payload: usize,
    pub(crate) seconds: f64,
}

/// What an instance has done.
#[derive(Serialize, Debug)]
pub(crate) struct Work {
    /// When its last acknowledgement was there, in seconds since 1970.
    pub(crate) last: f64,
    /// What was handed out to it, in order.
    pub(crate) handed_out: Vec<u64>,
    /// What was handled; a peer does not say which acknowledgement went through.
    pub(crate) acknowledged: Vec<u64>,
    /// Acknowledgements that came too late; a peer does not say.
    pub(crate) superseded: u64,
    /// User and system time of this process.
    pub(crate) cpu_seconds: f64,
}

/// What was sent.
#[derive(Serialize, Debug)]
pub(crate) struct Sent {
    pub(crate) count: u64,
    /// From the first transaction's begin to the last one's end.
    pub(crate) seconds: f64,
}

fn one() -> usize {
    1
}
