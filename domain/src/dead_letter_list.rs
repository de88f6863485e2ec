use std::{fmt, str::FromStr, time::Duration};

use uuid::Uuid;

use crate::{Invalid, MessageId, QueueName, Reason};

/// A dead letter in a list: everything but what it carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadLetterListed {
    /// The message.
    pub id: MessageId,
    /// Its queue.
    pub queue: QueueName,
    /// How often it had been claimed.
    pub attempts: u32,
    /// Why it was given up.
    pub reason: Reason,
    /// How long ago, by the store's clock.
    pub dead_for: Duration,
}

/// A page of a list of dead letters, the newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadLetterPage {
    /// Those that match.
    pub letters: Vec<DeadLetterListed>,
    /// Where the next page begins; `None` if there is none.
    pub next: Option<DeadLetterPlace>,
}

/// A place in the list of all dead letters; a list can be read on from it, whatever has become of the letter that was there.
///
/// Users get it from a page and give it back; what it is written as may change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeadLetterPlace {
    /// When the letter died, as the store counts microseconds.
    died_at: i64,
    id: MessageId,
}

/// Dead letters of one queue that were given up for the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadLetterGroup {
    /// The queue.
    pub queue: QueueName,
    /// The reason, in the same words.
    pub reason: Reason,
    /// How many there are.
    pub letters: u64,
    /// How long ago the newest of them was given up.
    pub newest: Duration,
    /// How long ago the oldest of them was given up.
    pub oldest: Duration,
}

/// Groups of dead letters, the largest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadLetterGroups {
    /// The groups.
    pub groups: Vec<DeadLetterGroup>,
    /// Whether every letter that matches was counted; otherwise there are more, all older than those.
    pub is_complete: bool,
}

impl DeadLetterPlace {
    /// The place of the letter that died at this moment.
    pub fn new(died_at: i64, id: MessageId) -> Self {
        Self { died_at, id }
    }

    /// When the letter died, as the store counts microseconds.
    pub fn died_at(self) -> i64 {
        self.died_at
    }

    /// The letter.
    pub fn id(self) -> MessageId {
        self.id
    }
}

impl fmt::Display for DeadLetterPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.died_at, self.id)
    }
}

impl FromStr for DeadLetterPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let place = text.split_once('_').and_then(|(died_at, id)| {
            Some(Self::new(died_at.parse().ok()?, MessageId::new(id.parse::<Uuid>().ok()?)))
        });
        let why = "take it from the page before".to_owned();
        place.ok_or(Invalid::Malformed { what: "the place in the list of dead letters", why })
    }
}

impl DeadLetterGroups {
    /// Groups letters that were read from the newest to the oldest.
    pub fn of(letters: &[DeadLetterListed], is_complete: bool) -> Self {
        let mut groups: Vec<DeadLetterGroup> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for letter in letters {
            let at = *known.entry((&letter.queue, &letter.reason)).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(group) => {
                    group.letters += 1;
                    group.oldest = letter.dead_for;
                }
                None => groups.push(DeadLetterGroup {
                    queue: letter.queue.clone(),
                    reason: letter.reason.clone(),
                    letters: 1,
                    newest: letter.dead_for,
                    oldest: letter.dead_for,
                }),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.letters));
        Self { groups, is_complete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_text() {
        let place = DeadLetterPlace::new(-7, MessageId::new(Uuid::from_u128(9)));
        assert_eq!(place.to_string().parse(), Ok(place));
        for text in ["", "_", "7", "7_x", "x_00000000-0000-0000-0000-000000000009"] {
            assert!(text.parse::<DeadLetterPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn groups_count_the_same_words_of_the_same_queue() {
        let letter = |queue: &str, reason: &str, seconds: u64| DeadLetterListed {
            id: MessageId::new(Uuid::from_u128(seconds.into())),
            queue: QueueName::new(queue).unwrap(),
            attempts: 1,
            reason: Reason::new(reason),
            dead_for: Duration::from_secs(seconds),
        };
        let letters =
            [letter("b", "no", 1), letter("a", "no", 2), letter("a", "never", 3), letter("a", "no", 9)];
        let DeadLetterGroups { groups, is_complete } = DeadLetterGroups::of(&letters, false);
        let shown: Vec<_> = groups
            .iter()
            .map(|g| (g.queue.as_str(), g.reason.as_str(), g.letters, g.newest.as_secs(), g.oldest.as_secs()))
            .collect();
        assert_eq!(shown, [("a", "no", 2, 2, 9), ("b", "no", 1, 1, 1), ("a", "never", 1, 3, 3)]);
        assert!(!is_complete);
    }
}
