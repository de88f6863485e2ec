//! Users of the directory in a file: JSON lines, or CSV with a line of names.

mod csv_file;
mod entry;
mod json_lines;
mod quotes;

use std::io::Read;

use claimstream_domain::notification::{DirectoryEntry, Recipient};

use self::{csv_file::CsvFile, entry::UserEntry, json_lines::JsonLines};

/// The users of a file, each with the number of its line.
pub(crate) enum Entries {
    Json(JsonLines),
    Csv(CsvFile),
}

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryFormat {
    JsonLines,
    Csv,
}

impl Entries {
    /// Begins to read; refuses names of columns that nothing here has.
    pub(crate) fn new(format: EntryFormat, from: Box<dyn Read>) -> Result<Self, String> {
        match format {
            EntryFormat::JsonLines => Ok(Self::Json(JsonLines::new(from))),
            EntryFormat::Csv => CsvFile::new(from).map(Self::Csv),
        }
    }

    /// The next user and the number of its line; `None` at the end, an error if the input breaks off.
    pub(crate) fn next(&mut self) -> Result<Option<UserEntry>, String> {
        let entry = match self {
            Self::Json(lines) => lines.next(),
            Self::Csv(file) => file.next(),
        };
        let checked = |user: Recipient| match DirectoryEntry::check_user(&user) {
            Ok(()) => Ok(user),
            Err(invalid) => Err(invalid.to_string()),
        };
        Ok(entry?.map(|(line, user)| (line, user.and_then(checked))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: EntryFormat, text: &'static str) -> Result<Vec<UserEntry>, String> {
        let mut entries = Entries::new(format, Box::new(text.as_bytes()))?;
        let mut all = Vec::new();
        while let Some(entry) = entries.next()? {
            all.push(entry);
        }
        Ok(all)
    }

    fn ids(entries: &[UserEntry]) -> Vec<(u64, Option<&str>)> {
        entries
            .iter()
            .map(|(line, user)| (*line, user.as_ref().ok().and_then(|u| u.user.as_deref())))
            .collect()
    }

    #[test]
    fn json_lines_are_users_and_bad_ones_keep_their_numbers() {
        let text = "{\"user\":\"a\",\"attributes\":{\"name\":\"Ann\"}}\n\n{\"user\":\"b\",\"mail\":\"x\"}\n{\"email\":\"x\"}\n{\"user\":\"c\"}";
        let entries = read(EntryFormat::JsonLines, text).unwrap();
        assert_eq!(ids(&entries), [(1, Some("a")), (3, None), (4, None), (5, Some("c"))]);
        assert!(entries[1].1.as_ref().unwrap_err().contains("unknown field `mail`"));
        assert!(entries[2].1.as_ref().unwrap_err().contains("user is empty"));
    }

    #[test]
    fn csv_has_columns_in_any_order_and_attributes_by_name() {
        let text = "email,user,attributes.name,time_zone\na@example.com,a,\"Ann, B\",Europe/Berlin\n,b,,\nx,c,y,Mars\nx,d\n";
        let entries = read(EntryFormat::Csv, text).unwrap();
        assert_eq!(ids(&entries), [(2, Some("a")), (3, Some("b")), (4, None), (5, None)]);
        let ann = entries[0].1.as_ref().unwrap();
        assert_eq!(ann.attributes.get("name"), Some(&"Ann, B".into()));
        assert_eq!(ann.time_zone.as_ref().map(|zone| zone.name()), Some("Europe/Berlin"));
        assert_eq!(entries[1].1.as_ref().unwrap(), &Recipient { key: String::new(), ..Recipient::user("b") });
        assert!(entries[2].1.as_ref().unwrap_err().contains("time_zone"), "{:?}", entries[2]);
        assert!(entries[3].1.as_ref().unwrap_err().contains("2 fields"), "{:?}", entries[3]);
    }

    /// Guard: a quote that is never closed hides no lines of a file | adapters/cli/src/entries/quotes.rs `end`: notes nothing
    #[test]
    fn a_quote_that_is_never_closed_is_a_fault_of_its_line() {
        let entries = read(EntryFormat::Csv, "user,attributes.a\na,x\nb,\"y\nc,z\nd,z\n").unwrap();
        assert_eq!(ids(&entries), [(2, Some("a")), (3, None)]);
        assert!(entries[1].1.as_ref().unwrap_err().contains("not closed"), "{:?}", entries[1]);
        let closed = read(EntryFormat::Csv, "user,attributes.a\n5\" pipe,x\nb,\"y\nz\"\nc,u\n").unwrap();
        assert_eq!(ids(&closed), [(2, Some("5\" pipe")), (3, Some("b")), (5, Some("c"))]);
        let last = read(EntryFormat::Csv, "user,attributes.a\na,5\" disk\nb,\"x\ny\"\n").unwrap();
        assert_eq!(ids(&last), [(2, Some("a")), (3, Some("b"))]);
    }

    /// Guard: a quote that is closed in a later line hides no lines of a file | adapters/cli/src/entries/quotes.rs `see`: no `note`
    #[test]
    fn a_quote_that_another_lines_quote_closes_is_a_fault_of_its_line() {
        let text = "user,attributes.a\nb,\"y\nc,z\nd,\"Ann\"\ne,x\n";
        let entries = read(EntryFormat::Csv, text).unwrap();
        assert_eq!(ids(&entries), [(2, None), (5, Some("e"))]);
        let fault = entries[0].1.as_ref().unwrap_err();
        assert!(fault.contains("closing quote"), "{fault}");
        // The reason is named also where a record has another number of fields for it.
        let entries = read(EntryFormat::Csv, "user,attributes.a\nb,\"y\nc,\"z, Z\"\nd,x\n").unwrap();
        assert_eq!(ids(&entries), [(2, None), (4, Some("d"))]);
        assert!(entries[0].1.as_ref().unwrap_err().contains("closing quote"), "{:?}", entries[0]);
        let refused = read(EntryFormat::Csv, "\"us\"er,attributes.a\nb,y\n").unwrap_err();
        assert!(refused.contains("line 1: text follows a closing quote"), "{refused}");
    }

    #[test]
    fn a_column_that_nothing_has_is_refused_before_anything_is_read() {
        assert!(read(EntryFormat::Csv, "user,mail\na,b\n").unwrap_err().contains("the column \"mail\""));
        assert!(read(EntryFormat::Csv, "email\na\n").unwrap_err().contains("no column \"user\""));
        assert!(read(EntryFormat::Csv, "user,user\na,b\n").unwrap_err().contains("twice"));
        assert!(read(EntryFormat::Csv, "user,attributes.a b\n").unwrap_err().contains("attribute name"));
    }
}
