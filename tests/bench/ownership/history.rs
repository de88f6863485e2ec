use std::collections::{HashMap, HashSet};

use uuid::Uuid;

/// A message that was enqueued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    pub(crate) id: Uuid,
    pub(crate) key: u32,
    /// Its place among the messages of its key.
    pub(crate) seq: u32,
    pub(crate) is_poison: bool,
}

/// A message that an instance was about to handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HandOut {
    pub(crate) id: Uuid,
    pub(crate) attempt: u32,
    /// The number of the process.
    pub(crate) instance: u32,
    /// When, in microseconds.
    pub(crate) begun: i64,
    /// How long the lease was still good for at least, in microseconds.
    pub(crate) lease_left: i64,
    /// The message before it still held the key.
    pub(crate) is_early: bool,
}

/// An attempt that was counted or taken back, or the end of a message, as the database noted it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub(crate) id: Uuid,
    pub(crate) shard: u16,
    pub(crate) how: How,
    pub(crate) attempt: u32,
    /// When, in microseconds; the same for all that one statement counted.
    pub(crate) at: i64,
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// Done or dead.
    Ended,
    /// To be tried again.
    Failed,
    /// Its lease ran out, and another took the shard over.
    CutOff,
    /// Its claim ran out in the hands of a process that still holds the shard.
    Lapsed,
    /// It was counted, and no handler had begun with it or the store was to blame: the process that had lost the shard took it off
    /// the count. What comes next has the number once more, and what was handed out meanwhile has a number that is one too high.
    TakenBack,
}

/// What an instance was answered about a settlement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) id: Uuid,
    pub(crate) attempt: u32,
    pub(crate) is_accepted: bool,
}

/// All that was noted in a run.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    pub(crate) sent: Vec<Sent>,
    pub(crate) hand_outs: Vec<HandOut>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) answers: Vec<Answer>,
    /// How often each dead letter was tried.
    pub(crate) dead: HashMap<Uuid, u32>,
}

impl History {
    /// Hand-outs of messages that were handed out before.
    pub(crate) fn repeats(&self) -> usize {
        self.hand_outs.len() - self.hand_outs.iter().map(|hand_out| hand_out.id).collect::<HashSet<_>>().len()
    }

    pub(crate) fn count(&self, how: How) -> usize {
        self.turns.iter().filter(|turn| turn.how == how).count()
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| turn.how == How::Ended)
    }

    /// How many attempts of each message were taken back.
    pub(crate) fn taken_back(&self) -> HashMap<Uuid, u32> {
        let mut taken_back = HashMap::new();
        for turn in self.turns.iter().filter(|turn| turn.how == How::TakenBack) {
            *taken_back.entry(turn.id).or_default() += 1;
        }
        taken_back
    }
}
