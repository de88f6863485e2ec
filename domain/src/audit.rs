use std::{fmt, time::Duration};

use crate::Invalid;

/// What an operator is about to do, or what a long work has done.
///
/// It names the operator alone: no payload, reason, recipient or token belongs into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditEntry {
    actor: Box<str>,
    action: AuditAction,
    subject: Box<str>,
    count: Option<u64>,
}

impl AuditEntry {
    /// The longest name of an operator, in bytes.
    pub const MAX_ACTOR_BYTES: usize = 64;
    /// The longest subject, in bytes.
    pub const MAX_SUBJECT_BYTES: usize = 200;

    /// `actor` does `action` to `subject`, such as `queue orders`; refuses what is empty, too long, or has a control character, which
    /// would break the lines that show it.
    pub fn new(actor: &str, action: AuditAction, subject: &str) -> Result<Self, Invalid> {
        Invalid::unless_one_line("name of the operator", actor, Self::MAX_ACTOR_BYTES)?;
        Invalid::unless_one_line("subject of an action", subject, Self::MAX_SUBJECT_BYTES)?;
        Ok(Self { actor: actor.into(), action, subject: subject.into(), count: None })
    }

    /// A name that people chose, as it may stand in a subject: cut where it is too long, and without control characters.
    pub fn named(name: &str) -> String {
        const MOST: usize = 140;
        let mut named = String::new();
        for c in name.chars() {
            let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
            if named.len() + c.len_utf8() > MOST {
                named.push('…');
                break;
            }
            named.push(c);
        }
        named
    }

    /// The same, of so many: of those that a preview has counted before the action, or of those that were changed after it.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        Self { count: Some(count), ..self }
    }

    /// The name of the operator.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// What is done.
    pub fn action(&self) -> AuditAction {
        self.action
    }

    /// What it is done to.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// How many it is done to, if that is known.
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}

/// What operators do. A bulk work has two entries: what it is to do, and what it has done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AuditAction {
    /// A queue is paused.
    Pause,
    /// A queue is resumed.
    Resume,
    /// Dead letters are about to be revived.
    Revive,
    /// Dead letters were revived.
    Revived,
    /// Dead letters are about to be purged.
    Purge,
    /// Dead letters were purged.
    Purged,
    /// A bulk work is stopped.
    Stop,
    /// A payload is shown, with its headers.
    ShowPayload,
    /// The recipients of a request are shown.
    ShowRecipients,
    /// A request is called off.
    Cancel,
    /// The lease of a shard is taken from its holder.
    ReleaseLease,
    /// A lock is taken from its holder.
    ReleaseLock,
    /// A saga is continued at once.
    Continue,
    /// What a failover has left is about to be worked on again.
    Repair,
    /// What a failover has left was queued again.
    Repaired,
    /// Queues are about to get more shards.
    Reshard,
    /// All shards are open.
    Resharded,
    /// A resharding is ended, or taken back.
    EndReshard,
}

impl AuditAction {
    /// Every action.
    pub const ALL: [Self; 18] = [
        Self::Pause,
        Self::Resume,
        Self::Revive,
        Self::Revived,
        Self::Purge,
        Self::Purged,
        Self::Stop,
        Self::ShowPayload,
        Self::ShowRecipients,
        Self::Cancel,
        Self::ReleaseLease,
        Self::ReleaseLock,
        Self::Continue,
        Self::Repair,
        Self::Repaired,
        Self::Reshard,
        Self::Resharded,
        Self::EndReshard,
    ];

    /// The longest word, in bytes.
    pub const MAX_WORD_BYTES: usize = 32;

    /// The word by which stores and people know it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Revive => "revive",
            Self::Revived => "revived",
            Self::Purge => "purge",
            Self::Purged => "purged",
            Self::Stop => "stop",
            Self::ShowPayload => "show payload",
            Self::ShowRecipients => "show recipients",
            Self::Cancel => "cancel",
            Self::ReleaseLease => "release lease",
            Self::ReleaseLock => "release lock",
            Self::Continue => "continue",
            Self::Repair => "repair",
            Self::Repaired => "repaired",
            Self::Reshard => "reshard",
            Self::Resharded => "resharded",
            Self::EndReshard => "end reshard",
        }
    }
}

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// An entry of the audit log, as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditListed {
    /// Its number: later entries have greater ones.
    pub number: u64,
    /// How long ago it was noted.
    pub age: Duration,
    /// The name of the operator.
    pub actor: String,
    /// What was done: the [word](AuditAction::word) of an action, or one that a newer version of the library knows.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// How many it was done to, if that was known.
    pub count: Option<u64>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_can_stand_in_a_subject() {
        assert_eq!(AuditEntry::named("job"), "job");
        for name in ["a\nb\u{7}".to_owned(), "ü".repeat(255), "\u{1F512}".repeat(90)] {
            let subject = format!("lock {} under fence {}", AuditEntry::named(&name), u64::MAX);
            assert!(AuditEntry::new("ann", AuditAction::ReleaseLock, &subject).is_ok(), "{subject}");
        }
    }

    #[test]
    fn an_entry_is_one_line_with_a_name_and_a_subject() {
        let entry = AuditEntry::new("ann", AuditAction::Purge, "dead letters of queue orders").unwrap();
        assert_eq!((entry.actor(), entry.count()), ("ann", None));
        assert_eq!(entry.with_count(7).count(), Some(7));
        let refused =
            |by: &str, on: &str| AuditEntry::new(by, AuditAction::Stop, on).unwrap_err().to_string();
        assert_eq!(refused("", "x"), "name of the operator is empty");
        assert_eq!(refused("ann", ""), "subject of an action is empty");
        assert!(refused(&"a".repeat(65), "x").contains("at most 64"));
        assert!(refused("ann", &"a".repeat(201)).contains("at most 200"));
        assert!(
            refused("a\nb", "x").contains("one line") && refused("ann", "\u{1b}[2J").contains("one line")
        );
    }

    #[test]
    fn each_action_has_a_word_of_its_own_that_fits() {
        let words: BTreeSet<_> = AuditAction::ALL.iter().map(|action| action.word()).collect();
        assert_eq!(words.len(), AuditAction::ALL.len());
        assert!(words.iter().all(|word| !word.is_empty() && word.len() <= AuditAction::MAX_WORD_BYTES));
    }
}
