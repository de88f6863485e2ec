use std::{collections::BTreeMap, fmt, time::Duration};

use crate::database::{capability::Capability, dialect::Dialect};

/// One statement that making or renewing the tables sends, and what it costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaStep {
    /// The capability whose tables it makes or renews.
    pub capability: Capability,
    /// The version of these tables.
    pub version: i64,
    /// As it is sent; `?` stands for a value.
    pub statement: String,
    /// The table or view that it is about.
    pub table: String,
    /// What it does there, in a few words.
    pub change: String,
    /// How the server carries it out.
    pub way: SchemaWay,
    /// About how many rows the table has, as far as that is known.
    pub rows: Option<u64>,
    /// The rights on the database that the user needs for it; none on SQLite.
    pub rights: &'static [&'static str],
}

/// How a server changes a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaWay {
    /// What it makes is there already; the server leaves it alone.
    Nothing,
    /// It writes what is new and reads no row.
    Instant,
    /// It reads every row while others read and write the table.
    InPlace,
    /// It reads every row, and writers wait until it ends.
    Locked,
    /// It writes every row again, and writers wait until it ends.
    Copy,
}

impl SchemaWay {
    /// Whether others write the table while it works.
    ///
    /// A statement that changes a table waits for the transactions that have used it, and new ones wait behind the statement, so
    /// an open transaction holds all of them up whatever the way.
    pub fn is_online(self) -> bool {
        !matches!(self, Self::Locked | Self::Copy)
    }

    fn rows_a_second(self) -> Option<u64> {
        match self {
            Self::Nothing | Self::Instant => None,
            Self::InPlace | Self::Locked => Some(100_000),
            Self::Copy => Some(20_000),
        }
    }
}

impl fmt::Display for SchemaWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Instant => "instant",
            Self::InPlace => "in place",
            Self::Locked => "locks the table",
            Self::Copy => "copies the table",
        })
    }
}

impl SchemaStep {
    /// About how long it takes, once no open transaction is in its way; `None` where that depends on an unknown number of rows.
    ///
    /// It reckons with a slow server: 100,000 rows a second to be read, 20,000 to be written.
    pub fn about(&self) -> Option<Duration> {
        let Some(pace) = self.way.rows_a_second() else { return Some(Duration::ZERO) };
        Some(Duration::from_millis(self.rows?.saturating_mul(1000) / pace))
    }
}

/// What is there before a step, and after those that came before it.
#[derive(Default)]
pub(super) struct Known {
    /// The tables and views, with about as many rows.
    pub(super) tables: BTreeMap<String, Option<u64>>,
    /// The indexes, each with its table.
    pub(super) indexes: Vec<(String, String)>,
}

/// Judges a statement by its words and by what is there, and notes what it makes.
pub(super) fn judge(
    dialect: Dialect,
    (capability, version): (Capability, i64),
    statement: &str,
    known: &mut Known,
) -> SchemaStep {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let (table, change, way, rights) = match words[..] {
        ["CREATE", "TABLE", "IF", "NOT", "EXISTS", table, ..] => {
            let way = unless(known.tables.contains_key(table), SchemaWay::Instant);
            known.tables.entry(table.to_owned()).or_insert(Some(0));
            (table, "makes the table".to_owned(), way, TABLE)
        }
        ["CREATE", "INDEX", ref rest @ ..] => {
            let (index, table) = index_of(rest);
            let pair = (table.to_owned(), index.to_owned());
            let reads = if dialect == Dialect::Sqlite { SchemaWay::Locked } else { SchemaWay::InPlace };
            let way = unless(known.indexes.contains(&pair), reads);
            known.indexes.push(pair);
            (table, format!("adds the index {index}"), way, INDEX)
        }
        ["ALTER", "TABLE", table, ..] => {
            // No released version changes columns; one that does has its statements listed with how servers carry them out.
            (table, "changes columns".to_owned(), SchemaWay::Copy, ALTER)
        }
        ["DROP", "VIEW", "IF", "EXISTS", view] => {
            let way = unless(known.tables.remove(view).is_none(), SchemaWay::Instant);
            (view, "removes the view".to_owned(), way, VIEW)
        }
        ["CREATE", ..] => {
            let view = words.iter().skip_while(|word| **word != "VIEW").nth(1);
            let view = match view {
                Some(&"IF") => words.iter().skip_while(|word| **word != "EXISTS").nth(1),
                view => view,
            };
            let view = view.copied().unwrap_or_default();
            let replaces = known.tables.insert(view.to_owned(), None).is_some();
            let change = if replaces { "replaces the view" } else { "makes the view" };
            (view, change.to_owned(), SchemaWay::Instant, VIEW)
        }
        ["INSERT", "INTO", "claimstream_shard", ..] => {
            ("claimstream_shard", "notes the shards".to_owned(), SchemaWay::Instant, ROWS)
        }
        ["INSERT", "INTO", table, ..] => {
            (table, format!("notes version {version} of {capability}"), SchemaWay::Instant, ROWS)
        }
        _ => ("", "is not known".to_owned(), SchemaWay::Copy, ALTER),
    };
    let rows = known.tables.get(table).copied().flatten();
    let rights = if dialect == Dialect::Sqlite { &[] } else { rights };
    SchemaStep {
        capability,
        version,
        statement: statement.to_owned(),
        table: table.to_owned(),
        change,
        way,
        rows,
        rights,
    }
}

