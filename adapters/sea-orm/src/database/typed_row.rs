//! Rows whose columns have names and types.

use claimstream_ports::StoreError;
use uuid::Uuid;

use super::unit::Row;

/// Makes a struct of a row: each field is a column of the same name in the statements that are named.
///
/// A test of the struct's name sees to it that each of these statements has all the columns, for every server.
macro_rules! row {
    (
        $(#[$doc:meta])*
        $see:vis struct $Row:ident of $($statement:literal),+ { $($column:ident: $kind:ty),+ $(,)? }
    ) => {
        $(#[$doc])*
        $see struct $Row {
            $($column: $kind,)+
        }

        impl $Row {
            fn read(row: &$crate::database::unit::Row) -> Result<Self, claimstream_ports::StoreError> {
                use $crate::database::typed_row::Cell;
                Ok(Self { $($column: Cell::read(row, stringify!($column))?,)+ })
            }
        }

        $crate::database::typed_row::columns_stand_in!($Row: $($statement),+; $($column),+);
    };
}

/// Makes a struct of places: where the columns of an answer stand, looked up once for all its rows.
macro_rules! columns {
    (
        $(#[$doc:meta])*
        $see:vis struct $Columns:ident of $($statement:literal),+ { $($column:ident),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        $see struct $Columns {
            $($column: usize,)+
        }

        impl $Columns {
            $see fn of(row: &$crate::database::unit::Row) -> Result<Self, claimstream_ports::StoreError> {
                let places = row.places(&[$(stringify!($column)),+])?;
                let [$($column),+] = places;
                Ok(Self { $($column),+ })
            }
        }

        $crate::database::typed_row::columns_stand_in!($Columns: $($statement),+; $($column),+);
    };
}

/// The test that the statements have the columns.
macro_rules! columns_stand_in {
    ($Row:ident: $($statement:literal),+; $($column:ident),+) => {
        #[cfg(test)]
        #[test]
        #[allow(non_snake_case, reason = "it has the name of the row that it is about")]
        fn $Row() {
            for statement in [$($statement),+] {
                $crate::database::typed_row::assert_columns(statement, &[$(stringify!($column)),+]);
            }
        }
    };
}

pub(crate) use {columns, columns_stand_in, row};

/// A value that a column may have.
pub(crate) trait Cell: Sized {
    fn read(row: &Row, column: &str) -> Result<Self, StoreError>;
}

macro_rules! cells {
    ($($kind:ty: $read:ident),+ $(,)?) => {
        $(impl Cell for $kind {
            fn read(row: &Row, column: &str) -> Result<Self, StoreError> {
                row.$read(column)
            }
        })+
    };
}

cells! {
    i64: int,
    Option<i64>: maybe_int,
    u16: number,
    u32: number,
    u64: number,
    bool: truth,
    Uuid: uuid,
    String: text,
    Option<String>: maybe_text,
    Vec<u8>: bytes,
    Option<Vec<u8>>: maybe_bytes,
}

/// Sees to it that a statement has these columns, on every kind of server that it is sent to.
#[cfg(test)]
pub(crate) fn assert_columns(statement: &str, columns: &[&str]) {
    use super::dialect::Dialect;
    use crate::database::statements::statements;

    let all = [Dialect::MySql, Dialect::Sqlite].map(statements).concat();
    let texts: Vec<_> = all.into_iter().filter(|(name, _)| *name == statement).collect();
    assert!(!texts.is_empty(), "there is no statement {statement}");
    for (_, text) in texts {
        let names = names(text);
        for column in columns {
            assert!(names.contains(column), "{statement} has no column {column}, only {names:?}: {text}");
        }
    }
}

/// The names of the columns that a statement answers with.
#[cfg(test)]
fn names(text: &str) -> Vec<&str> {
    let list = match text.rsplit_once(" RETURNING ") {
        Some((_, list)) => list,
        None => text.strip_prefix("SELECT ").unwrap_or_default(),
    };
    let (mut depth, mut items, mut start) = (0_i32, Vec::new(), 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ if depth == 0 && list[at..].starts_with(" FROM ") => {
                items.push(&list[start..at]);
                start = list.len();
                break;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items
        .into_iter()
        .map(|item| item.trim().rsplit([' ', '.']).next().unwrap_or_default())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_names_of_columns() {
        assert_eq!(names("SELECT a, t.b, f(c, 'd') AS e FROM t WHERE g = 1"), ["a", "b", "e"]);
        assert_eq!(names("UPDATE t SET a = 1 RETURNING a, b"), ["a", "b"]);
        assert_eq!(names("SELECT (SELECT COUNT(*) FROM t) AS n, (SELECT 1) AS m"), ["n", "m"]);
    }

    #[test]
    #[should_panic(expected = "claim/peek has no column fence")]
    fn misses_a_column() {
        assert_columns("claim/peek", &["shard", "fence"]);
    }
}
