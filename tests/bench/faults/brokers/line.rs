use claimstream_testbed::work::Figures;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What came of the messages over one broker under one kind of fault.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub(super) broker: String,
    pub(super) strategy: String,
    pub(super) fault: String,
    /// How many processes were killed, or how many faults a mock cluster had.
    pub(super) faults: u64,
    pub(super) messages: usize,
    pub(super) delivered: usize,
    pub(super) lost: usize,
    pub(super) doubled: usize,
    /// Effects of messages whose transaction was rolled back.
    pub(super) never_committed: usize,
    /// Deliveries that the inbox knew by the id of the message.
    pub(super) repeats: usize,
    /// Effects that came after a later one of their key; nothing where no order by key is kept.
    pub(super) out_of_order: Option<usize>,
    pub(super) stuck: usize,
    pub(super) longest_gap_ms: u64,
    pub(super) recovery_ms: u64,
}

/// What was played.
pub(super) struct Played<'a> {
    pub(super) broker: &'a str,
    pub(super) strategy: &'a str,
    pub(super) fault: &'a str,
    pub(super) faults: u64,
}

impl Line {
    pub(super) fn of(
        played: &Played<'_>,
        figures: &Figures,
        never_committed: usize,
        out_of_order: Option<usize>,
    ) -> Self {
        Self {
            broker: played.broker.to_owned(),
            strategy: played.strategy.to_owned(),
            fault: played.fault.to_owned(),
            faults: played.faults,
            messages: figures.messages,
            delivered: figures.delivered,
            lost: figures.lost,
            doubled: figures.doubled,
            never_committed,
            repeats: figures.repeats,
            out_of_order,
            stuck: figures.stuck,
            longest_gap_ms: figures.longest_gap.as_millis() as u64,
            recovery_ms: figures.recovery.as_millis() as u64,
        }
    }

    /// What must be nothing.
    pub(crate) fn wrongs(&self) -> usize {
        self.lost + self.doubled + self.never_committed + self.stuck + self.out_of_order.unwrap_or(0)
    }

    /// This and another run of the same.
    pub(super) fn and(&mut self, other: &Self) {
        self.faults += other.faults;
        self.messages += other.messages;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.never_committed += other.never_committed;
        self.repeats += other.repeats;
        self.out_of_order = match (self.out_of_order, other.out_of_order) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.stuck += other.stuck;
        self.longest_gap_ms = self.longest_gap_ms.max(other.longest_gap_ms);
        self.recovery_ms = self.recovery_ms.max(other.recovery_ms);
    }
}

/// The lines of a file.
pub(crate) fn read(text: &str) -> Result<Vec<Line>, Failure> {
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