const TABLE: &[&str] = &["CREATE"];
const INDEX: &[&str] = &["INDEX"];
const ALTER: &[&str] = &["ALTER"];
const VIEW: &[&str] = &["CREATE VIEW", "DROP", "SELECT"];
const ROWS: &[&str] = &["INSERT", "SELECT", "UPDATE"];

fn unless(is_there: bool, way: SchemaWay) -> SchemaWay {
    if is_there { SchemaWay::Nothing } else { way }
}

/// The name of an index and its table, from the words behind the first two of the statement that makes it.
fn index_of<'a>(words: &[&'a str]) -> (&'a str, &'a str) {
    let words = words.strip_prefix(&["IF", "NOT", "EXISTS"]).unwrap_or(words);
    match words {
        [index, "ON", table, ..] => (index, table),
        _ => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::schema::pending;

    fn steps(dialect: Dialect, known: &mut Known) -> Vec<SchemaStep> {
        let mut steps = Vec::new();
        for capability in Capability::ALL {
            for (version, all) in pending(dialect, *capability, 0) {
                steps.extend(all.iter().map(|one| judge(dialect, (*capability, version), one, known)));
            }
        }
        steps
    }

    #[test]
    fn every_statement_of_the_scripts_is_known() {
        for dialect in [Dialect::MySql, Dialect::Sqlite] {
            for step in steps(dialect, &mut Known::default()) {
                let named = step.table.starts_with("claimstream_") && !step.table.contains(['(', ',']);
                assert!(named && step.way != SchemaWay::Copy, "{step:?}");
            }
        }
    }

    #[test]
    fn tables_that_are_new_have_no_rows_and_those_that_are_there_keep_theirs() {
        let index = |rows: Option<u64>, known: &mut Known| {
            known.tables.insert("claimstream_dead".into(), rows);
            let statement = "CREATE INDEX by_age ON claimstream_dead (created_at)";
            judge(Dialect::MySql, (Capability::Outbox, 9), statement, known)
        };
        let mut known = Known::default();
        let step = index(Some(5_000_000), &mut known);
        assert_eq!((step.way, step.rows), (SchemaWay::InPlace, Some(5_000_000)));
        assert_eq!(step.about(), Some(Duration::from_secs(50)));
        assert_eq!(index(None, &mut known).way, SchemaWay::Nothing, "it is there by now");
        assert_eq!(index(None, &mut Known::default()).about(), None);
        let all = steps(Dialect::MySql, &mut Known::default());
        assert!(
            all.iter().all(|step| step.about() == Some(Duration::ZERO)),
            "a new database is made at once"
        );
    }

    #[test]
    fn a_change_of_columns_is_taken_for_a_copy() {
        let change = "ALTER TABLE claimstream_queue ADD COLUMN later INT NULL FIRST";
        let step = judge(Dialect::MySql, (Capability::Outbox, 9), change, &mut Known::default());
        assert_eq!((step.way, step.table.as_str()), (SchemaWay::Copy, "claimstream_queue"));
        assert!(!step.way.is_online());
    }

    #[test]
    fn an_index_on_sqlite_keeps_writers_waiting() {
        let steps = steps(Dialect::Sqlite, &mut Known::default());
        let locked: Vec<_> = steps.iter().filter(|step| !step.way.is_online()).collect();
        assert!(locked.iter().any(|step| step.table == "claimstream_dead"), "{locked:?}");
    }
}
