use std::{fmt, str::FromStr};

use super::{SchemeName, Tick};
use crate::{Invalid, MessageId, QueueName, Timestamp};

/// A timer in a list: the newest occurrence for which its queue has had a message.
///
/// The schedule itself is a part of the program that runs the timer, and is stored nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimerListed {
    /// The queue of its messages.
    pub queue: QueueName,
    /// The scheme.
    pub scheme: SchemeName,
    /// The occurrence. A timer that runs has enqueued the one that comes next.
    pub occurrence: Timestamp,
    /// The message of that occurrence. If it is neither in its queue nor a dead letter, nothing moves the timer on.
    pub message: MessageId,
}

/// A page of timers, by queue and scheme.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TimerPage {
    /// The timers.
    pub timers: Vec<TimerListed>,
    /// Where the next page begins; `None` if there is none.
    pub next: Option<TimerPlace>,
}

/// A place in the list of timers, between two of them.
///
/// Users get it from a page and give it back; what it is written as may change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TimerPlace {
    /// The queue in which the list is read on.
    pub queue: QueueName,
    /// The first dedup key that may be of the next timer.
    pub key: String,
}

impl TimerPlace {
    /// The place behind a timer.
    pub fn behind(timer: &TimerListed) -> Self {
        let (_, key) = TimerListed::keys_of(&timer.scheme);
        Self { queue: timer.queue.clone(), key }
    }
}

impl fmt::Display for TimerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.queue)?;
        f.write_str("|")?;
        f.write_str(&self.key)
    }
}

impl FromStr for TimerPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let place = text.split_once('|').and_then(|(queue, key)| {
            let is_key = key.starts_with(Tick::KEYS) && key.len() <= 255;
            is_key.then_some(Self { queue: QueueName::new(queue).ok()?, key: key.to_owned() })
        });
        let why = "take it from the page before".to_owned();
        place.ok_or(Invalid::Malformed { what: "the place in the list of timers", why })
    }
}

impl TimerListed {
    /// The timer of a tick.
    pub fn of(queue: QueueName, tick: &Tick) -> Self {
        let Tick { scheme, occurrence } = tick;
        Self { queue, scheme: scheme.clone(), occurrence: *occurrence, message: tick.message_id() }
    }

    /// The dedup keys of all ticks as a range of bytes: from the first on, and before the second.
    pub fn keys() -> (&'static str, &'static str) {
        (Tick::KEYS, "timer0")
    }

    /// The dedup keys of a scheme as a range of bytes: from the first on, and before the second.
    pub fn keys_of(scheme: &SchemeName) -> (String, String) {
        // The character after a slash is a zero.
        (format!("{}{scheme}/", Tick::KEYS), format!("{}{scheme}0", Tick::KEYS))
    }
}

impl Tick {
    /// The tick whose message has this dedup key, be it that of the occurrence or that of the deadline.
    pub fn of_key(key: &str) -> Option<Self> {
        let (scheme, rest) = key.strip_prefix(Tick::KEYS)?.split_once('/')?;
        let (occurrence, "tick" | "deadline") = rest.split_once('/')? else { return None };
        Some(Self { scheme: SchemeName::new(scheme).ok()?, occurrence: occurrence.parse().ok()? })
    }

    /// The tick of an event's rows in the step ledger.
    pub fn of_run(scope: &str, run: &str) -> Option<Self> {
        let scheme = SchemeName::new(scope.strip_prefix("timer:")?).ok()?;
        Some(Self { scheme, occurrence: run.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_tick_is_found_by_the_keys_of_its_messages_and_rows() {
        let tick = Tick {
            scheme: "monthly-bill_1.0".parse().unwrap(),
            occurrence: "2026-01-01T00:00:00.5Z".parse().unwrap(),
        };
        let queue = QueueName::new("timers").unwrap();
        let (message, deadline) =
            (tick.message(&queue).unwrap(), tick.deadline_message(&queue, Duration::from_secs(1)).unwrap());
        let (first, end) = TimerListed::keys_of(&tick.scheme);
        for message in [&message, &deadline] {
            let key = message.dedup_key.as_ref().unwrap().as_str();
            assert_eq!(Tick::of_key(key).as_ref(), Some(&tick), "{key}");
            assert!(*first <= *key && *key < *end, "{key}");
        }
        assert_eq!((message.id, deadline.id), (tick.message_id(), tick.deadline_id()));
        assert_eq!(TimerListed::of(queue, &tick).message, message.id);
        assert_eq!(Tick::of_run("timer:monthly-bill_1.0", &tick.unique_code()), Some(tick));
    }

    #[test]
    fn a_place_comes_back_from_its_text() {
        let tick = Tick { scheme: "bill".parse().unwrap(), occurrence: Timestamp::from_micros(0).unwrap() };
        let place = TimerPlace::behind(&TimerListed::of(QueueName::new("timers").unwrap(), &tick));
        assert_eq!(place.to_string().parse(), Ok(place));
        for text in ["", "|", "timers", "timers|", "timers|x", "|timer/a0"] {
            assert!(text.parse::<TimerPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn other_keys_are_of_no_tick() {
        for key in ["", "timer/", "timer/a", "timer/a/b/tick", "timer/a/2026-01-01T00:00:00Z/x", "x/a/b/tick"]
        {
            assert_eq!(Tick::of_key(key), None, "{key}");
        }
        assert_eq!((Tick::of_run("saga:a", "x"), Tick::of_run("timer:a", "x")), (None, None));
    }
}
