use std::{
    collections::{HashMap, HashSet},
    error::Error,
    fmt,
    time::Duration,
};

use async_nats::jetstream::{
    self, ErrorCode,
    context::{GetStreamByNameErrorKind, PublishAckFuture, PublishError, PublishErrorKind},
};
use async_trait::async_trait;
use claimstream_domain::{Publication, Published, Reason};
use claimstream_ports::{Deadline, Publish};

use super::{
    NatsConfig,
    client::{NatsClient, Session},
    wire,
};
use crate::{
    no_connection::NoConnection,
    waves::{LONGEST, TOO_LATE, waves},
};

/// Publishes to streams of NATS JetStream; a place is a subject.
///
/// All messages of a call are on the way at once, but a message waits for the one before it of the same key, because a client that
/// connects again may have lost the first and still send the second.
///
/// | answer of the server | is |
/// |---|---|
/// | stored, or known under its id | confirmed |
/// | nothing answers at the subject, and JetStream says that no stream takes it | unavailable |
/// | the stream is full | unavailable |
/// | nothing answers at the subject, and a stream takes it | unavailable: a stream that has no leader |
/// | nothing answers at the subject, and JetStream says nothing | unconfirmed: a server that starts |
/// | larger than the server or the stream takes | refused |
/// | anything else; silence; a lost connection | unconfirmed |
/// | none, because there is no connection, or no time for another round | unsent |
pub struct NatsPublisher {
    config: NatsConfig,
    client: NatsClient,
}

impl NatsPublisher {
    /// How long the answers to messages may take that are on the way together. A call has several rounds of those where it has
    /// several messages of a key.
    pub const TIMEOUT: Duration = Duration::from_secs(4);

    /// A publisher with this configuration; it connects at the first call.
    pub fn new(config: NatsConfig) -> Self {
        Self { config, client: NatsClient::default() }
    }

    /// Connects, and asks whether JetStream is there; says what is in the way otherwise.
    pub async fn reach(&self) -> Result<(), Reason> {
        let session = self.client.session(&self.config, Self::TIMEOUT).await.map_err(NoConnection::reason)?;
        let account = self.deadline().within(session.context.query_account()).await;
        let account = account.ok_or_else(|| Reason::new(format_args!("{} does not answer", self.config)))?;
        account
            .map(|_| ())
            .map_err(|e| Reason::new(format_args!("{} has no JetStream for us: {e}", self.config)))
    }

    /// What is in the way at this subject: a rule of subjects, or as far as the server says, that no stream takes it.
    pub async fn lacks(&self, subject: &str) -> Option<Reason> {
        if let Some(fault) = wire::fault_of_subject(subject) {
            return Some(Reason::new(format_args!("nothing is published at the subject {subject}: {fault}")));
        }
        let session = self.client.session(&self.config, Self::TIMEOUT).await.ok()?;
        let error = self.deadline().within(session.context.stream_by_subject(subject)).await?.err()?;
        let is_missing = error.kind() == GetStreamByNameErrorKind::NotFound;
        is_missing.then(|| Reason::new(format_args!("no stream takes the subject {subject}; make one")))
    }

    /// Until when the answers to messages that are sent now are waited for.
    fn deadline(&self) -> Deadline {
        Deadline::after(Self::TIMEOUT, &self.config.timer)
    }

    /// Says why a message that nothing answered to was not taken.
    async fn without_stream(&self, session: &Session, subject: &str) -> Published {
        match session.context.stream_by_subject(subject).await {
            Ok(stream) => {
                Published::unavailable(format_args!("stream {stream} does not answer at {subject}"))
            }
            Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => {
                Published::unavailable(format_args!("no stream takes the subject {subject}"))
            }
            Err(error) => Published::unconfirmed(format_args!(
                "nothing answers at {subject}, nor does JetStream: {error}"
            )),
        }
    }
}

#[async_trait]
impl Publish for NatsPublisher {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let session = match self.client.session(&self.config, Self::TIMEOUT).await {
            Ok(session) => session,
            Err(no) => return vec![Published::Unsent(no.reason()); publications.len()],
        };
        let mut call = NatsCall::new(self, session, publications);
        let longest = Deadline::after(LONGEST, &self.config.timer);
        for wave in waves(publications) {
            match longest.has_passed() {
                true => call.leave(&wave),
                false => call.publish(wave).await,
            }
        }
        call.answers
    }
}

impl fmt::Debug for NatsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsPublisher").field("config", &self.config).finish_non_exhaustive()
    }
}

/// One call of `publish`.
struct NatsCall<'a> {
    publisher: &'a NatsPublisher,
    session: Session,
    publications: &'a [Publication],
    /// Unsent until something else is known.
    answers: Vec<Published>,
    /// The keys of which a message was not confirmed, nor refused.
    stuck: HashSet<&'a str>,
    /// Subjects at which nothing answered, and what JetStream says of each.
    absent: HashMap<&'a str, Published>,
    /// How often the connection had been lost when the call began.
    lost: u64,
    /// When the answers to the wave that is on the way are waited for no longer.
    until: Deadline,
}

