use std::time::{Duration, Instant};

use claimstream_domain::Published;
use claimstream_ports::Publish;
use futures::{StreamExt, stream};
use rdkafka::{
    ClientConfig,
    producer::{FutureProducer, FutureRecord},
};

use super::cluster::{Cluster, TOPIC};
use crate::load::publication;

const MESSAGES: usize = 20_000;
const BATCH: usize = 100;
/// How many calls a relay has on the way at once.
const CALLS: usize = 4;
const BODY: usize = 256;

/// The client alone is idempotent, too, and has as many records outstanding.
pub(super) async fn batches_of_a_hundred_compared_with_the_client_alone() {
    let cluster = Cluster::start();
    let (mut ours, mut alone) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        alone = alone.min(client_alone(&cluster).await);
        ours = ours.min(batches(&cluster).await);
    }
    let ratio = alone.as_secs_f64() / ours.as_secs_f64();
    let rate = |took: Duration| MESSAGES as f64 / took.as_secs_f64();
    eprintln!(
        "kafka, batches of {BATCH}: {:.0} messages/s; the client alone {:.0}; ratio {ratio:.2}",
        rate(ours),
        rate(alone)
    );
    // Half is wanted; on a busy machine a run may fall short of it, but not by far.
    assert!(ratio > 0.25, "{ratio:.2} of the client alone");
}

async fn batches(cluster: &Cluster) -> Duration {
    let publisher = cluster.publisher();
    publisher.publish(&[publication(TOPIC, "it connects")]).await;
    let batches: Vec<Vec<_>> = (0..MESSAGES / BATCH)
        .map(|_| (0..BATCH).map(|_| publication(TOPIC, vec![b'x'; BODY])).collect())
        .collect();
    let begun = Instant::now();
    let calls = stream::iter(&batches).map(|batch| publisher.publish(batch)).buffer_unordered(CALLS);
    let answers: Vec<_> = calls.collect().await;
    assert!(answers.iter().flatten().all(|answer| *answer == Published::Confirmed));
    begun.elapsed()
}

async fn client_alone(cluster: &Cluster) -> Duration {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", cluster.0.bootstrap_servers()).set("enable.idempotence", "true");
    let producer: FutureProducer = config.set("linger.ms", "1").create().unwrap();
    let body = vec![b'x'; BODY];
    let send = |_| async {
        let record = FutureRecord::<str, [u8]>::to(TOPIC).payload(&body);
        producer.send_result(record).unwrap().await.unwrap().unwrap();
    };
    send(0).await;
    let begun = Instant::now();
    stream::iter(0..MESSAGES).map(send).buffer_unordered(CALLS * BATCH).collect::<Vec<()>>().await;
    begun.elapsed()
}
