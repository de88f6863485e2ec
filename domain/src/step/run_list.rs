use std::{fmt, str::FromStr, time::Duration};

use super::{RunKind, StepKey, StepStanding};
use crate::Invalid;

/// Which runs are listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFilter {
    /// Those of this kind.
    pub kind: RunKind,
    /// Only those with this scope.
    pub scope: Option<Box<str>>,
    /// Those that have ended too, or only those that have not.
    pub ends: RunEnds,
    /// Only those in which nothing has changed for at least so long.
    pub quiet_for: Duration,
}

/// Which runs are listed by their end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RunEnds {
    /// Those that have not ended.
    #[default]
    Open,
    /// All that are still kept.
    All,
}

/// A run in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunListed {
    /// Its row that stands for it as a whole; of a branch, the branch.
    pub key: StepKey,
    /// How that row stands.
    pub standing: StepStanding,
    /// How often that row was written.
    pub version: u64,
    /// How long ago it began, by the store's clock.
    pub age: Duration,
    /// How long ago the newest change of any of its rows in this database was.
    pub quiet_for: Duration,
}

/// A page of runs; the one whose row has stood still for longest comes first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunPage {
    /// Those that match.
    pub runs: Vec<RunListed>,
    /// Where the next page begins; `None` if there is none.
    pub next: Option<RunPlace>,
}

/// One row of a run, without its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepListed {
    /// Which step; empty for the run as a whole.
    pub step: Box<str>,
    /// How it stands.
    pub standing: StepStanding,
    /// How often it was written.
    pub version: u64,
    /// How long ago it was begun, by the store's clock.
    pub age: Duration,
    /// How long ago it was changed last.
    pub quiet_for: Duration,
}

/// A place in the ledger by age; a list can be read on from it, whatever has become of the row that was there.
///
/// Users get it from a page and give it back; what it is written as may change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunPlace {
    /// When the row was changed last, as the store counts microseconds.
    changed_at: i64,
    key: StepKey,
}

impl RunFilter {
    /// The open runs of a kind that have been quiet for at least `quiet_for`.
    pub fn stuck(kind: RunKind, quiet_for: Duration) -> Self {
        Self { kind, scope: None, ends: RunEnds::Open, quiet_for }
    }

    /// The scopes that match, as a range of bytes: from the first on, and before the second.
    pub fn scopes(&self) -> (String, String) {
        match &self.scope {
            Some(scope) => RunKind::only(scope),
            None => self.kind.scopes(),
        }
    }

    /// Whether a row of the ledger stands for a run that matches; how long the run has been quiet is not looked at.
    pub fn means(&self, key: &StepKey, state: u8) -> bool {
        let is_scope = RunKind::of_scope(key.scope()) == Some(self.kind)
            && self.scope.as_deref().is_none_or(|scope| scope == key.scope());
        is_scope
            && self.kind.is_head(key.step())
            && (self.ends == RunEnds::All || self.kind.standing(key.step(), state).is_open)
    }
}

impl RunPlace {
    /// The place of the row that was changed at this moment.
    pub fn new(changed_at: i64, key: StepKey) -> Self {
        Self { changed_at, key }
    }

    /// When the row was changed, as the store counts microseconds.
    pub fn changed_at(&self) -> i64 {
        self.changed_at
    }

    /// The row.
    pub fn key(&self) -> &StepKey {
        &self.key
    }
}

/// Letters and digits alone, because keys may have any characters.
impl fmt::Display for RunPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.changed_at)?;
        for part in [self.key.scope(), self.key.run(), self.key.step()] {
            f.write_str("_")?;
            part.bytes().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}

impl FromStr for RunPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let read = || {
            let mut parts = text.split('_');
            let changed_at = parts.next()?.parse().ok()?;
            let [scope, run, step] = [parts.next()?, parts.next()?, parts.next()?].map(unhex);
            let key = StepKey::new(&scope?, &run?, &step?).ok()?;
            parts.next().is_none().then_some(Self { changed_at, key })
        };
        let why = "take it from the page before".to_owned();
        read().ok_or(Invalid::Malformed { what: "the place in the list", why })
    }
}

fn unhex(text: &str) -> Option<String> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_text_whatever_its_key_has() {
        for step in ["", "stock", "_\"<größe>\n"] {
            let place = RunPlace::new(-7, StepKey::new("saga:a_b/c", "7 & 8", step).unwrap());
            let text = place.to_string();
            assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{text}");
            assert_eq!(text.parse(), Ok(place));
        }
        for text in [
            "",
            "_",
            "7",
            "7_61_62",
            "7_61_62_63_64",
            "x_61_62_",
            "7_6_62_",
            "7_zz_62_",
            "7_ff_62_",
            "7__62_",
        ] {
            assert!(text.parse::<RunPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_filter_means_rows_that_stand_for_runs() {
        let key = |scope: &str, step: &str| StepKey::new(scope, "7", step).unwrap();
        let open = RunFilter::stuck(RunKind::Saga, Duration::ZERO);
        assert!(open.means(&key("saga:a", ""), 1) && !open.means(&key("saga:a", "debit"), 1));
        assert!(!open.means(&key("saga:a", ""), 4) && !open.means(&key("tcc-global", ""), 1));
        let all = RunFilter { ends: RunEnds::All, ..open.clone() };
        assert!(all.means(&key("saga:a", ""), 4) && !all.means(&key("saga:a", "debit"), 1));
        let one = RunFilter { scope: Some("saga:b".into()), ..open };
        assert!(!one.means(&key("saga:a", ""), 1) && one.means(&key("saga:b", ""), 1));
        let branches = RunFilter::stuck(RunKind::Branch, Duration::ZERO);
        assert!(branches.means(&key("tcc", "stock"), 0) && !branches.means(&key("tcc", "stock"), 1));
    }
}
