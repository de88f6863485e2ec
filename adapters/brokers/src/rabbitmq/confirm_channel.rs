use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_ports::{Deadline, Timer};
use lapin::{Channel, Connection, options::ConfirmSelectOptions};

use super::config::RabbitMqConfig;

/// The lines to a RabbitMQ, one for each call that runs at a time.
///
/// No two calls share a connection. The broker closes a whole connection over a publication that follows on a channel which it has closed, and
/// the client sends such publications: those that it had queued when the close arrived, or when a call was cancelled.
///
/// Those that no call has needed for [`Idle::KEPT`] are closed when another call ends.
pub(super) struct ConfirmChannels {
    config: RabbitMqConfig,
    idle: Arc<Idle>,
}

/// A connection with a channel that confirms, in the hands of one call.
///
/// A line that is dropped, as when its call is cancelled, is closed: confirmations that come later belong to no call. One that the broker has
/// blocked stays, because it could not even be closed before the broker reads from it again, and there would be one more with each call.
pub(super) struct ConfirmChannel {
    connection: Arc<Connection>,
    pub(super) channel: Channel,
    idle: Arc<Idle>,
    is_kept: bool,
}

/// Connections that no call uses, the last that was used at the end.
struct Idle {
    resting: Mutex<Vec<Resting>>,
    timer: Arc<dyn Timer>,
}

/// A connection, what is left of its line, and how long it is kept.
struct Resting {
    connection: Arc<Connection>,
    rest: Rest,
    until: Deadline,
}

/// What is left of a line for the next call.
enum Rest {
    /// A channel that is as good as new.
    Channel(Channel),
    /// A connection on which nothing is outstanding.
    Connection,
    /// Nothing, once the broker reads again: publications of a cancelled call are still on the way.
    Nothing,
}

impl ConfirmChannels {
    pub(super) fn to(config: RabbitMqConfig) -> Self {
        let idle = Idle { resting: Mutex::default(), timer: Arc::clone(config.timer()) };
        Self { config, idle: Arc::new(idle) }
    }

    pub(super) fn config(&self) -> &RabbitMqConfig {
        &self.config
    }

    /// An idle line, or a new one; connects where that is needed.
    pub(super) async fn take(&self) -> Result<ConfirmChannel, String> {
        while let Some(Resting { connection, rest, .. }) = self.idle.pop() {
            if connection.status().blocked() {
                self.idle.push(connection, rest);
                return Err(format!("{} {BLOCKED}", self.config));
            }
            match rest {
                Rest::Channel(channel) if channel.status().connected() => {
                    return Ok(self.line(connection, channel));
                }
                Rest::Channel(_) | Rest::Connection => {
                    if let Ok(line) = self.begin(connection).await {
                        return Ok(line);
                    }
                    // The others may be as broken as this one.
                    self.idle.forget();
                }
                Rest::Nothing => self.close(connection),
            }
        }
        let connected = self.config.connect("claimstream publisher").await;
        let connection = connected.map_err(|no| no.reason().to_string())?;
        self.begin(Arc::new(connection)).await
    }

    /// Opens a channel, of which a connection has a limited number in its life.
    async fn begin(&self, connection: Arc<Connection>) -> Result<ConfirmChannel, String> {
        let why = match self.config.deadline().within(confirming(&connection)).await {
            Some(Ok(channel)) => return Ok(self.line(connection, channel)),
            Some(Err(error)) => error.to_string(),
            None => "no answer in time".to_owned(),
        };
        self.close(connection);
        Err(format!("cannot open a channel to {}: {why}", self.config))
    }

    fn line(&self, connection: Arc<Connection>, channel: Channel) -> ConfirmChannel {
        ConfirmChannel { connection, channel, idle: Arc::clone(&self.idle), is_kept: false }
    }

    /// The client closes by itself only a connection whose channels have all been opened and closed.
    fn close(&self, connection: Arc<Connection>) {
        let deadline = self.config.deadline();
        tokio::spawn(async move { deadline.within(connection.close(200, "OK".into())).await });
    }

    /// Keeps a line on which nothing is outstanding for another call. Its channel may have ended.
    pub(super) fn keep(&self, mut line: ConfirmChannel) {
        let rest = match line.channel.status().connected() {
            true => Rest::Channel(line.channel.clone()),
            false => Rest::Connection,
        };
        line.is_kept = true;
        self.idle.push(Arc::clone(&line.connection), rest);
        self.idle.take_old().into_iter().for_each(|connection| self.close(connection));
    }

    /// Gives a line up that may be broken without a sign, and with it the idle ones, which may be so as well.
    pub(super) fn give_up(&self, line: ConfirmChannel) {
        drop(line);
        self.idle.forget();
    }
}

impl ConfirmChannel {
    /// Whether the broker has said that it reads nothing from the connection for now.
    pub(super) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }
}

impl Drop for ConfirmChannel {
    fn drop(&mut self) {
        if self.is_blocked() && !self.is_kept {
            self.idle.push(Arc::clone(&self.connection), Rest::Nothing);
        }
    }
}

impl Idle {
    /// How long a connection is kept that no call needs.
    const KEPT: Duration = Duration::from_secs(60);

    fn pop(&self) -> Option<Resting> {
        let mut resting = self.resting();
        resting.retain(|one| one.connection.status().connected());
        resting.pop()
    }

    fn push(&self, connection: Arc<Connection>, rest: Rest) {
        let until = Deadline::after(Self::KEPT, &self.timer);
        self.resting().push(Resting { connection, rest, until });
    }

    /// Takes out what was not needed for long; what the broker has blocked could not be closed.
    fn take_old(&self) -> Vec<Arc<Connection>> {
        let is_old = |one: &mut Resting| one.until.has_passed() && !one.connection.status().blocked();
        self.resting().extract_if(.., is_old).map(|one| one.connection).collect()
    }

    /// Drops all but those that the broker has blocked.
    fn forget(&self) {
        self.resting().retain(|one| one.connection.status().blocked());
    }

    fn resting(&self) -> MutexGuard<'_, Vec<Resting>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a broker does to those who publish when it lacks memory or room on its disk.
pub(super) const BLOCKED: &str = "takes no messages for now, as over an alarm about its memory or its disk";

async fn confirming(connection: &Connection) -> lapin::Result<Channel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}
