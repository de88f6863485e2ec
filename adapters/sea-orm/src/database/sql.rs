use sea_orm::{Statement, Value};

use crate::database::{args::Args, dialect::Dialect};

/// A statement kept as a file, with `:name` where an argument goes.
///
/// A list argument becomes as many placeholders as it has values. For an insert of several rows, what stands in the
/// parentheses behind `VALUES` is repeated, and for other writes of several rows what stands between `/*each*/` and `/*end*/`.
pub(crate) struct Sql {
    dialect: Dialect,
    text: String,
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    Param(String),
    Row(Vec<Piece>),
    Each(Vec<Piece>),
}

impl Sql {
    pub(crate) fn parse(dialect: Dialect, file: &str) -> Self {
        let text = text(file);
        Self { dialect, pieces: pieces_of_statement(&text), text }
    }

    /// The text as it is sent, but for its arguments.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn bind(&self, args: &Args) -> Statement {
        self.bind_rows(args, std::slice::from_ref(args))
    }

    /// Binds a write of several rows that names each of them; the last is repeated up to the next power of two, so that few
    /// texts are ever prepared. What is the same for all of them is taken from the first.
    pub(crate) fn bind_each(&self, rows: &[Args]) -> Statement {
        let (mut padded, none) = (rows.to_vec(), Args::new());
        if let Some(last) = rows.last() {
            padded.resize(rows.len().next_power_of_two(), last.clone());
        }
        self.bind_rows(rows.first().unwrap_or(&none), &padded)
    }

    /// Binds a query several times, as one statement for a server that answers with the rows of all; the last is repeated with a
    /// `:limit` of no rows up to the next power of two.
    pub(crate) fn bind_union(&self, all: &[Args]) -> Statement {
        let (mut text, mut values) = (String::new(), Vec::new());
        let filler = all.last().map(|last| Args::new().with("limit", 0_i64).or(last));
        let fillers = all.len().next_power_of_two() - all.len();
        for args in all.iter().chain(filler.iter().cycle().take(fillers)) {
            text.push_str(if text.is_empty() { "(" } else { " UNION ALL (" });
            self.pieces.iter().for_each(|piece| piece.write(&[args], &mut text, &mut values));
            text.push(')');
        }
        let values = values.into_iter().map(|value| for_column(self.dialect, value));
        Statement::from_sql_and_values(self.dialect.backend(), text, values)
    }

    /// Binds an insert of several rows; `common` holds what is the same for all of them.
    pub(crate) fn bind_rows(&self, common: &Args, rows: &[Args]) -> Statement {
        let (mut text, mut values) = (String::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Row(row) => {
                    for (n, args) in rows.iter().enumerate() {
                        text.push_str(if n == 0 { "(" } else { ", (" });
                        row.iter().for_each(|piece| piece.write(&[args, common], &mut text, &mut values));
                        text.push(')');
                    }
                }
                Piece::Each(group) => {
                    for args in rows {
                        group.iter().for_each(|piece| piece.write(&[args, common], &mut text, &mut values));
                    }
                }
                piece => piece.write(&[common], &mut text, &mut values),
            }
        }
        let values = values.into_iter().map(|value| for_column(self.dialect, value));
        Statement::from_sql_and_values(self.dialect.backend(), text, values)
    }

    /// About how many bytes each row of an insert takes on its way: its text while it is prepared, or its values,
    /// whichever are more.
    pub(crate) fn row_bytes<'a>(&'a self, rows: &'a [Args]) -> impl Iterator<Item = usize> + 'a {
        let row = self.pieces.iter().find_map(|piece| match piece {
            Piece::Row(row) => Some(&row[..]),
            _ => None,
        });
        let row = row.unwrap_or_default();
        let text: usize = row.iter().map(Piece::text_bytes).sum();
        rows.iter().map(move |args| text.max(row.iter().map(|piece| piece.value_bytes(args)).sum()))
    }
}

impl Piece {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Param(_) => 1,
            Self::Row(pieces) | Self::Each(pieces) => pieces.iter().map(Self::text_bytes).sum(),
        }
    }

    fn value_bytes(&self, args: &Args) -> usize {
        let Self::Param(name) = self else { return 0 };
        let carried = match args.one(name) {
            Some(Value::Bytes(Some(bytes))) => bytes.len(),
            Some(Value::String(Some(text))) => text.len(),
            Some(Value::Uuid(Some(id))) => id.as_bytes().len(),
            _ => 0,
        };
        16 + carried
    }

    fn write(&self, args: &[&Args], text: &mut String, values: &mut Vec<Value>) {
        let name = match self {
            Self::Text(piece) => return text.push_str(piece),
            Self::Row(pieces) | Self::Each(pieces) => {
                return pieces.iter().for_each(|piece| piece.write(args, text, values));
            }
            Self::Param(name) => name,
        };
        if let Some(list) = args.iter().find_map(|args| args.many(name)) {
            text.push_str(&vec!["?"; list.len()].join(", "));
            values.extend(list.iter().cloned());
        } else {
            text.push('?');
            let value = args.iter().find_map(|args| args.one(name)).cloned();
            debug_assert!(value.is_some(), "no argument for :{name}");
            values.push(value.unwrap_or(Value::BigInt(None)));
        }
    }
}

/// Text goes to MySQL and MariaDB as bytes, like the columns: compared with text, MariaDB would not see that a binary
/// column is constant and would sort, and so lock, everything that is due.
fn for_column(dialect: Dialect, value: Value) -> Value {
    match (dialect, value) {
        (Dialect::MySql, Value::String(text)) => Value::Bytes(text.map(String::into_bytes)),
        (_, value) => value,
    }
}

