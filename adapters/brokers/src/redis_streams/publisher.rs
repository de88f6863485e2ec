use std::{fmt, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{Publication, Published, Reason};
use claimstream_ports::Publish;
use redis::{
    AsyncConnectionConfig, Client, Pipeline, RedisError, RedisResult, Value, aio::MultiplexedConnection,
};
use tokio::sync::Mutex;

use super::{RedisStreamsPlace, wire};

/// Adds messages to streams of Redis; a place is the key of a stream, which is made if it is new.
///
/// The messages of a call are one transaction on one connection, so those of a key are added in their order, and a server that is
/// out of memory or a replica takes none of them.
///
/// | answer of the server | is |
/// |---|---|
/// | an entry was added | confirmed |
/// | the key holds something else than a stream | refused |
/// | the message is larger than `proto-max-bulk-len` | refused |
/// | anything else; silence; a lost connection | unconfirmed |
///
/// Redis confirms what it has in memory. Whether that outlives a crash is decided by `appendonly` and `appendfsync`.
pub struct RedisStreamsPublisher {
    place: RedisStreamsPlace,
    kept: Option<u64>,
    connection: Mutex<Option<Connected>>,
}

#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    /// The largest value that the server takes, in bytes.
    largest: usize,
}

impl RedisStreamsPublisher {
    /// How long a connection may take, and the answer to a call.
    pub const PATIENCE: Duration = Duration::from_secs(5);
    /// What `proto-max-bulk-len` is unless somebody has set it, in bytes.
    const USUALLY_LARGEST: usize = 512 * 1024 * 1024;

    /// Adds to streams at this place; it is not looked at before the first call.
    pub fn new(place: RedisStreamsPlace) -> Self {
        Self { place, kept: None, connection: Mutex::default() }
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

    async fn connected(&self) -> Result<Connected, Reason> {
        let mut known = self.connection.lock().await;
        if let Some(connected) = &*known {
            return Ok(connected.clone());
        }
        let connected = self.connect().await.map_err(|e| self.away(&e))?;
        Ok(known.insert(connected).clone())
    }

    async fn connect(&self) -> RedisResult<Connected> {
        let client = Client::open(self.place.0.clone())?;
        let patience = Some(Self::PATIENCE);
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(patience).set_response_timeout(patience);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let mut ask = redis::cmd("CONFIG");
        ask.arg("GET").arg("proto-max-bulk-len");
        // Not every user may ask.
        let told: RedisResult<(String, usize)> = ask.query_async(&mut connection).await;
        Ok(Connected { connection, largest: told.map_or(Self::USUALLY_LARGEST, |(_, largest)| largest) })
    }

    fn away(&self, error: &RedisError) -> Reason {
        Reason::new(format_args!("{} cannot be reached: {error}", self.place))
    }

    /// Adds what is not too large, in one transaction.
    async fn add(&self, connected: &mut Connected, publications: &[&Publication]) -> Vec<Published> {
        if publications.is_empty() {
            return Vec::new();
        }
        let mut together = Pipeline::with_capacity(publications.len());
        together.atomic().ignore_errors();
        for publication in publications {
            together.add_command(wire::command(publication, self.kept));
        }
        let answers: RedisResult<Vec<RedisResult<Value>>> =
            together.query_async(&mut connected.connection).await;
        match answers {
            Ok(answers) if answers.len() == publications.len() => {
                let places = publications.iter().map(|publication| publication.place.as_str());
                answers.into_iter().zip(places).map(|(answer, place)| answer_for(place, answer)).collect()
            }
            Ok(answers) => {
                let why = format!("{} answers came to {} messages", answers.len(), publications.len());
                vec![Published::unconfirmed(why); publications.len()]
            }
            Err(error) => {
                // It may be broken, or lead to a server that is the master no more.
                *self.connection.lock().await = None;
                vec![Published::unconfirmed(error); publications.len()]
            }
        }
    }
}

#[async_trait]
impl Publish for RedisStreamsPublisher {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let mut connected = match self.connected().await {
            Ok(connected) => connected,
            Err(why) => return vec![Published::Unconfirmed(why); publications.len()],
        };
        let largest = connected.largest;
        let fits = |publication: &&Publication| publication.body.bytes().len() <= largest;
        let fitting: Vec<&Publication> = publications.iter().filter(fits).collect();
        let mut answers = self.add(&mut connected, &fitting).await.into_iter();
        let too_large = || {
            Published::refused(format_args!(
                "the body has more than the {largest} bytes that the server takes"
            ))
        };
        let answer = |publication: &Publication| match fits(&publication) {
            true => answers.next().unwrap_or_else(|| Published::unconfirmed("no answer came")),
            false => too_large(),
        };
        publications.iter().map(answer).collect()
    }
}

fn answer_for(place: &str, answer: RedisResult<Value>) -> Published {
    match answer {
        Ok(_) => Published::Confirmed,
        Err(error) if error.code() == Some("WRONGTYPE") => {
            Published::refused(format_args!("the key {place:?} holds something else than a stream"))
        }
        Err(error) => Published::unconfirmed(error),
    }
}

impl fmt::Debug for RedisStreamsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStreamsPublisher").field("place", &self.place).finish_non_exhaustive()
    }
}
