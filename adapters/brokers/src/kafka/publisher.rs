use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use async_trait::async_trait;
use claimstream_domain::{Publication, Published, Reason};
use claimstream_ports::{Deadline, Publish};
use futures::{
    StreamExt,
    stream::{FuturesUnordered, iter},
};
use rdkafka::{
    error::{KafkaError, RDKafkaErrorCode},
    producer::{FutureProducer, Producer},
};
use tokio::sync::Mutex;

use super::{
    KafkaConfig,
    topic::{TopicStatus, ask},
    wire,
};
use crate::answers::Answers;

/// Publishes to topics of a Kafka cluster by an idempotent producer.
///
/// All publications of a call are outstanding together, save those of one ordering key, of which each waits for the one before it.
/// The client has threads of its own; the first call starts them.
pub struct KafkaPublisher {
    config: KafkaConfig,
    producer: Mutex<Option<FutureProducer>>,
}

impl KafkaPublisher {
    /// A publisher with this configuration; it connects at the first call.
    pub fn new(config: KafkaConfig) -> Self {
        Self { config, producer: Mutex::default() }
    }

    /// Connects, and says what is in the way otherwise.
    pub async fn reach(&self) -> Result<(), Reason> {
        let producer = self.producer().await.map_err(Reason::new)?;
        let timeout = self.config.timeout();
        let asked = tokio::task::spawn_blocking(move || producer.client().fetch_metadata(None, timeout));
        match asked.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Reason::new(format_args!("{} cannot be reached: {error}", self.config))),
            Err(ended) => Err(Reason::new(ended)),
        }
    }

    /// The producer, or a new one in place of one that can do nothing more.
    async fn producer(&self) -> Result<FutureProducer, String> {
        let mut known = self.producer.lock().await;
        if let Some(producer) = known.as_ref().filter(|producer| producer.client().fatal_error().is_none()) {
            return Ok(producer.clone());
        }
        let made: Result<FutureProducer, _> = self.config.producer().create();
        match made {
            Ok(producer) => Ok(known.insert(producer).clone()),
            Err(error) => Err(format!("no producer for {}: {error}", self.config)),
        }
    }
}

#[async_trait]
impl Publish for KafkaPublisher {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let producer = match self.producer().await {
            Ok(producer) => producer,
            Err(why) => return vec![Published::unsent(why); publications.len()],
        };
        let mut call = KafkaCall { config: &self.config, producer, publications, asked: BTreeMap::new() };
        let mut answers = Answers::to(publications, self.config.timer());
        while let Some(wave) = answers.next_wave() {
            call.send(&wave, &mut answers).await;
        }
        answers.finish("the cluster said nothing of it")
    }
}

/// One call of `publish`, on its way.
struct KafkaCall<'a> {
    config: &'a KafkaConfig,
    producer: FutureProducer,
    publications: &'a [Publication],
    /// What the cluster has said of topics.
    asked: BTreeMap<&'a str, TopicStatus>,
}

impl<'a> KafkaCall<'a> {
    const ASKED_AT_ONCE: usize = 32;

    /// Sends a wave and notes every answer.
    async fn send(&mut self, wave: &[usize], answers: &mut Answers<'_>) {
        let ended = self.outstanding(wave).await;
        let is_single = ended.len() == 1;
        let mut unsure = Vec::new();
        for (at, answer) in ended {
            match answer {
                // Said of a whole batch of records, in which only some are so.
                Sent::Refused(code) if !is_single && is_of_one_record(code) => {
                    for (at, answer) in self.outstanding(&[at]).await {
                        answers.give(at, self.answer(at, answer));
                    }
                }
                Sent::Unsure(_) => unsure.push(at),
                answer => answers.give(at, self.answer(at, answer)),
            }
        }
        if !unsure.is_empty() {
            self.ask_and_send(&unsure, answers).await;
        }
        for at in answers.open(wave) {
            answers.give(at, self.silence());
        }
    }

    /// Asks the cluster about the topics of these, and sends those once more whose topics are there.
    async fn ask_and_send(&mut self, unsure: &[usize], answers: &mut Answers<'_>) {
        let publications = self.publications;
        self.ask_all(unsure.iter().map(|at| &*publications[*at].place)).await;
        let mut there = Vec::new();
        for at in unsure.iter().copied() {
            match self.asked.get(&*publications[at].place).cloned() {
                Some(TopicStatus::There) => there.push(at),
                Some(TopicStatus::Missing) => answers.give(at, self.answer(at, Sent::Missing)),
                Some(TopicStatus::Unknown(why)) => answers.give(at, self.answer(at, Sent::Trouble(why))),
                None => {}
            }
        }
        for (at, answer) in self.outstanding(&there).await {
            answers.give(at, self.answer(at, answer));
        }
    }

