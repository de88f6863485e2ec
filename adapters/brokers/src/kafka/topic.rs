use std::{sync::Arc, time::Duration};

use claimstream_ports::Timer;
use rdkafka::{
    error::RDKafkaErrorCode,
    producer::{FutureProducer, Producer},
    types::RDKafkaRespErr,
};

/// What a cluster says of a topic that its client does not know, or may not write to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TopicStatus {
    /// There is such a topic; the client knows it now.
    There,
    /// There is none, as the cluster has said all the time.
    Missing,
    /// The cluster did not say.
    Unknown(String),
}

/// How long until the cluster is asked once more.
const PAUSE: Duration = Duration::from_millis(200);

/// Asks until the cluster has said for as long as `timeout` that there is no such topic, or says that there is.
///
/// One answer says little: a broker that has just started does not know all topics, and the client remembers it for minutes.
pub(super) async fn ask(
    producer: &FutureProducer,
    topic: &str,
    timeout: Duration,
    timer: &Arc<dyn Timer>,
) -> TopicStatus {
    let until = timer.now() + timeout;
    loop {
        let (client, name) = (producer.clone(), topic.to_owned());
        let left = until.saturating_sub(timer.now()).max(PAUSE);
        let fetch = move || client.client().fetch_metadata(Some(&name), left);
        let metadata = match tokio::task::spawn_blocking(fetch).await {
            Ok(Ok(metadata)) => metadata,
            Ok(Err(error)) => return TopicStatus::Unknown(error.to_string()),
            Err(ended) => return TopicStatus::Unknown(ended.to_string()),
        };
        let found = metadata.topics().iter().find(|it| it.name() == topic);
        match found.map(|it| it.error()) {
            Some(None) => return TopicStatus::There,
            Some(Some(other)) if !is_missing(other) => {
                return TopicStatus::Unknown(RDKafkaErrorCode::from(other).to_string());
            }
            None | Some(Some(_)) if timer.now() + PAUSE >= until => return TopicStatus::Missing,
            None | Some(Some(_)) => timer.sleep(PAUSE).await,
        }
    }
}

fn is_missing(error: RDKafkaRespErr) -> bool {
    matches!(
        error,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
            | RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION
    )
}
