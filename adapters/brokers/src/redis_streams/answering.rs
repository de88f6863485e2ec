use std::collections::HashSet;

use redis::{Cmd, Pipeline, RedisError, RedisResult, Value};
use tokio::sync::Mutex;

use super::{connection::RedisConnection, member::Member};

/// The connection on which a member tells its group what became of entries. It connects again when it breaks, because entries that were
/// handled meanwhile would come again otherwise.
pub(super) struct Answering {
    member: Member,
    connection: Mutex<RedisConnection>,
}

impl Answering {
    pub(super) fn new(member: Member, connection: RedisConnection) -> Self {
        Self { member, connection: Mutex::new(connection) }
    }

    /// Tells the group that entries are done; false if it knew that of all of them. Silence may be all that a broken connection says, and to say it
    /// late and twice does no harm.
    pub(super) async fn finish(&self, entries: &[&str]) -> RedisResult<bool> {
        let Member { stream, group, .. } = &self.member;
        let mut finish = redis::cmd("XACK");
        finish.arg(stream).arg(group).arg(entries);
        let said = self.say(&finish, |error| error.is_unrecoverable_error() || error.is_timeout()).await?;
        Ok(said != Some(Value::Int(0)))
    }

    /// Begins the time again of those of the entries that this member still has, and returns these.
    pub(super) async fn extend(&self, entries: &[String]) -> RedisResult<HashSet<String>> {
        let Member { stream, group, name, .. } = &self.member;
        let mut ask = Pipeline::with_capacity(entries.len());
        for entry in entries {
            ask.cmd("XPENDING").arg(stream).arg(group).arg(entry).arg(entry).arg(1).arg(name);
        }
        type Pending = Vec<Vec<(String, Value, Value, Value)>>;
        let mut connection = self.connection.lock().await.clone();
        let pending: Pending = match ask.query_async(&mut connection).await {
            Err(error) if error.is_unrecoverable_error() || error.is_timeout() => {
                let mut fresh = self.member.connect().await?;
                *self.connection.lock().await = fresh.clone();
                ask.query_async(&mut fresh).await?
            }
            pending => pending?,
        };
        let held: HashSet<String> = pending.into_iter().flatten().map(|(entry, ..)| entry).collect();
        if !held.is_empty() {
            let mut claim = redis::cmd("XCLAIM");
            claim.arg(stream).arg(group).arg(name).arg(0);
            held.iter().for_each(|entry| {
                claim.arg(entry);
            });
            claim.arg("JUSTID");
            self.say(&claim, RedisError::is_unrecoverable_error).await?;
        }
        Ok(held)
    }

    /// Makes an entry look abandoned.
    pub(super) async fn abandon(&self, entry: &str) -> RedisResult<()> {
        let Member { stream, group, name, .. } = &self.member;
        let mut give = redis::cmd("XCLAIM");
        give.arg(stream).arg(group).arg(name).arg(0).arg(entry);
        give.arg("IDLE").arg(self.member.idle_millis()).arg("JUSTID");
        self.say(&give, RedisError::is_unrecoverable_error).await.map(|_| ())
    }

    /// Sends a command, and once more on a new connection behind an error that calls for it: then what is answered is of the repetition, and not
    /// returned.
    async fn say(
        &self,
        command: &Cmd,
        calls_for_another: impl Fn(&RedisError) -> bool,
    ) -> RedisResult<Option<Value>> {
        let mut connection = self.connection.lock().await.clone();
        match command.query_async::<Value>(&mut connection).await {
            // Untested: the test cuts the connection, so no acknowledgement goes unanswered until its time is up
            Err(error) if calls_for_another(&error) => {
                let mut fresh = self.member.connect().await?;
                *self.connection.lock().await = fresh.clone();
                command.query_async::<Value>(&mut fresh).await.map(|_| None)
            }
            said => said.map(Some),
        }
    }
}
