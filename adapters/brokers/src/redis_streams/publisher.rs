use std::{
    collections::HashSet,
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    RedisStreamsConfig,
    connection::RedisConnection,
    error_kind::{EntryErrorKind, PROTOCOL},
    wire,
};
use crate::shared::Shared;
use async_trait::async_trait;
use claimstream_domain::{MessageId, Publication, Published, Reason};
use claimstream_ports::Publish;
use redis::{Pipeline, RedisError, RedisResult, Value};

/// Adds messages to streams of Redis; a place is the key of a stream, which is made if it is new.
///
/// The messages of a call are one transaction on one connection, so those of a key are added in their order, and a server that is
/// out of memory or a replica takes none of them. If the server takes none because of one of them, or ends the connection over one, they
/// are sent one by one, and each has its own answer.
///
/// | answer of the server | is |
/// |---|---|
/// | an entry was added | confirmed |
/// | the key holds something else than a stream | unavailable |
/// | the message is larger than `proto-max-bulk-len` | refused |
/// | the user may not write to this key; any other error that one message has for itself | unconfirmed, and the other messages are not |
/// | anything else; silence; a lost connection | unconfirmed |
/// | none, because there is no connection, or the server takes no message | unsent |
///
/// Redis confirms what it has in memory. Whether that outlives a crash is decided by `appendonly` and `appendfsync`.
pub struct RedisStreamsPublisher {
    config: RedisStreamsConfig,
    kept: Option<u64>,
    connection: Shared<Connected, Reason>,
    connections: AtomicU64,
    /// The messages of calls over which the connection ended, as it does over one that is too large.
    suspects: Mutex<HashSet<MessageId>>,
}

#[derive(Clone)]
struct Connected {
    /// Which of this publisher's connections it is.
    number: u64,
    connection: RedisConnection,
    /// The largest value that the server takes, in bytes.
    largest: usize,
}

impl RedisStreamsPublisher {
    /// How long a connection may take, and the answer to a call.
    pub const TIMEOUT: Duration = RedisConnection::LIMIT;
    /// The default of `proto-max-bulk-len`, in bytes.
    const USUALLY_LARGEST: usize = 512 * 1024 * 1024;

    /// A publisher with this configuration; it connects at the first call.
    pub fn new(config: RedisStreamsConfig) -> Self {
        let connections = AtomicU64::new(0);
        Self { config, kept: None, connection: Shared::default(), connections, suspects: Mutex::default() }
    }

    /// Has each stream drop its oldest entries when it has more than about `entries`; Redis drops some at a time. A consumer that
    /// is further behind than that misses messages.
    pub fn keeping(mut self, entries: u64) -> Self {
        self.kept = Some(entries);
        self
    }

    /// Connects, and says what is in the way otherwise.
    pub async fn reach(&self) -> Result<(), Reason> {
        let mut connected = self.connected().await?;
        let pong: RedisResult<Value> = redis::cmd("PING").query_async(&mut connected.connection).await;
        pong.map(|_| ()).map_err(|e| self.away(&e))
    }

    /// The connection that all calls use.
    async fn connected(&self) -> Result<Connected, Reason> {
        let connect = async { self.connect().await.map_err(|e| self.away(&e)) };
        self.connection.get(|_| true, connect).await
    }

    async fn connect(&self) -> RedisResult<Connected> {
        let mut connection = RedisConnection::to(&self.config).await?;
        let mut ask = redis::cmd("CONFIG");
        ask.arg("GET").arg("proto-max-bulk-len");
        // Not every user may ask.
        let answer: RedisResult<(String, usize)> = ask.query_async(&mut connection).await;
        let largest = answer.map_or(Self::USUALLY_LARGEST, |(_, largest)| largest);
        Ok(Connected { number: self.connections.fetch_add(1, Relaxed), connection, largest })
    }

    fn away(&self, error: &RedisError) -> Reason {
        Reason::new(format_args!("{} cannot be reached: {error}", self.config))
    }

    /// Adds what is not too large: in one transaction, or one by one where that has no end.
    async fn add(&self, connected: &mut Connected, publications: &[&Publication]) -> Vec<Published> {
        if publications.is_empty() {
            return Vec::new();
        }
        if self.has_suspects(publications) {
            return self.add_singly(None, publications).await;
        }
        match self.add_together(connected, publications).await {
            Ok(answers) if answers.len() == publications.len() => {
                let places = publications.iter().map(|publication| publication.place.as_str());
                places.zip(answers).map(|(place, answer)| answer_for(place, answer)).collect()
            }
            Ok(answers) => {
                let why = format!("{} answers came to {} messages", answers.len(), publications.len());
                vec![Published::unconfirmed(why); publications.len()]
            }
            // None of them was added.
            Err(error) if error.code() == Some(ABORTED) => {
                self.add_singly(Some(connected.clone()), publications).await
            }
            Err(error) => {
                // It may be broken, or lead to a server that is the master no more.
                self.connection.forget(|known| known.number == connected.number).await;
                // Silence is no answer to one message that is too large.
                if publications.len() > 1 || !error.is_timeout() {
                    self.suspect(publications);
                }
                vec![Published::unconfirmed(error); publications.len()]
            }
        }
    }

