use mysql_async::binlog::{
    EventType,
    events::{Event, RotateEvent},
};

/// A place in the binary log: a file, and the byte at which the next event begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    pub(crate) file: Vec<u8>,
    pub(crate) at: u64,
}

impl Position {
    /// The most bytes that are read again after a reconnect; more is not worth it, because all queues are looked at then.
    const REPLAYED: u64 = 16 << 20;

    /// Where a new connection begins: where the last one ended if that is near, and at the end of the log otherwise.
    pub(crate) fn begin(kept: Option<Self>, end: Self) -> Self {
        match kept {
            Some(kept)
                if kept.file == end.file && kept.at <= end.at && end.at - kept.at <= Self::REPLAYED =>
            {
                kept
            }
            _ => end,
        }
    }

    /// The file's name, for people.
    pub(crate) fn file(&self) -> String {
        String::from_utf8_lossy(&self.file).into_owned()
    }
}

/// Follows the positions that events bear.
pub(crate) struct Reading {
    /// Where the next event begins.
    pub(crate) position: Position,
    /// Where the connection began, if there were events to read again.
    from: Option<Position>,
    /// Events of a compressed transaction follow, whose positions are not those of the file.
    unpacked: bool,
}

impl Reading {
    /// Begins here, in a log that ends there.
    pub(crate) fn from(position: Position, end: &Position) -> Self {
        let from = (position != *end).then(|| position.clone());
        Self { position, from, unpacked: false }
    }

    /// Whether it stands before an event that an earlier connection has ended at: it would end there again.
    pub(crate) fn is_stuck(&self) -> bool {
        self.from.as_ref() == Some(&self.position)
    }

    /// Notes where the event ends.
    pub(crate) fn note(&mut self, event: &Event) {
        let header = event.header();
        let kind = header.event_type_raw();
        if kind == EventType::ROTATE_EVENT as u8 {
            self.unpacked = false;
            if let Ok(rotation) = event.read_event::<RotateEvent<'_>>() {
                self.position = Position { file: rotation.name_raw().to_vec(), at: rotation.position() };
            }
            return;
        }
        if kind == EventType::TRANSACTION_PAYLOAD_EVENT as u8 {
            self.advance(header.log_pos());
            self.unpacked = true;
            return;
        }
        if BEGINNINGS.iter().any(|beginning| kind == *beginning as u8) {
            self.unpacked = false;
        }
        if !self.unpacked {
            self.advance(header.log_pos());
        }
    }

    /// An event that is only made for the connection bears none.
    fn advance(&mut self, end: u32) {
        // Positions have 32 bits in events, and files may be longer; those are not read again.
        self.position.at = self.position.at.max(u64::from(end));
    }
}

/// What follows a compressed transaction.
const BEGINNINGS: [EventType; 4] = [
    EventType::GTID_EVENT,
    EventType::ANONYMOUS_GTID_EVENT,
    EventType::GTID_TAGGED_LOG_EVENT,
    EventType::HEARTBEAT_EVENT,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, at: u64) -> Position {
        Position { file: file.into(), at }
    }

    #[test]
    fn a_reading_is_stuck_that_has_to_read_again_and_reads_nothing() {
        let mut again = Reading::from(at("log.2", 4_000), &at("log.2", 5_000));
        assert!(again.is_stuck());
        again.advance(4_100);
        assert!(!again.is_stuck());
        assert!(
            !Reading::from(at("log.2", 5_000), &at("log.2", 5_000)).is_stuck(),
            "nothing was there to read"
        );
    }

    #[test]
    fn a_new_connection_begins_where_the_last_ended_if_that_is_near() {
        let end = || at("log.2", 5_000);
        assert_eq!(Position::begin(None, end()), end());
        assert_eq!(Position::begin(Some(at("log.2", 4_000)), end()), at("log.2", 4_000));
        assert_eq!(Position::begin(Some(at("log.1", 4_000)), end()), end(), "another file");
        assert_eq!(Position::begin(Some(at("log.2", 6_000)), end()), end(), "another server");
        let far = at("log.2", 5_001 + Position::REPLAYED);
        assert_eq!(Position::begin(Some(end()), far.clone()), far, "too much to read again");
    }
}
