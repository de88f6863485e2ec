use std::time::Duration;

use crate::{Invalid, QueueName};

/// What an operator leaves at a queue that is paused: a name, and a reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PauseNote {
    by: Box<str>,
    why: Option<Box<str>>,
}

impl PauseNote {
    /// The longest name, in bytes.
    pub const MAX_BY_BYTES: usize = 64;
    /// The longest reason, in bytes.
    pub const MAX_WHY_BYTES: usize = 500;

    /// Refuses what is empty, too long, or has a control character, which would break the lines that show it.
    pub fn new(by: &str, why: Option<&str>) -> Result<Self, Invalid> {
        Self::check_name(by)?;
        if let Some(why) = why {
            Invalid::unless_one_line("reason of a pause", why, Self::MAX_WHY_BYTES)?;
        }
        Ok(Self { by: by.into(), why: why.map(Into::into) })
    }

    /// Refuses a name that [`new`](Self::new) would refuse; a queue is resumed under a name as well.
    pub fn check_name(by: &str) -> Result<(), Invalid> {
        Invalid::unless_one_line("name of the operator", by, Self::MAX_BY_BYTES)
    }

    /// The name of the person or program that paused the queue.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The reason, if one was given.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

/// A queue from which no relay claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PausedQueue {
    /// The queue.
    pub queue: QueueName,
    /// How long ago it was paused.
    pub since: Duration,
    /// Who paused it, and why.
    pub note: PauseNote,
}

impl PausedQueue {
    /// From then on a pause looks forgotten.
    pub const LONG: Duration = Duration::from_secs(3600);

    /// Whether the pause has lasted so long that it looks forgotten.
    pub fn seems_forgotten(&self) -> bool {
        self.since >= Self::LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_a_name_and_may_have_a_reason_on_one_line() {
        let note = PauseNote::new("ann", Some("gateway is moved")).unwrap();
        assert_eq!((note.by(), note.why()), ("ann", Some("gateway is moved")));
        assert_eq!(PauseNote::new("ann", None).unwrap().why(), None);
        let refused = |by: &str, why: Option<&str>| PauseNote::new(by, why).unwrap_err().to_string();
        assert_eq!(refused("", None), "name of the operator is empty");
        assert!(refused(&"a".repeat(65), None).contains("at most 64"));
        let long = "a".repeat(501);
        assert!(refused("ann", Some(&long)).contains("at most 500"));
        assert!(refused("ann", Some("a\nb")).contains("write it on one line"));
    }

    #[test]
    fn a_pause_of_an_hour_looks_forgotten() {
        let (queue, note) = (QueueName::new("orders").unwrap(), PauseNote::new("ann", None).unwrap());
        let paused =
            |secs| PausedQueue { queue: queue.clone(), since: Duration::from_secs(secs), note: note.clone() };
        assert!(!paused(3599).seems_forgotten() && paused(3600).seems_forgotten());
    }
}
