use std::{collections::BTreeMap, fs::OpenOptions, io::Write, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Failure,
    machine::Machine,
    server::About,
    statistics::{median, range},
};

/// One measured cell with all its rounds; a JSON object on a line of its own.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct Record {
    /// The same for all cells that were measured together.
    pub(crate) run: String,
    pub(crate) scenario: String,
    pub(crate) contender: String,
    /// The version and a note, if the contender is another library.
    pub(crate) peer: Option<PeerNote>,
    pub(crate) instances: u64,
    /// What else distinguishes the cell, such as `backlog` or `delay_ms`.
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) rounds: Vec<Round>,
    /// Rounds that failed, and why.
    pub(crate) failures: Vec<String>,
    pub(crate) server: About,
    pub(crate) machine: Machine,
    /// UTC, when the run began.
    pub(crate) date: String,
    pub(crate) commit: Option<String>,
    /// The library's version.
    pub(crate) version: String,
}

/// Who made a contender that is another library.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct PeerNote {
    pub(crate) version: String,
    pub(crate) note: String,
    /// Whether it leases each message and counts its attempts.
    pub(crate) leases: bool,
}

/// What one round came to.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct Round {
    /// By name, such as `rate`.
    pub(crate) figures: BTreeMap<String, f64>,
    pub(crate) counts: Counts,
    /// Points of a curve, by name.
    pub(crate) series: BTreeMap<String, Vec<[f64; 2]>>,
}

/// What should be nothing, and what it is measured against.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) handed_out: u64,
    pub(crate) acknowledged: u64,
    /// Messages that were handed out more than once.
    pub(crate) duplicates: u64,
    /// Messages whose acknowledgement was accepted more than once.
    pub(crate) doubled: u64,
    /// Acknowledgements that came too late.
    pub(crate) superseded: u64,
    /// Messages that are neither acknowledged nor waiting.
    pub(crate) lost: u64,
    /// Messages that were still waiting when the time was over.
    pub(crate) not_drained: u64,
    /// Deadlocks that the server resolved.
    pub(crate) deadlocks: u64,
    /// Errors that reached the user.
    pub(crate) errors: u64,
}

impl Counts {
    pub(crate) fn join(&mut self, other: Self) {
        self.handed_out += other.handed_out;
        self.acknowledged += other.acknowledged;
        self.duplicates += other.duplicates;
        self.doubled += other.doubled;
        self.superseded += other.superseded;
        self.lost += other.lost;
        self.not_drained += other.not_drained;
        self.deadlocks += other.deadlocks;
        self.errors += other.errors;
    }
}

impl Record {
    /// The median of a figure, if a round has it.
    pub(crate) fn median(&self, figure: &str) -> Option<f64> {
        median(&self.values(figure))
    }

    pub(crate) fn range(&self, figure: &str) -> Option<(f64, f64)> {
        range(&self.values(figure))
    }

    fn values(&self, figure: &str) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round.figures.get(figure).copied()).collect()
    }

    /// The sums of all rounds.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.rounds.iter().for_each(|round| counts.join(round.counts));
        counts
    }

    /// The parameter as a number.
    pub(crate) fn number(&self, parameter: &str) -> Option<f64> {
        self.parameters.get(parameter).and_then(Value::as_f64)
    }

    /// The parameter as a word.
    pub(crate) fn word(&self, parameter: &str) -> &str {
        self.parameters.get(parameter).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether both are the same cell, of whatever run.
    pub(crate) fn is_same_cell(&self, other: &Self) -> bool {
        self.server.name == other.server.name
            && self.scenario == other.scenario
            && self.contender == other.contender
            && self.instances == other.instances
            && self.parameters == other.parameters
    }

    /// Appends it to a file.
    pub(crate) fn append_to(&self, path: &Path) -> Result<(), Failure> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(file.write_all(format!("{}\n", serde_json::to_string(self)?).as_bytes())?)
    }
}

impl Round {
    pub(crate) fn set(&mut self, figure: &str, value: f64) {
        if value.is_finite() {
            self.figures.insert(figure.to_owned(), value);
        }
    }

    pub(crate) fn set_some(&mut self, figure: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(figure, value);
        }
    }
}