    /// Asks about topics of which nothing is known yet, several at the same time: each that is missing takes half the timeout, and a thread.
    async fn ask_all(&mut self, topics: impl Iterator<Item = &'a str>) {
        let unknown: BTreeSet<&str> = topics.filter(|topic| !self.asked.contains_key(topic)).collect();
        let (producer, config) = (&self.producer, self.config);
        let ask = async |topic| (topic, ask(producer, topic, config.timeout() / 2, config.timer()).await);
        let asks: Vec<_> = unknown.into_iter().map(ask).collect();
        let answers: Vec<_> = iter(asks).buffer_unordered(Self::ASKED_AT_ONCE).collect().await;
        self.asked.extend(answers);
    }

    /// Sends these at once, and waits for their answers; what is not answered in time is left out.
    async fn outstanding(&self, wave: &[usize]) -> Vec<(usize, Sent)> {
        // The client gives up by itself just before.
        let limit = self.config.timeout() + std::time::Duration::from_secs(1);
        let deadline = Deadline::after(limit, self.config.timer());
        let send = |at: &usize| {
            let (at, publication) = (*at, &self.publications[*at]);
            let sent = match wire::fault_of_topic(&publication.place) {
                Some(fault) => Err(Sent::NoTopic(fault)),
                None => {
                    self.producer.send_result(wire::record(publication)).map_err(|(error, _)| sent(&error))
                }
            };
            async move {
                match sent {
                    Err(answer) => (at, answer),
                    Ok(outcome) => match outcome.await {
                        Ok(Ok(_)) => (at, Sent::Confirmed),
                        Ok(Err((error, _))) => (at, sent_later(&error)),
                        Err(_) => (at, Sent::Trouble("the client has ended".to_owned())),
                    },
                }
            }
        };
        let mut outstanding: FuturesUnordered<_> = wave.iter().map(send).collect();
        let mut ended = Vec::with_capacity(wave.len());
        while let Some(Some(one)) = deadline.within(outstanding.next()).await {
            ended.push(one);
        }
        ended
    }

    fn answer(&self, at: usize, sent: Sent) -> Published {
        let topic = &self.publications[at].place;
        match sent {
            Sent::Confirmed => Published::Confirmed,
            Sent::NoTopic(fault) => Published::refused(format_args!("{topic:?} is no topic: {fault}")),
            Sent::TooLargeForClient => Published::refused(
                "the record is larger than the client takes; its setting message.max.bytes says how much that is",
            ),
            Sent::Refused(RDKafkaErrorCode::MessageSizeTooLarge) => Published::refused(format_args!(
                "the record is larger than the topic {topic:?} takes; its setting max.message.bytes says how much that is"
            )),
            Sent::Refused(RDKafkaErrorCode::InvalidRecord) => Published::refused(format_args!(
                "the topic {topic:?} takes no such record; if it is compacted, each record needs a key"
            )),
            Sent::Refused(code) => {
                Published::refused(format_args!("{} has no topic {topic:?}: {code}", self.config))
            }
            Sent::Missing => Published::unavailable(format_args!("{} has no topic {topic:?}", self.config)),
            Sent::Unsure(code) => {
                Published::unconfirmed(format_args!("{} did not confirm it: {code}", self.config))
            }
            Sent::Trouble(why) => {
                Published::unconfirmed(format_args!("{} did not confirm it: {why}", self.config))
            }
        }
    }

    fn silence(&self) -> Published {
        let (config, timeout) = (self.config, self.config.timeout());
        Published::unconfirmed(format_args!("{config} did not confirm it within {timeout:?}"))
    }
}

/// What became of one record.
#[derive(PartialEq, Eq, Debug)]
enum Sent {
    Confirmed,
    NoTopic(&'static str),
    TooLargeForClient,
    Refused(RDKafkaErrorCode),
    /// The client does not know the topic, or may not write to it, by the last metadata that it received.
    Unsure(RDKafkaErrorCode),
    /// There is no such topic.
    Missing,
    Trouble(String),
}

/// Whether a cluster says this of a whole batch because of one record in it.
fn is_of_one_record(code: RDKafkaErrorCode) -> bool {
    matches!(code, RDKafkaErrorCode::MessageSizeTooLarge | RDKafkaErrorCode::InvalidRecord)
}

/// Of a record that the client did not take.
fn sent(error: &KafkaError) -> Sent {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => Sent::TooLargeForClient,
        _ => sent_later(error),
    }
}

/// Of a record that the client took.
fn sent_later(error: &KafkaError) -> Sent {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        Some(code @ (Code::InvalidTopic | Code::MessageSizeTooLarge | Code::InvalidRecord)) => {
            Sent::Refused(code)
        }
        Some(
            code @ (Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::TopicAuthorizationFailed),
        ) => Sent::Unsure(code),
        _ => Sent::Trouble(error.to_string()),
    }
}

impl fmt::Debug for KafkaPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaPublisher").field("config", &self.config).finish_non_exhaustive()
    }
}