    fn suspects(&self) -> MutexGuard<'_, HashSet<MessageId>> {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_suspects(&self, publications: &[&Publication]) -> bool {
        let suspects = self.suspects();
        publications.iter().any(|publication| suspects.contains(&publication.id))
    }

    /// Notes them; those of earlier calls that were not sent again are forgotten once there are many.
    fn suspect(&self, publications: &[&Publication]) {
        const MANY: usize = 10_000;
        let mut suspects = self.suspects();
        if suspects.len() > MANY {
            suspects.clear();
        }
        suspects.extend(publications.iter().map(|publication| publication.id));
    }

    async fn add_together(
        &self,
        connected: &mut Connected,
        publications: &[&Publication],
    ) -> RedisResult<Vec<RedisResult<Value>>> {
        let mut together = Pipeline::with_capacity(publications.len());
        together.atomic().ignore_errors();
        for publication in publications {
            together.add_command(wire::command(publication, self.kept));
        }
        together.query_async(&mut connected.connection).await
    }

    /// Adds one after the other, none of a key behind one of it that was not confirmed, until the server takes no message at all.
    ///
    /// Without a connection they have one of their own: the server may end it over one of them.
    async fn add_singly(&self, mut on: Option<Connected>, publications: &[&Publication]) -> Vec<Published> {
        let (mut answers, mut held_up) = (Vec::with_capacity(publications.len()), HashSet::new());
        let mut takes_none: Option<String> = None;
        for publication in publications {
            let is_held_up = publication.key.as_ref().is_some_and(|key| held_up.contains(key));
            let answer = match &takes_none {
                Some(why) => Published::unsent(why),
                None if is_held_up => Published::unsent(HELD_UP),
                None => match self.add_one(&mut on, publication).await {
                    Ok(()) => Published::Confirmed,
                    Err(meaning) => {
                        if let EntryErrorKind::NoneNow(why) = &meaning {
                            takes_none = Some(why.clone());
                        }
                        meaning.into()
                    }
                },
            };
            if let Some(key) = publication.key.as_ref().filter(|_| answer.is_open()) {
                held_up.insert(key);
            }
            answers.push(answer);
        }
        answers
    }

    async fn add_one(
        &self,
        on: &mut Option<Connected>,
        publication: &Publication,
    ) -> Result<(), EntryErrorKind> {
        let connected = match on {
            Some(connected) => connected,
            None => on.insert(self.connect_for_one().await?),
        };
        let command = wire::command(publication, self.kept);
        let added: RedisResult<Value> = command.query_async(&mut connected.connection).await;
        let answer = added.map(drop).map_err(|error| (EntryErrorKind::of(&publication.place, &error), error));
        let has_ended = |(meaning, error): &(EntryErrorKind, RedisError)| {
            matches!(meaning, EntryErrorKind::Lost(_)) || error.to_string().contains(PROTOCOL)
        };
        let (meaning, error) = match answer {
            Err(ended) if has_ended(&ended) => ended,
            answered => {
                self.suspects().remove(&publication.id);
                return answered.map_err(|(meaning, _)| meaning);
            }
        };
        let ended = connected.number;
        *on = None;
        self.connection.forget(|known| known.number == ended).await;
        if error.is_timeout() {
            return Err(EntryErrorKind::NoneNow(error.to_string()));
        }
        // The server may have another limit since the last connection.
        let largest = on.insert(self.connect_for_one().await?).largest;
        self.connection.forget(|known| known.largest != largest).await;
        match publication.body.bytes().len() > largest {
            true => {
                self.suspects().remove(&publication.id);
                Err(EntryErrorKind::Never(too_large(largest)))
            }
            false => Err(meaning),
        }
    }

    async fn connect_for_one(&self) -> Result<Connected, EntryErrorKind> {
        self.connect().await.map_err(|error| EntryErrorKind::NoneNow(self.away(&error).as_str().to_owned()))
    }
}

#[async_trait]
impl Publish for RedisStreamsPublisher {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let mut connected = match self.connected().await {
            Ok(connected) => connected,
            Err(why) => return vec![Published::Unsent(why); publications.len()],
        };
        let largest = connected.largest;
        let fits = |publication: &&Publication| publication.body.bytes().len() <= largest;
        let fitting: Vec<&Publication> = publications.iter().filter(fits).collect();
        let mut answers = self.add(&mut connected, &fitting).await.into_iter();
        let answer = |publication: &Publication| match fits(&publication) {
            true => answers.next().unwrap_or_else(|| Published::unconfirmed("no answer came")),
            false => Published::refused(too_large(largest)),
        };
        publications.iter().map(answer).collect()
    }
}

/// The code of a transaction of which nothing was carried out, because one of its commands was wrong.
const ABORTED: &str = "EXECABORT";

const HELD_UP: &str = "it was not sent, because an earlier message of its ordering key was not confirmed";

fn too_large(largest: usize) -> String {
    format!("the body has more than the {largest} bytes that the server takes")
}

fn answer_for(place: &str, answer: RedisResult<Value>) -> Published {
    answer.map_or_else(|error| EntryErrorKind::of(place, &error).into(), |_| Published::Confirmed)
}

impl From<EntryErrorKind> for Published {
    fn from(meaning: EntryErrorKind) -> Self {
        match meaning {
            EntryErrorKind::Never(why) => Self::refused(why),
            EntryErrorKind::Unavailable(why) => Self::unavailable(why),
            EntryErrorKind::NotNow(why) | EntryErrorKind::NoneNow(why) | EntryErrorKind::Lost(why) => {
                Self::unconfirmed(why)
            }
        }
    }
}

impl fmt::Debug for RedisStreamsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStreamsPublisher").field("config", &self.config).finish_non_exhaustive()
    }
}
