use redis::{Cmd, RedisError, RedisResult};
use tokio::sync::Mutex;

use super::{connection::Connection, member::Member};

/// The connection on which a member tells its group what became of entries. It is made anew when it breaks, because entries that were
/// handled meanwhile would come again otherwise.
pub(super) struct Answering {
    member: Member,
    connection: Mutex<Connection>,
}

impl Answering {
    pub(super) fn new(member: Member, connection: Connection) -> Self {
        Self { member, connection: Mutex::new(connection) }
    }

    /// Tells the group that entries are done. Silence may be all that a broken connection says, and to say it late and twice does no harm.
    pub(super) async fn finish(&self, entries: &[&str]) -> RedisResult<()> {
        let Member { stream, group, .. } = &self.member;
        let mut finish = redis::cmd("XACK");
        finish.arg(stream).arg(group).arg(entries);
        self.say(&finish, |error| error.is_unrecoverable_error() || error.is_timeout()).await
    }

    /// Makes an entry look abandoned.
    pub(super) async fn abandon(&self, entry: &str) -> RedisResult<()> {
        let Member { stream, group, name, .. } = &self.member;
        let mut give = redis::cmd("XCLAIM");
        give.arg(stream).arg(group).arg(name).arg(0).arg(entry);
        give.arg("IDLE").arg(self.member.idle_millis()).arg("JUSTID");
        self.say(&give, RedisError::is_unrecoverable_error).await
    }

    /// Sends a command, and once more on a new connection behind an error that calls for it.
    async fn say(&self, command: &Cmd, calls_for_another: impl Fn(&RedisError) -> bool) -> RedisResult<()> {
        let mut connection = self.connection.lock().await.clone();
        match command.query_async::<redis::Value>(&mut connection).await {
            // Untested: the test cuts the connection, so no acknowledgement goes unanswered until its time is up
            Err(error) if calls_for_another(&error) => {
                let mut fresh = self.member.connect().await?;
                *self.connection.lock().await = fresh.clone();
                command.query_async::<redis::Value>(&mut fresh).await.map(|_| ())
            }
            said => said.map(|_| ()),
        }
    }
}
