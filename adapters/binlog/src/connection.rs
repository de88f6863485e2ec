use mysql_async::{BinlogStream, BinlogStreamRequest, Conn, DriverError, Error, Row, prelude::Queryable};

use crate::{encryption::Mode, place::BinlogPlace, position::Position, trouble::Trouble};

/// A connection on which the log can be asked for.
pub(crate) struct Connection<'a> {
    place: &'a BinlogPlace,
    conn: Conn,
}

impl<'a> Connection<'a> {
    /// How long the server may be silent at most, in seconds; where nothing is written it says so that often.
    pub(crate) const HEARTBEAT: u64 = 2;

    pub(crate) async fn open(place: &'a BinlogPlace) -> Result<Self, Trouble> {
        let encrypted = Conn::new(place.encryption().encrypted(place.options())).await;
        let opened = match encrypted {
            Err(Error::Driver(DriverError::NoClientSslFlagFromServer))
                if place.encryption().mode == Mode::Preferred =>
            {
                Conn::new(place.options()).await
            }
            opened => opened,
        };
        let conn = opened.map_err(|error| Trouble::of(&error, place))?;
        Ok(Self { place, conn })
    }

    /// Where the next event will be written.
    pub(crate) async fn end_of_log(&mut self) -> Result<Position, Trouble> {
        // MySQL has had a word of its own since 8.2, which MariaDB does not know.
        const UNKNOWN: u16 = 1064;
        let answer = match self.conn.query_first::<Row, _>("SHOW BINARY LOG STATUS").await {
            Err(Error::Server(answer)) if answer.code == UNKNOWN => {
                self.conn.query_first("SHOW MASTER STATUS").await
            }
            answer => answer,
        };
        let row = answer.map_err(|error| self.trouble(&error))?.ok_or_else(Trouble::no_log)?;
        let (file, at) = (row.get_opt(0).and_then(Result::ok), row.get_opt(1).and_then(Result::ok));
        let position = file.zip(at).map(|(file, at)| Position { file, at });
        position.ok_or_else(|| Trouble::Passing("the server's answer has no position".into()))
    }

    /// A setting of the server, if it has one of that name.
    pub(crate) async fn setting(&mut self, name: &str) -> Result<Option<String>, Trouble> {
        let asked = format!("SHOW GLOBAL VARIABLES LIKE '{name}'");
        let row: Option<(String, String)> =
            self.conn.query_first(asked).await.map_err(|error| self.trouble(&error))?;
        Ok(row.map(|(_, value)| value))
    }

    /// Every event from this position on.
    pub(crate) async fn events(mut self, from: &Position) -> Result<BinlogStream, Trouble> {
        // MySQL has renamed it; each server leaves the other's name alone. In nanoseconds.
        let period = Self::HEARTBEAT * 1_000_000_000;
        let heartbeats =
            format!("SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}");
        self.conn.query_drop(heartbeats).await.map_err(|error| self.trouble(&error))?;
        let request = BinlogStreamRequest::new(self.place.server_id())
            .with_hostname(b"claimstream")
            .with_filename(&from.file)
            .with_pos(from.at);
        let place = self.place;
        self.conn.get_binlog_stream(request).await.map_err(|error| Trouble::of_request(&error, place))
    }

    fn trouble(&self, error: &Error) -> Trouble {
        Trouble::of(error, self.place)
    }
}
