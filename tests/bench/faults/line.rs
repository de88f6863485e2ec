use claimstream_testbed::work::Figures;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What came of the work of one strategy under one kind of fault.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub(crate) server: String,
    pub(crate) strategy: String,
    pub(crate) fault: String,
    /// How many faults there were.
    pub(crate) faults: u64,
    pub(crate) messages: usize,
    pub(crate) delivered: usize,
    pub(crate) lost: usize,
    /// Of the lost: those that a replica had not received when its source died.
    pub(crate) lost_with_the_source: usize,
    pub(crate) doubled: usize,
    pub(crate) repeats: usize,
    pub(crate) accepted_twice: usize,
    /// Of these: those whose first acceptance a replica had not received.
    pub(crate) accepted_and_forgotten: usize,
    pub(crate) stuck: usize,
    pub(crate) longest_gap_ms: u64,
    pub(crate) recovery_ms: u64,
}

impl Line {
    pub(crate) fn of(server: &str, strategy: &str, fault: &str, faults: u64, figures: &Figures) -> Self {
        Self {
            server: server.to_owned(),
            strategy: strategy.to_owned(),
            fault: fault.to_owned(),
            faults,
            messages: figures.messages,
            delivered: figures.delivered,
            lost: figures.lost,
            lost_with_the_source: figures.lost_with_the_source,
            doubled: figures.doubled,
            repeats: figures.repeats,
            accepted_twice: figures.accepted_twice,
            accepted_and_forgotten: figures.accepted_and_forgotten,
            stuck: figures.stuck,
            longest_gap_ms: figures.longest_gap.as_millis() as u64,
            recovery_ms: figures.recovery.as_millis() as u64,
        }
    }

    /// What must be nothing: messages lost by us, accepted twice, in effect twice, or without an end.
    pub(crate) fn wrongs(&self) -> usize {
        let lost = self.lost - self.lost_with_the_source.min(self.lost);
        let twice = self.accepted_twice - self.accepted_and_forgotten.min(self.accepted_twice);
        lost + twice + self.doubled + self.stuck
    }

    /// This and another run of the same.
    pub(crate) fn and(&mut self, other: &Self) {
        self.faults += other.faults;
        self.messages += other.messages;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.lost_with_the_source += other.lost_with_the_source;
        self.doubled += other.doubled;
        self.repeats += other.repeats;
        self.accepted_twice += other.accepted_twice;
        self.accepted_and_forgotten += other.accepted_and_forgotten;
        self.stuck += other.stuck;
        self.longest_gap_ms = self.longest_gap_ms.max(other.longest_gap_ms);
        self.recovery_ms = self.recovery_ms.max(other.recovery_ms);
    }
}

/// The lines of a file.
pub(crate) fn read(text: &str) -> Result<Vec<Line>, Failure> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
