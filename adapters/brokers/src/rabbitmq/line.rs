use std::sync::Arc;

use lapin::{Channel, Connection, options::ConfirmSelectOptions};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use super::place::RabbitMqPlace;

/// The lines to a RabbitMQ: one connection, and as many channels on it as calls run at a time.
pub(super) struct Lines {
    place: RabbitMqPlace,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    connection: Option<Arc<Connection>>,
    channels: Vec<Channel>,
}

/// A channel that confirms, in the hands of one call.
///
/// A line that is dropped, as when its call is cancelled, is closed: confirmations that come later belong to nobody.
pub(super) struct Line {
    connection: Arc<Connection>,
    pub(super) channel: Channel,
}

impl Lines {
    pub(super) fn to(place: RabbitMqPlace) -> Self {
        Self { place, idle: Mutex::default() }
    }

    pub(super) fn place(&self) -> &RabbitMqPlace {
        &self.place
    }

    /// An idle line, or a new one; connects where that is needed.
    pub(super) async fn take(&self) -> Result<Line, String> {
        let (connection, idle) = self.connected().await?;
        if let Some(channel) = idle {
            return Ok(Line { connection, channel });
        }
        let deadline = Instant::now() + self.place.patience();
        match timeout_at(deadline, confirming(&connection)).await {
            Ok(Ok(channel)) => Ok(Line { connection, channel }),
            Ok(Err(error)) => {
                self.part(&connection).await;
                Err(format!("cannot open a channel to {}: {error}", self.place))
            }
            Err(_) => {
                self.part(&connection).await;
                Err(format!("cannot open a channel to {}: no answer in time", self.place))
            }
        }
    }

    /// The connection, and an idle channel on it.
    async fn connected(&self) -> Result<(Arc<Connection>, Option<Channel>), String> {
        let mut idle = self.idle.lock().await;
        if let Some(connection) = &idle.connection
            && connection.status().connected()
        {
            if connection.status().blocked() {
                return Err(format!("{} {BLOCKED}", self.place));
            }
            let connection = Arc::clone(connection);
            while let Some(channel) = idle.channels.pop() {
                if channel.status().connected() {
                    return Ok((connection, Some(channel)));
                }
            }
            return Ok((connection, None));
        }
        *idle = Idle::default();
        let connection = Arc::new(
            self.place.connect("claimstream publisher").await.map_err(|no| no.reason().to_string())?,
        );
        idle.connection = Some(Arc::clone(&connection));
        Ok((connection, None))
    }

    /// Keeps a line for the next call, unless it has ended.
    pub(super) async fn keep(&self, line: Line) {
        if !line.channel.status().connected() {
            return;
        }
        let mut idle = self.idle.lock().await;
        if idle.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, &line.connection)) {
            idle.channels.push(line.channel);
        }
    }

    /// Gives up the connection of a line: it may be broken without a sign. One that the broker has blocked stays, because it could not
    /// even be closed before the broker reads from it again, and there would be one more with each call.
    pub(super) async fn give_up(&self, line: Line) {
        if !line.is_blocked() {
            self.part(&line.connection).await;
        }
    }

    async fn part(&self, connection: &Arc<Connection>) {
        let mut idle = self.idle.lock().await;
        if idle.connection.as_ref().is_some_and(|held| Arc::ptr_eq(held, connection)) {
            *idle = Idle::default();
        }
    }
}

impl Line {
    /// Whether the broker has said that it reads nothing from the connection for now.
    pub(super) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }
}

/// What a broker does to those who publish when it lacks memory or room on its disk.
pub(super) const BLOCKED: &str = "takes no messages for now, as over an alarm about its memory or its disk";

async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}
