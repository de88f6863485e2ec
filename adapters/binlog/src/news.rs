use std::collections::BTreeSet;

use claimstream_domain::QueueName;
use jiff::{civil::DateTime, tz::Offset};
use mysql_async::{
    Value,
    binlog::{
        EventType,
        events::{Event, EventData, QueryEvent, RowsEventData, TableMapEvent},
        row::BinlogRow,
        value::BinlogValue,
    },
};

use crate::statement::{TABLE, decompressed, may_enqueue};

/// What an event of the log says to relays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Nothing that is due went into a queue.
    Nothing,
    /// Something went into these queues.
    Queues(BTreeSet<QueueName>),
    /// Something may have gone into any queue.
    Any,
}

/// MariaDB's events that the driver has no names for.
const QUERY_COMPRESSED: u8 = 165;
const WRITE_ROWS_COMPRESSED_V1: u8 = 166;
const WRITE_ROWS_COMPRESSED: u8 = 169;

const QUERY: u8 = EventType::QUERY_EVENT as u8;
const WRITE_ROWS_V1: u8 = EventType::WRITE_ROWS_EVENT_V1 as u8;
const WRITE_ROWS: u8 = EventType::WRITE_ROWS_EVENT as u8;

impl News {
    /// What the event says of the queues of `database`; `tables` answers what is known of a table by the number that it has in the log.
    ///
    /// Rows that are changed or deleted say nothing: that is what claims and settlements do.
    pub(crate) fn of<'a>(
        event: &Event,
        database: &str,
        tables: impl FnOnce(u64) -> Option<&'a TableMapEvent<'static>>,
    ) -> Self {
        match event.header().event_type_raw() {
            QUERY => match event.read_event::<QueryEvent<'_>>() {
                Ok(query) => Self::of_statement(query.query_raw(), query.schema_raw(), database),
                Err(_) => Self::Nothing,
            },
            QUERY_COMPRESSED => match decompressed(event.data()) {
                Some((used, text)) => Self::of_statement(&text, &used, database),
                None => Self::Nothing,
            },
            kind @ (WRITE_ROWS_V1 | WRITE_ROWS | WRITE_ROWS_COMPRESSED_V1 | WRITE_ROWS_COMPRESSED) => {
                let Some(table) = table_number(event.data()).and_then(tables) else { return Self::Any };
                match is_queue(table, database) {
                    false => Self::Nothing,
                    true if kind >= WRITE_ROWS_COMPRESSED_V1 => Self::Any,
                    true => Self::of_rows(event, table).unwrap_or(Self::Any),
                }
            }
            _ => Self::Nothing,
        }
    }

    fn of_statement(text: &[u8], used: &[u8], database: &str) -> Self {
        if may_enqueue(text, used, database) { Self::Any } else { Self::Nothing }
    }

    /// The queues of the rows that are due; nothing where a row cannot be read.
    fn of_rows(event: &Event, table: &TableMapEvent<'static>) -> Option<Self> {
        let Ok(Some(EventData::RowsEvent(rows))) = event.read_data() else { return None };
        let image = Image::of(&rows)?;
        let mut queues = BTreeSet::new();
        for row in rows.rows(table) {
            let (_, Some(row)) = row.ok()? else { return None };
            if !image.is_later(&row, event.header().timestamp()) {
                queues.insert(image.queue(&row)?);
            }
        }
        Some(if queues.is_empty() { Self::Nothing } else { Self::Queues(queues) })
    }
}

/// The number of the table that rows belong to, with which every event of rows begins.
fn table_number(data: &[u8]) -> Option<u64> {
    let bytes: [u8; 6] = data.get(..6)?.try_into().ok()?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Names of databases differ in case from the URL where the server folds them.
fn is_queue(table: &TableMapEvent<'_>, database: &str) -> bool {
    table.table_name_raw().eq_ignore_ascii_case(TABLE.as_bytes())
        && table.database_name_raw().eq_ignore_ascii_case(database.as_bytes())
}

/// Which columns of `claimstream_queue` stand where in the rows of an event.
struct Image {
    /// Where the due time stands, if the event has it: under `binlog_row_image=MINIMAL` it has what the writer named.
    due: Option<usize>,
}

impl Image {
    /// `queue` is the first column, `available_at` the third.
    fn of(rows: &RowsEventData<'_>) -> Option<Self> {
        let columns = rows.columns_after_image()?;
        let has = |n: usize| columns.get(n).as_deref().copied().unwrap_or(false);
        let due = has(2).then(|| (0..2).filter(|n| has(*n)).count());
        has(0).then_some(Self { due })
    }

    fn queue(&self, row: &BinlogRow) -> Option<QueueName> {
        let Some(BinlogValue::Value(Value::Bytes(name))) = row.as_ref(0) else { return None };
        QueueName::new(str::from_utf8(name).ok()?).ok()
    }

    /// Whether the row is due only some time after it was `written`, in seconds of the server's clock.
    fn is_later(&self, row: &BinlogRow, written: u32) -> bool {
        let due = self.due.and_then(|at| row.as_ref(at)).and_then(seconds);
        // Both are cut to whole seconds, and the statement may have taken some time.
        due.is_some_and(|due| due > i64::from(written) + 1)
    }
}

/// Seconds since 1970 of a time that is UTC.
fn seconds(value: &BinlogValue<'_>) -> Option<i64> {
    let BinlogValue::Value(Value::Date(year, month, day, hour, minute, second, _)) = value else {
        return None;
    };
    let part = |part: &u8| i8::try_from(*part).ok();
    let (year, month, day) = (i16::try_from(*year).ok()?, part(month)?, part(day)?);
    let time = DateTime::new(year, month, day, part(hour)?, part(minute)?, part(second)?, 0).ok()?;
    Offset::UTC.to_timestamp(time).ok().map(|moment| moment.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_are_utc() {
        let seconds = |value| seconds(&BinlogValue::Value(value));
        assert_eq!(seconds(Value::Date(1970, 1, 1, 0, 0, 59, 999_999)), Some(59));
        assert_eq!(seconds(Value::Date(2026, 11, 25, 16, 53, 20, 0)), Some(1_795_625_600));
        assert_eq!(seconds(Value::Date(0, 0, 0, 0, 0, 0, 0)), None);
        assert_eq!(seconds(Value::Int(7)), None);
    }

    #[test]
    fn the_number_of_a_table_has_six_bytes() {
        assert_eq!(table_number(&[1, 2, 0, 0, 0, 1, 99]), Some(0x0100_0000_0201));
        assert_eq!(table_number(&[1, 2]), None);
    }
}
