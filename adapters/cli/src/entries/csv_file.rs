use std::{
    collections::{BTreeMap, HashSet},
    io::Read,
};

use claimstream_domain::notification::{Attributes, Recipient};
use csv::{ReaderBuilder, StringRecord, StringRecordsIntoIter};

use super::{
    entry::UserEntry,
    quotes::{QuoteFaults, Quotes},
};

/// Users in a file of comma-separated values, whose first line names the columns.
///
/// An empty field is nothing; `attributes.NAME` is the text of an attribute.
pub(crate) struct CsvFile {
    columns: Vec<Column>,
    records: StringRecordsIntoIter<Quotes>,
    faults: QuoteFaults,
}

/// What a column holds.
enum Column {
    Field(Field),
    Attribute(String),
}

type Field = fn(&mut Recipient, &str) -> Result<(), String>;

impl CsvFile {
    const FIELDS: [(&'static str, Field); 8] = [
        ("user", |user, text| put(&mut user.user, text)),
        ("email", |user, text| put(&mut user.email, text)),
        ("phone", |user, text| put(&mut user.phone, text)),
        ("device_token", |user, text| put(&mut user.device_token, text)),
        ("webhook", |user, text| put(&mut user.webhook, text)),
        ("chat", |user, text| put(&mut user.chat, text)),
        ("language", |user, text| put(&mut user.language, text)),
        ("time_zone", |user, text| {
            user.time_zone = Some(text.parse().map_err(|e| format!("time_zone: {e}"))?);
            Ok(())
        }),
    ];

    pub(super) fn new(from: Box<dyn Read>) -> Result<Self, String> {
        let faults = QuoteFaults::default();
        let mut reader = ReaderBuilder::new().from_reader(Quotes::new(from, faults.clone()));
        let names = reader.headers().map_err(|e| e.to_string())?.clone();
        if let Some(fault) = faults.take_before(reader.position().byte()) {
            return Err(format!("line 1: {fault}"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("line 1: the column {twice:?} stands there twice"));
        }
        if !seen.contains("user") {
            return Err("line 1: there is no column \"user\"".into());
        }
        let columns = names.iter().map(column).collect::<Result<_, _>>()?;
        Ok(Self { columns, records: reader.into_records(), faults })
    }

    pub(super) fn next(&mut self) -> Result<Option<UserEntry>, String> {
        let Some(record) = self.records.next() else { return Ok(None) };
        let fault = self.faults.take_before(self.records.reader().position().byte());
        let fault = fault.map(|fault| fault.to_string());
        match record {
            Ok(record) => {
                let user = fault.map_or_else(|| self.user(&record), Err);
                Ok(Some((line(record.position()), user)))
            }
            Err(error) if error.is_io_error() => Err(error.to_string()),
            Err(error) => Ok(Some((line(error.position()), Err(fault.unwrap_or_else(|| fault_of(&error)))))),
        }
    }

    fn user(&self, record: &StringRecord) -> Result<Recipient, String> {
        let (mut user, mut attributes) = (Recipient::default(), BTreeMap::new());
        for (column, text) in self.columns.iter().zip(record).filter(|(_, text)| !text.is_empty()) {
            match column {
                Column::Field(put) => put(&mut user, text)?,
                Column::Attribute(name) => {
                    attributes.insert(name.clone(), text.into());
                }
            }
        }
        user.attributes = Attributes::new(attributes).map_err(|e| e.to_string())?;
        Ok(user)
    }
}

fn put(field: &mut Option<String>, text: &str) -> Result<(), String> {
    *field = Some(text.to_owned());
    Ok(())
}

fn column(name: &str) -> Result<Column, String> {
    if let Some(attribute) = name.strip_prefix("attributes.") {
        let only = BTreeMap::from([(attribute.to_owned(), "".into())]);
        Attributes::new(only).map_err(|e| format!("line 1: the column {name:?}: {e}"))?;
        return Ok(Column::Attribute(attribute.to_owned()));
    }
    let known = CsvFile::FIELDS.iter().find(|(field, _)| *field == name);
    known.map(|(_, put)| Column::Field(*put)).ok_or_else(|| {
        let names = CsvFile::FIELDS.map(|(field, _)| field).join(", ");
        format!("line 1: the column {name:?} is not one of {names}, attributes.NAME")
    })
}

fn line(position: Option<&csv::Position>) -> u64 {
    position.map_or(0, csv::Position::line)
}

/// The fault of a record; its line is named by the caller.
fn fault_of(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} fields, and the first line has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".into(),
        _ => error.to_string(),
    }
}