impl<'a> NatsCall<'a> {
    fn new(publisher: &'a NatsPublisher, session: Session, publications: &'a [Publication]) -> Self {
        let answers = vec![Published::unsent("it waits for another message of its key"); publications.len()];
        let (lost, until) = (session.standing.borrow().lost, publisher.deadline());
        let (stuck, absent) = (HashSet::new(), HashMap::new());
        Self { publisher, session, publications, answers, stuck, absent, lost, until }
    }

    /// Sends a wave, and waits for its answers.
    async fn publish(&mut self, wave: Vec<usize>) {
        self.until = self.publisher.deadline();
        let mut sent = Vec::with_capacity(wave.len());
        for index in wave {
            let Some(publication) = self.publications.get(index).filter(|it| !self.is_stuck(it)) else {
                continue;
            };
            match self.send(publication).await {
                Ok(answer) => sent.push((index, answer)),
                Err(answer) => self.note(index, answer),
            }
        }
        for (index, answer) in sent {
            let answer = self.answer(index, answer).await;
            self.note(index, answer);
        }
    }

    /// Sends nothing of a wave.
    fn leave(&mut self, wave: &[usize]) {
        wave.iter().for_each(|index| self.note(*index, Published::unsent(TOO_LATE)));
    }

    fn is_stuck(&self, publication: &Publication) -> bool {
        publication.key.as_ref().is_some_and(|key| self.stuck.contains(key.as_str()))
    }

    fn note(&mut self, index: usize, answer: Published) {
        let key = self.publications.get(index).and_then(|publication| publication.key.as_ref());
        if let Some(key) = key.filter(|_| answer.is_open()) {
            self.stuck.insert(key.as_str());
        }
        if let Some(known) = self.answers.get_mut(index) {
            *known = answer;
        }
    }

    async fn send(&self, publication: &Publication) -> Result<PublishAckFuture, Published> {
        let subject = publication.place.as_str();
        if let Some(fault) = wire::fault_of_subject(subject) {
            return Err(Published::refused(format_args!("{subject:?} is no subject: {fault}")));
        }
        if self.is_lost() {
            return Err(Published::unsent("the connection was lost before it was sent"));
        }
        let sending = self.session.context.send_publish(subject.to_owned(), wire::message(publication));
        match self.until.within(sending).await {
            Some(sent) => sent.map_err(|error| answer_to(&error)),
            None => Err(silence()),
        }
    }

    async fn answer(&mut self, index: usize, answer: PublishAckFuture) -> Published {
        let mut standing = self.session.standing.clone();
        let lost = self.lost;
        let answer = tokio::select! {
            biased;
            answer = self.until.within(answer.into_future()) => answer,
            _ = standing.wait_for(|standing| standing.lost != lost) => return connection_lost(),
        };
        let publications = self.publications;
        match (answer, publications.get(index)) {
            (Some(Ok(_)), _) => Published::Confirmed,
            (Some(Err(error)), Some(publication)) if error.kind() == PublishErrorKind::StreamNotFound => {
                self.without_stream(&publication.place).await
            }
            (Some(Err(error)), _) => answer_to(&error),
            (None, _) => silence(),
        }
    }

    /// Why nothing answered at a subject, as far as JetStream says so in time.
    async fn without_stream(&mut self, subject: &'a str) -> Published {
        if let Some(known) = self.absent.get(subject) {
            return known.clone();
        }
        let asked = self.until.within(self.publisher.without_stream(&self.session, subject)).await;
        let answer = asked.unwrap_or_else(|| {
            Published::unconfirmed(format_args!("nothing answers at {subject}, nor does JetStream in time"))
        });
        self.absent.entry(subject).or_insert(answer).clone()
    }

    fn is_lost(&self) -> bool {
        self.session.standing.borrow().lost != self.lost
    }
}

/// What the answer to a publication is that the server, or the client, did not take.
fn answer_to(error: &PublishError) -> Published {
    if error.kind() == PublishErrorKind::MaxPayloadExceeded {
        return Published::refused("the message is larger than the server takes");
    }
    match error.source().and_then(|source| source.downcast_ref::<jetstream::Error>()) {
        Some(reason) if is_for_good(reason.error_code()) => {
            Published::refused(format_args!("the stream will never take the message: {reason}"))
        }
        Some(reason) if is_full(reason.error_code()) => {
            Published::unavailable(format_args!("the stream takes no message now: {reason}"))
        }
        Some(reason) => Published::unconfirmed(format_args!("the stream did not take the message: {reason}")),
        None => Published::unconfirmed(error),
    }
}

fn is_for_good(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM | ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM)
}

/// Whether a stream or its server has reached a limit, so that messages must wait until others have gone.
fn is_full(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::STREAM_STORE_FAILED
            | ErrorCode::INSUFFICIENT_RESOURCES
            | ErrorCode::STORAGE_RESOURCES_EXCEEDED
            | ErrorCode::MEMORY_RESOURCES_EXCEEDED
            | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
    )
}

fn connection_lost() -> Published {
    Published::unconfirmed("the connection was lost before the answer came")
}

fn silence() -> Published {
    Published::unconfirmed(format_args!("no answer within {:?}", NatsPublisher::TIMEOUT))
}
