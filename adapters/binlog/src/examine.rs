use std::{sync::Arc, time::Duration};

use claimstream_domain::{Finding, Severity};
use claimstream_ports::{Deadline, Timer};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;

use crate::{connection::Connection, place::BinlogPlace, trouble::Trouble};

impl BinlogPlace {
    /// Whether the log can be read, for a self-check: connects, asks for the log as a relay would, and waits for its first event.
    ///
    /// It answers within a few seconds, and never with a failure: without the log, relays look by themselves.
    pub async fn examine(&self) -> Finding {
        let timer: Arc<dyn Timer> = Arc::new(TokioTimer::new());
        let examined = Deadline::after(TIMEOUT, &timer).within(self.begun()).await;
        let examined = examined.unwrap_or_else(|| Err(Trouble::Passing("the server does not answer".into())));
        let (severity, detail) = match examined {
            Ok(read) => (read.severity(), read.described(self)),
            Err(
                Trouble::Refused(why) | Trouble::Passing(why) | Trouble::Lost(why) | Trouble::Unreadable(why),
            ) => (Severity::Warning, format!("the binary log wakes no relay: {why}")),
        };
        Finding { severity, check: "wakeup", detail }
    }

    async fn begun(&self) -> Result<Readable, Trouble> {
        let mut connection = Connection::open(self).await?;
        let end = connection.end_of_log().await?;
        let format = connection.setting("binlog_format").await?.unwrap_or_else(|| "ROW".into());
        let is_galera = connection.setting("wsrep_on").await?.is_some_and(|on| on == "ON");
        let logs_others = connection.setting("log_slave_updates").await?.is_none_or(|on| on == "ON");
        let mut events = connection.events(&end).await?;
        match events.next().await {
            Some(Ok(_)) => Ok(Readable { file: end.file(), format, is_deaf: is_galera && !logs_others }),
            Some(Err(error)) => Err(Trouble::of(&error, self)),
            None => Err(Trouble::Passing("the server has ended the log".into())),
        }
    }
}

const TIMEOUT: Duration = Duration::from_secs(4);

/// What a log that can be read is like.
struct Readable {
    file: String,
    format: String,
    /// A node of a Galera cluster whose log lacks the writes of other nodes.
    is_deaf: bool,
}

impl Readable {
    fn severity(&self) -> Severity {
        if self.is_deaf { Severity::Warning } else { Severity::Good }
    }

    fn described(&self, place: &BinlogPlace) -> String {
        let Self { file, format, is_deaf } = self;
        let rows = match format.as_str() {
            "ROW" => "",
            _ => ", in which a message that a trigger enqueues may go unnoticed",
        };
        let deaf = match is_deaf {
            true => "; writes of other nodes are not in it, set log_slave_updates=ON",
            false => "",
        };
        format!(
            "the binary log is read at {file}, format {format}{rows}, as server id {}{deaf}",
            place.server_id()
        )
    }
}
