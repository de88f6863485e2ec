use std::{fmt, fmt::Write, str::FromStr, time::Duration};

use claimstream_domain::notification::InAppEntry;
use uuid::Uuid;

/// Where a listener stands: the entry that came last, and marks of those that came shortly before.
///
/// An entry whose transaction began earlier may be committed later, so it stands behind one that was sent. The marks tell those that
/// were sent from those that were not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cursor {
    pub(crate) last: Uuid,
    marks: Vec<u32>,
}

impl Cursor {
    /// So many of a user's entries are looked through for those that a listener has missed.
    pub(crate) const PAGE: u32 = 500;
    /// How much later than another one an entry may be committed that was put in before it.
    pub(crate) const OVERLAP: Duration = Duration::from_secs(15);
    /// For how long what was sent is marked: as long as an entry may stand behind the last one, and be on its way.
    pub(crate) const MARKED: Duration = Duration::from_secs(40);
    /// The most marks; the newest are kept.
    const MOST: usize = 64;

    /// After these entries, the newest first.
    pub(crate) fn after(newest_first: impl IntoIterator<Item = Uuid>) -> Option<Self> {
        let mut ids = newest_first.into_iter();
        let last = ids.next()?;
        Some(Self { last, marks: ids.take(Self::MOST).map(mark).collect() })
    }

    /// Before the first entry of an empty inbox.
    pub(crate) fn beginning() -> Self {
        Self { last: Uuid::nil(), marks: Vec::new() }
    }

    /// Of a listener that names what no event had as its id.
    pub(crate) fn unknown() -> Self {
        Self { last: Uuid::max(), marks: Vec::new() }
    }

    fn has_seen(&self, id: Uuid) -> bool {
        self.last == id || self.marks.contains(&mark(id))
    }

    /// Which of a user's entries, the newest first, are to be sent; `None` if the last one is not among them.
    pub(crate) fn missed<'a>(&self, entries: &'a [InAppEntry]) -> Option<Vec<&'a InAppEntry>> {
        if *self == Self::beginning() {
            return (entries.len() < Self::PAGE as usize).then(|| entries.iter().collect());
        }
        let place = entries.iter().position(|one| one.entry.id == self.last)?;
        let oldest = entries[place].age + Self::OVERLAP;
        let newer = entries
            .iter()
            .enumerate()
            .filter(|(at, one)| !self.has_seen(one.entry.id) && (*at < place || one.age <= oldest));
        Some(newer.map(|(_, one)| one).collect())
    }
}

fn mark(id: Uuid) -> u32 {
    let [.., a, b, c, d] = *id.as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.last.simple())?;
        if !self.marks.is_empty() {
            f.write_char('.')?;
        }
        self.marks.iter().try_for_each(|mark| write!(f, "{mark:08x}"))
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (last, marks) = text.split_once('.').unwrap_or((text, ""));
        let last = last.parse().map_err(|_| ())?;
        let marks = hex::decode(marks).map_err(|_| ())?;
        let marks =
            marks.chunks(4).map(|four| <[u8; 4]>::try_from(four).map(u32::from_be_bytes).map_err(|_| ()));
        Ok(Self { last, marks: marks.take(Self::MOST).collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Content, NewInAppEntry};

    use super::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn entry(n: u128, seconds: u64) -> InAppEntry {
        let (request_id, user, content) = (id(0), "a".to_owned(), Content::default());
        let entry = NewInAppEntry { id: id(n), request_id, user, content };
        InAppEntry { entry, age: Duration::from_secs(seconds), is_read: false }
    }

    #[test]
    fn reads_back_as_it_is_written() {
        for ids in [vec![1], vec![1, 2], (1..90).collect()] {
            let cursor = Cursor::after(ids.into_iter().map(id)).unwrap();
            assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()), "{cursor}");
            assert!(cursor.marks.len() <= Cursor::MOST);
        }
        assert_eq!(Cursor::after([]), None);
        assert_eq!(id(7).to_string().parse::<Cursor>().map(|cursor| cursor.last), Ok(id(7)));
        for wrong in ["", "x", "1.1", &format!("{}.zz", id(1)), &format!("{}.0011", id(1))] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_newer_was_missed_and_what_was_committed_late_too() {
        let cursor = Cursor::after([id(5), id(4), id(2)]).unwrap();
        // 3 was committed after 5 was sent, 1 is older than anything that could have been.
        let entries =
            [entry(7, 1), entry(6, 2), entry(5, 10), entry(4, 12), entry(3, 20), entry(2, 22), entry(1, 30)];
        let missed: Vec<_> = cursor.missed(&entries).unwrap().iter().map(|one| one.entry.id).collect();
        assert_eq!(missed, [id(7), id(6), id(3)]);
        assert!(Cursor::after([id(9)]).unwrap().missed(&entries).is_none());
        assert!(Cursor::unknown().missed(&entries).is_none());
        assert_eq!(Cursor::beginning().missed(&entries).unwrap().len(), entries.len());
    }
}
