use std::{fmt, str::FromStr, time::Duration};

use crate::Invalid;

/// How long what finished messages leave behind is kept: their bodies, and the keys that they were unique by.
///
/// Written as `delete`, or as `keep` and a duration such as `keep 7d`, which is counted from when a message was enqueued.
///
/// A message that is enqueued again under its own id is found to be a duplicate as long as its body is there: under `delete`
/// hardly longer than it takes to finish it. Afterwards the id is new. A key keeps messages of other ids away for its own time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// Nothing for `delete`.
    keep: Option<Duration>,
}

impl Retention {
    /// Bodies go soon after their messages were finished; keys stay for a day.
    pub const DELETE: Self = Self { keep: None };
    /// The shortest time to keep something for: longer than any transaction that enqueues may last.
    pub const SHORTEST: Duration = Duration::from_secs(3600);
    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// Keeps bodies and keys for so long; refused if that is shorter than [`SHORTEST`](Self::SHORTEST).
    pub fn keep(duration: Duration) -> Result<Self, Invalid> {
        match duration >= Self::SHORTEST {
            true => Ok(Self { keep: Some(duration) }),
            false => Err(Invalid::OutOfRange {
                what: "retention",
                given: format!("keep {}", humantime::format_duration(duration)),
                allowed: format!("keep {} or longer, or delete", humantime::format_duration(Self::SHORTEST)),
            }),
        }
    }

    /// Whether the body of a message that is known to be finished may go at once.
    pub fn deletes(self) -> bool {
        self.keep.is_none()
    }

    /// After which time the body of a finished message is deleted.
    pub fn of_bodies(self) -> Duration {
        self.keep.unwrap_or(Self::SHORTEST)
    }

    /// After which time the key of a message that is not live is free again.
    pub fn of_keys(self) -> Duration {
        self.keep.unwrap_or(Self::DAY)
    }
}

/// Keeps for a day.
impl Default for Retention {
    fn default() -> Self {
        Self { keep: Some(Self::DAY) }
    }
}

impl FromStr for Retention {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let why = |e: &dyn fmt::Display| Invalid::Malformed {
            what: "retention",
            why: format!("{text:?} is neither \"delete\" nor like \"keep 7d\"{e}"),
        };
        match text.trim().split_once(char::is_whitespace) {
            None if text.trim() == "delete" => Ok(Self::DELETE),
            Some(("keep", duration)) => {
                let duration = humantime::parse_duration(duration.trim());
                Self::keep(duration.map_err(|e| why(&format_args!(": {e}")))?)
            }
            _ => Err(why(&"")),
        }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keep {
            None => f.write_str("delete"),
            Some(duration) => write!(f, "keep {}", humantime::format_duration(duration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn retention() -> impl Strategy<Value = Retention> {
        let keep = (0..1_000_000_000_u64, 0..1_000_000_000_u32)
            .prop_map(|(seconds, nanos)| Retention::SHORTEST + Duration::new(seconds, nanos));
        prop_oneof![Just(Retention::DELETE), keep.prop_map(|keep| Retention::keep(keep).unwrap())]
    }

    proptest! {
        #[test]
        fn is_read_as_it_is_written(retention in retention()) {
            prop_assert_eq!(retention.to_string().parse(), Ok(retention));
        }

        #[test]
        fn a_key_outlives_the_body_and_both_an_open_transaction(retention in retention()) {
            prop_assert!(retention.of_bodies() >= Retention::SHORTEST);
            prop_assert!(retention.of_keys() >= retention.of_bodies());
        }

        #[test]
        fn nothing_else_is_read(text in "(delet|delete |keep|keep ?)[a-z0-9]{0,6}") {
            if let Ok(read) = text.parse::<Retention>() {
                prop_assert!(text.trim() == "delete" || !read.deletes());
            }
        }
    }

    #[test]
    fn says_what_would_be_taken() {
        let refused = |text: &str| text.parse::<Retention>().unwrap_err().to_string();
        assert_eq!("keep 7d".parse(), Retention::keep(Duration::from_secs(7 * 86_400)));
        assert_eq!(refused("keep 10m"), "retention is keep 10m, it must be keep 1h or longer, or delete");
        assert!(refused("7d").ends_with("\"7d\" is neither \"delete\" nor like \"keep 7d\""));
        assert!(refused("keep soon").contains("nor like \"keep 7d\": "));
    }
}
