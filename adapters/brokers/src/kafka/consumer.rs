use std::{
    fmt,
    sync::{Arc, Weak, mpsc},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{HoldLimit, Reason, Received};
use claimstream_ports::{Consume, ConsumeError, Delivery, Extended, Hold};
use futures::FutureExt;
use rdkafka::{
    Message,
    consumer::{Consumer, StreamConsumer},
    error::{KafkaError, RDKafkaErrorCode},
    message::BorrowedMessage,
};
use tokio::{runtime::Handle, sync::Mutex};

use super::{KafkaConfig, member::GroupMember, progress::InHand, wire};

/// Consumes a topic of a Kafka cluster as a member of a consumer group, from the beginning of the topic if the group is new.
///
/// The group knows for each partition up to where everything is done. So a record that is finished before an earlier one counts when that
/// one is finished too. The member notes what is done at once and commits it each second, when it loses a partition, and when it is dropped; what was
/// finished and not committed when its process died comes again.
///
/// A delivery that is dropped or given back is handed over again by the same member, before newer records. Records of a partition that goes to
/// another member are given to that one; finishing an earlier delivery of it is an error, and changes nothing.
///
/// A member has to ask for records every `max.poll.interval.ms`, 5 minutes unless the configuration has another setting. While a delivery is held, extending it asks;
/// a record that comes by that is handed over later.
///
/// Records of a partition come in their order, with one member or several.
pub struct KafkaConsumer {
    config: KafkaConfig,
    topic: String,
    group: String,
    consumer: Mutex<Option<Arc<StreamConsumer<GroupMember>>>>,
}

impl KafkaConsumer {
    /// A member of a group that reads a topic; the cluster is not looked at before the first call.
    pub fn new(config: KafkaConfig, topic: &str, group: &str) -> Self {
        Self { config, topic: topic.to_owned(), group: group.to_owned(), consumer: Mutex::default() }
    }

    fn begin(&self) -> Result<StreamConsumer<GroupMember>, ConsumeError> {
        if let Some(fault) = wire::fault_of_topic(&self.topic) {
            return Err(self.refused(format_args!("{:?} is no topic: {fault}", self.topic)));
        }
        let consumer: Result<StreamConsumer<GroupMember>, _> =
            self.config.member(&self.group).create_with_context(GroupMember::default());
        let consumer = consumer.map_err(|error| self.refused(error))?;
        consumer.subscribe(&[&self.topic]).map_err(|error| self.trouble(&error))?;
        Ok(consumer)
    }

    fn trouble(&self, error: &KafkaError) -> ConsumeError {
        match error.rdkafka_error_code() {
            Some(code) if is_final(code) => self.refused(error),
            _ => {
                let why = format_args!("the topic {:?} of {}: {error}", self.topic, self.config);
                ConsumeError::Away(Reason::new(why))
            }
        }
    }

    fn refused(&self, why: impl fmt::Display) -> ConsumeError {
        let Self { config, topic, group, .. } = self;
        ConsumeError::Refused(Reason::new(format_args!(
            "the group {group:?} cannot read the topic {topic:?} of {config}: {why}"
        )))
    }

    fn delivery(
        &self,
        consumer: &Arc<StreamConsumer<GroupMember>>,
        record: InHand,
        received: Received,
    ) -> Delivery {
        let kept = Some(received.clone());
        let (consumer, topic, limit) =
            (Arc::downgrade(consumer), self.topic.clone(), self.config.poll_interval());
        let hold = RecordHold { consumer, topic, record, kept, limit };
        Delivery::new(received, 0, Box::new(hold))
    }
}

/// The next record, or the last fault that the client has met so far.
///
/// It notes one for each broker and each attempt to connect. If each were an answer, a caller that pauses after an error would still get those
/// of an outage long after its end.
async fn receive(consumer: &StreamConsumer<GroupMember>) -> Result<BorrowedMessage<'_>, KafkaError> {
    let mut given = consumer.recv().await;
    while given.as_ref().is_err_and(passes)
        && let Some(next) = consumer.recv().now_or_never()
    {
        given = next;
    }
    given
}

fn passes(error: &KafkaError) -> bool {
    !matches!(error, KafkaError::MessageConsumptionFatal(_))
        && !error.rdkafka_error_code().is_some_and(is_final)
}

