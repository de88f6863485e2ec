//! Statements of the adapter with values in them, for the tests that explain them and for the bench.

use claimstream_sea_orm::{Dialect, statements};
use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement, Value};
use uuid::Uuid;

/// Values for a statement's `:name`s; the last of a name counts, and more than one is a list.
pub type Args = Vec<(&'static str, Vec<Value>)>;

/// A statement of the adapter for MySQL and MariaDB, with values in it.
pub fn sql(name: &str, args: &Args) -> Statement {
    let all = statements(Dialect::MySql);
    let text = all.iter().find(|(known, _)| *known == name).expect("a statement").1;
    bind(text, args)
}

/// The same of a statement over several shards, for the first `count` of them.
pub fn sql_of_shards(name: &str, args: &Args, count: u16) -> Statement {
    let all = statements(Dialect::MySql);
    let text = all.iter().find(|(known, _)| *known == name).expect("a statement").1;
    let mut pieces = text.split("/*each*/");
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (each, rest) = piece.split_once("/*end*/").expect("an end");
        whole.extend((0..count).map(|shard| each.replace(":shard", &shard.to_string())));
        whole.push_str(rest);
    }
    bind(&whole, args)
}

/// Binds `:name` to the last value of that name, or to a list of them.
pub fn bind(text: &str, args: &Args) -> Statement {
    let (mut sql, mut values) = (String::new(), Vec::new());
    let mut pieces = text.split(':');
    sql.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        if name.is_empty() {
            sql.push(':');
        } else {
            let known = args.iter().rfind(|(known, _)| *known == name);
            let (_, list) = known.unwrap_or_else(|| panic!("no value for {name}"));
            sql.push_str(&vec!["?"; list.len()].join(", "));
            values.extend(list.iter().cloned());
        }
        sql.push_str(rest);
    }
    Statement::from_sql_and_values(DbBackend::MySql, sql, values)
}

/// An id as the columns have it.
pub fn bytes(id: Uuid) -> Value {
    Value::Bytes(Some(id.as_bytes().to_vec()))
}

/// The rows that a statement finds.
pub async fn rows(on: &impl ConnectionTrait, statement: Statement) -> Vec<QueryResult> {
    let sql = statement.sql.clone();
    on.query_all_raw(statement).await.unwrap_or_else(|e| panic!("{e}: {sql}"))
}

/// A column as text, whose type differs between servers; empty for NULL.
pub fn text(row: &QueryResult, column: &str) -> String {
    let text = row.try_get::<Option<String>>("", column);
    let bytes = || row.try_get::<Option<Vec<u8>>>("", column).expect("a text");
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    text.unwrap_or_else(|_| bytes().map(lossy)).unwrap_or_default()
}