/// The text of a file without its comments, one line.
pub(crate) fn text(file: &str) -> String {
    let lines = file.lines().map(|line| line.split("--").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

fn pieces_of_statement(text: &str) -> Vec<Piece> {
    let row = text.find("VALUES (").and_then(|at| row_end(text, at + 7).map(|end| (at + 7, end)));
    match row {
        Some((start, end)) => {
            let mut pieces = pieces(&text[..start]);
            pieces.push(Piece::Row(self::pieces(&text[start + 1..end])));
            pieces.extend(self::pieces(&text[end + 1..]));
            pieces
        }
        None => pieces_with_groups(text),
    }
}

/// Cuts out what is repeated for each row.
fn pieces_with_groups(text: &str) -> Vec<Piece> {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("/*each*/")
        && let Some((group, left)) = after.split_once("/*end*/")
    {
        all.extend(pieces(before));
        all.push(Piece::Each(pieces(group)));
        rest = left;
    }
    all.extend(pieces(rest));
    all
}

/// Where the parenthesis that opens at `start` closes.
fn row_end(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0_i32;
    text.char_indices().skip_while(|(at, _)| *at < start).find_map(|(at, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })
}

/// Cuts text at each `:name`.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = param_at(rest) {
        let end = rest[at + 1..].find(|c: char| !is_name(c)).map_or(rest.len(), |len| at + 1 + len);
        pieces.push(Piece::Text(rest[..at].to_owned()));
        pieces.push(Piece::Param(rest[at + 1..end].to_owned()));
        rest = &rest[end..];
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

fn param_at(text: &str) -> Option<usize> {
    text.match_indices(':')
        .map(|(at, _)| at)
        .find(|at| text[at + 1..].starts_with(|c: char| c.is_ascii_lowercase()))
}

fn is_name(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_values_lists_and_rows_by_name() {
        let sql = Sql::parse(
            Dialect::Sqlite,
            "-- why\nSELECT 1 -- what\n WHERE a = :a AND (:b IS NULL OR c IN (:b)) AND t > '0:00'",
        );
        let args = Args::new().with("a", 7).with_list("b", [1.into(), 2.into(), 3.into()]);
        let statement = sql.bind(&args);
        assert_eq!(
            statement.sql,
            "SELECT 1 WHERE a = ? AND (?, ?, ?, ? IS NULL OR c IN (?, ?, ?, ?)) AND t > '0:00'"
        );
        let sql = Sql::parse(
            Dialect::Sqlite,
            "INSERT INTO t (a, b)\nVALUES (:a, f(:b))\nON CONFLICT (a) DO UPDATE SET b = :b",
        );
        let rows = [Args::new().with("a", 1), Args::new().with("a", 2)];
        let statement = sql.bind_rows(&Args::new().with("b", 9), &rows);
        assert_eq!(
            statement.sql,
            "INSERT INTO t (a, b) VALUES (?, f(?)), (?, f(?)) ON CONFLICT (a) DO UPDATE SET b = ?"
        );
        let values: Vec<Value> = statement.values.map(|v| v.0).unwrap_or_default();
        assert_eq!(values, [1.into(), 9.into(), 2.into(), 9.into(), 9.into()]);
    }

    #[test]
    fn what_stands_between_each_and_end_is_repeated_up_to_a_power_of_two() {
        let file = "UPDATE t SET a = CASE s /*each*/ WHEN :s THEN :a /*end*/ END, b = :b WHERE 1 = 0 /*each*/ OR s = :s /*end*/";
        let sql = Sql::parse(Dialect::Sqlite, file);
        let rows = [1, 2, 3].map(|n| Args::new().with("s", n).with("a", n * 10).with("b", n * 100));
        let statement = sql.bind_each(&rows);
        let case = " WHEN ? THEN ? ".repeat(4);
        let or = " OR s = ? ".repeat(4);
        assert_eq!(statement.sql, format!("UPDATE t SET a = CASE s {case} END, b = ? WHERE 1 = 0 {or}"));
        let values: Vec<Value> = statement.values.map(|v| v.0).unwrap_or_default();
        assert_eq!(values, [1, 10, 2, 20, 3, 30, 3, 30, 100, 1, 2, 3, 3].map(Value::from));
    }

    #[test]
    fn a_query_is_bound_several_times_in_one_statement() {
        let args = |n: i64| Args::new().with("a", n).with("limit", 7_i64);
        let bound = |all: &[Args]| {
            let sql = Sql::parse(Dialect::MySql, "SELECT a FROM t WHERE a = :a LIMIT :limit");
            let statement = sql.bind_union(all);
            (statement.sql, statement.values.map(|v| v.0).unwrap_or_default())
        };
        let part = "(SELECT a FROM t WHERE a = ? LIMIT ?)";
        assert_eq!(bound(&[args(1)]), (part.to_owned(), vec![1_i64.into(), 7_i64.into()]));
        let (text, values) = bound(&[args(1), args(2), args(3)]);
        assert_eq!(text, [part; 4].join(" UNION ALL "));
        assert_eq!(values, [1_i64, 7, 2, 7, 3, 7, 3, 0].map(Value::from));
    }

    #[test]
    fn a_row_takes_what_it_carries_or_what_its_text_takes() {
        let sql =
            Sql::parse(Dialect::Sqlite, "INSERT INTO t (a, b)\nVALUES (:a, COALESCE(:b, 'something else'))");
        let row =
            |a: usize| Args::new().with("a", vec![0_u8; a]).with("b", 1).with("not here", vec![0_u8; 999]);
        let sizes: Vec<usize> = sql.row_bytes(&[row(0), row(500)]).collect();
        assert_eq!(sizes, [", COALESCE(?, 'something else')".len() + 1, 16 + 500 + 16]);
    }
}