/// Whether the cluster repeats this error until an operator changes something.
fn is_final(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::UnknownTopic
            | Code::UnknownTopicOrPartition
            | Code::InvalidTopic
            | Code::TopicAuthorizationFailed
            | Code::GroupAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::SaslAuthenticationFailed
            | Code::Authentication
            | Code::InvalidGroupId
            | Code::InconsistentGroupProtocol
    )
}

#[async_trait]
impl Consume for KafkaConsumer {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let mut known = self.consumer.lock().await;
        let consumer = match &*known {
            Some(consumer) => Arc::clone(consumer),
            None => Arc::clone(known.insert(Arc::new(self.begin()?))),
        };
        let member = consumer.client().context();
        loop {
            if let Some((record, received)) = member.again() {
                return Ok(self.delivery(&consumer, record, received));
            }
            let given = tokio::select! {
                given = receive(&consumer) => given,
                () = member.until_given_back() => continue,
            };
            match given {
                Ok(given) => {
                    let record = member.take(given.partition(), given.offset());
                    return Ok(self.delivery(&consumer, record, wire::received(&given)));
                }
                Err(error) => {
                    // Such a client does nothing more.
                    if matches!(error, KafkaError::MessageConsumptionFatal(_)) {
                        *known = None;
                        leave(consumer);
                    }
                    return Err(self.trouble(&error));
                }
            }
        }
    }
}

impl Drop for KafkaConsumer {
    fn drop(&mut self) {
        self.consumer.get_mut().take().into_iter().for_each(leave);
    }
}

/// Leaves the group.
///
/// The client waits for a cluster that is away as long as a session lasts, and sometimes for ever. So a thread of its own waits, and a runtime that
/// ends only for a while; a member that has not left by then loses its partitions when its session ends.
fn leave(consumer: Arc<StreamConsumer<GroupMember>>) {
    let (left, leaving) = mpsc::channel();
    let leave = move || {
        drop(consumer);
        let _ = left.send(());
    };
    // Where there can be no thread, it is dropped here.
    let _ = thread::Builder::new().name("kafka-leave".to_owned()).spawn(leave);
    let wait = move || {
        let _ = leaving.recv_timeout(KafkaConfig::TIMEOUT);
    };
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(wait)),
        Err(_) => wait(),
    }
}

struct RecordHold {
    consumer: Weak<StreamConsumer<GroupMember>>,
    topic: String,
    record: InHand,
    /// Until the record is finished.
    kept: Option<Received>,
    limit: Duration,
}

#[async_trait]
impl Hold for RecordHold {
    fn limit(&self) -> HoldLimit {
        HoldLimit::Extendable(self.limit)
    }

    async fn extend(&self) -> Result<Extended, ConsumeError> {
        let Some(consumer) = self.consumer.upgrade() else { return Ok(Extended::Lost) };
        let member = consumer.client().context();
        // The client looks at the time of the last call alone. Faults that it gives are those of `next` as well.
        if let Some(Ok(given)) = consumer.recv().now_or_never() {
            let record = member.take(given.partition(), given.offset());
            member.give_back(record, wire::received(&given));
        }
        let is_held = !consumer.assignment_lost() && member.has(self.record);
        release(consumer);
        Ok(if is_held { Extended::Held } else { Extended::Lost })
    }

    async fn finish(mut self: Box<Self>) -> Result<(), ConsumeError> {
        self.kept = None;
        let is_noted = self.consumer.upgrade().is_some_and(|consumer| {
            let noted = consumer.client().context().finish(&consumer, &self.topic, self.record);
            release(consumer);
            noted
        });
        if is_noted { Ok(()) } else { Err(gone(&self.topic, self.record)) }
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        Ok(())
    }
}

/// Leaves the group if the consumer was dropped meanwhile.
fn release(consumer: Arc<StreamConsumer<GroupMember>>) {
    if let Some(last) = Arc::into_inner(consumer) {
        leave(Arc::new(last));
    }
}

fn gone(topic: &str, record: InHand) -> ConsumeError {
    ConsumeError::Away(Reason::new(format_args!(
        "partition {} of the topic {topic:?} has gone to another member, and its message {} comes again there",
        record.partition, record.offset
    )))
}

impl Drop for RecordHold {
    fn drop(&mut self) {
        if let (Some(received), Some(consumer)) = (self.kept.take(), self.consumer.upgrade()) {
            consumer.client().context().give_back(self.record, received);
            release(consumer);
        }
    }
}

impl fmt::Debug for KafkaConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("KafkaConsumer");
        shown.field("config", &self.config).field("topic", &self.topic).field("group", &self.group);
        shown.finish_non_exhaustive()
    }
}
