use sea_orm::Value;

use super::{clock::ServerClock, dialect::Dialect};

/// The arguments of one statement by name: single values, and lists for `IN (...)`.
#[derive(Default, Clone)]
pub(crate) struct Args {
    one: Vec<(&'static str, Value)>,
    many: Vec<(&'static str, Vec<Value>)>,
}

impl Args {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Arguments to start from: they hold the time for SQLite; a server knows it.
    pub(crate) fn at(dialect: Dialect, clock: &ServerClock) -> Self {
        match dialect {
            Dialect::MySql => Self::new(),
            Dialect::Sqlite => Self::new().with("now", clock.local()),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.one.push((name, value.into()));
        self
    }

    /// These, and after them those of `others` that are not among them.
    pub(crate) fn or(mut self, others: &Self) -> Self {
        self.one.extend(others.one.iter().cloned());
        self.many.extend(others.many.iter().cloned());
        self
    }

    /// A list, repeated up to the next power of two so that few texts are ever prepared; an empty one matches nothing.
    pub(crate) fn with_list(mut self, name: &'static str, values: impl IntoIterator<Item = Value>) -> Self {
        let mut values: Vec<Value> = values.into_iter().collect();
        let filler = values.last().cloned().unwrap_or(Value::Bytes(Some(Vec::new())));
        values.resize(values.len().next_power_of_two(), filler);
        self.many.push((name, values));
        self
    }

    pub(crate) fn one(&self, name: &str) -> Option<&Value> {
        self.one.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(crate) fn many(&self, name: &str) -> Option<&[Value]> {
        self.many.iter().find(|(known, _)| *known == name).map(|(_, values)| values.as_slice())
    }
}

/// Sixteen bytes as they are stored. The drivers send an id as its bytes, without a vector for each.
pub(crate) fn bytes(id: uuid::Uuid) -> Value {
    Value::Uuid(Some(id))
}
