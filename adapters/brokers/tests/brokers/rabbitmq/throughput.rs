use std::time::{Duration, Instant};

use claimstream_brokers::rabbitmq::{RabbitMqPlace, RabbitMqPublisher};
use claimstream_domain::Published;
use claimstream_ports::Publish;
use futures::{StreamExt, stream};
use lapin::{
    BasicProperties,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};

use super::queues::Queues;
use crate::load::publication;

const MESSAGES: usize = 5_000;
const BATCH: usize = 100;
const BODY: usize = 256;

/// The client with persistent messages and twice as many outstanding confirmations as a batch has, so that it never pauses.
pub(super) async fn batches_of_a_hundred_beside_the_client_alone(url: String) {
    let queues = Queues::at(&url).await;
    let publisher = RabbitMqPublisher::new(RabbitMqPlace::new(&url).unwrap());
    for (kind, queue) in [("classic", queues.classic().await), ("quorum", queues.quorum().await)] {
        let (mut ours, mut alone) = (Duration::MAX, Duration::MAX);
        for _ in 0..3 {
            alone = alone.min(client_alone(&queues, &queue).await);
            ours = ours.min(batches(&publisher, &queue).await);
        }
        queues.drain(&queue).await;
        let ratio = alone.as_secs_f64() / ours.as_secs_f64();
        let rate = |took: Duration| MESSAGES as f64 / took.as_secs_f64();
        eprintln!(
            "rabbitmq, {kind} queue, batches of {BATCH}: {:.0} messages/s; the client alone {:.0}; ratio {ratio:.2}",
            rate(ours),
            rate(alone)
        );
        // Half is wanted; on a busy machine a run may fall short of it, but not by far.
        assert!(ratio > 0.25, "{ratio:.2} of the client alone");
    }
}

async fn batches(publisher: &RabbitMqPublisher, queue: &str) -> Duration {
    let batches: Vec<Vec<_>> = (0..MESSAGES / BATCH)
        .map(|_| (0..BATCH).map(|_| publication(queue, vec![b'x'; BODY])).collect())
        .collect();
    let begun = Instant::now();
    for batch in &batches {
        let answers = publisher.publish(batch).await;
        assert!(answers.iter().all(|answer| *answer == Published::Confirmed));
    }
    begun.elapsed()
}

async fn client_alone(queues: &Queues, queue: &str) -> Duration {
    queues.channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let body = vec![b'x'; BODY];
    let begun = Instant::now();
    let publish = |_| async {
        let properties = BasicProperties::default().with_delivery_mode(2);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let sent = queues.channel.basic_publish("".into(), queue.into(), options, &body, properties).await;
        assert!(sent.unwrap().await.unwrap().is_ack());
    };
    stream::iter(0..MESSAGES).map(publish).buffer_unordered(2 * BATCH).collect::<Vec<()>>().await;
    begun.elapsed()
}
