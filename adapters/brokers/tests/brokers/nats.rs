//! Consuming from NATS JetStream; publishing has trials of its own.
//! Promise: NATS: effects that are slow together, but not each, do not make messages come again; a consumer
//! that another program made and that would lose messages is refused

use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc};

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, FromConsumer, Info, IntoConsumerConfig, pull, push},
    stream,
};
use claimstream_brokers::nats::{NatsConsumer, NatsPlace, NatsPublisher};
use claimstream_domain::Published;
use claimstream_ports::{Consume, ConsumeError, Publish, mock::HandTimer};
use claimstream_testbed::known_broker;
use futures::FutureExt;
use libtest_mimic::Trial;

use crate::{contract, load::publication, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let Some(url) = known_broker("nats", "consuming from NATS") else { return Vec::new() };
    let [one, two, three, four, five, six, seven] = [(); 7].map(|()| url.clone());
    vec![
        trial("nats::everything_that_was_published_comes", move || async move {
            let (publisher, consumer, subject) = fresh(one).await;
            contract::everything_comes(&publisher, &consumer, &subject).await;
        }),
        trial("nats::what_is_not_finished_comes_again", move || async move {
            let (publisher, consumer, subject) = fresh(two.clone()).await;
            let unfinished = async || standing(&two, &subject).await.num_ack_pending as u64;
            contract::unfinished_comes_again(&publisher, &consumer, &subject, || {}, unfinished).await;
        }),
        trial("nats::messages_come_in_the_order_of_their_stream", move || async move {
            let (publisher, consumer, subject) = fresh(three).await;
            contract::order_holds(&publisher, &consumer, &subject).await;
        }),
        trial("nats::one_at_a_time_is_given_where_that_is_asked_for", move || async move {
            one_at_a_time(five).await;
        }),
        trial("nats::a_missing_stream_is_refused_by_its_name", move || async move {
            let consumer = NatsConsumer::new(place(&four), "not-there", "shipping");
            let refused = consumer.next().await.unwrap_err();
            assert!(
                matches!(&refused, ConsumeError::Refused(why) if why.as_str().contains("not-there")),
                "{refused}"
            );
        }),
        // Guard: few messages are fetched at once | src/nats/consumer.rs: `PREFETCH` is 200
        trial("nats::slow_effects_do_not_make_messages_come_again", move || async move {
            slow_effects(six).await;
        }),
        // Guard: a consumer that would lose messages is refused | src/nats/consumer.rs `begin`: no `loss_by`
        trial("nats::a_consumer_that_would_lose_messages_is_refused", move || async move {
            unsuited(seven).await;
        }),
    ]
}

/// A stream of its own, and who publishes to it and consumes from it.
async fn fresh(url: String) -> (NatsPublisher, NatsConsumer, String) {
    let name = format!("trial-{}", uuid::Uuid::now_v7());
    let subject = format!("{name}.orders");
    let context = jetstream::new(async_nats::connect(&url).await.unwrap());
    let config =
        stream::Config { name: name.clone(), subjects: vec![subject.clone()], ..stream::Config::default() };
    context.create_stream(config).await.unwrap();
    let place = place(&url);
    (NatsPublisher::new(place.clone()), NatsConsumer::new(place, &name, "shipping"), subject)
}

/// A place whose limits are of a timer that stands still.
fn place(url: &str) -> NatsPlace {
    NatsPlace::new(url).unwrap().with_timer(Arc::new(HandTimer::default()))
}

/// What the server says of the consumer on the stream that takes this subject.
async fn standing(url: &str, subject: &str) -> Info {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = context.get_stream(subject.trim_end_matches(".orders")).await.unwrap();
    stream.consumer_info("shipping").await.unwrap()
}

/// A message comes when the one before it is finished, and not while that is held.
async fn one_at_a_time(url: String) {
    let (publisher, consumer, subject) = fresh(url.clone()).await;
    let consumer = consumer.at_most(NonZeroU32::MIN);
    let both = [publication(&subject, "x"), publication(&subject, "y")];
    assert!(publisher.publish(&both).await.iter().all(|answer| *answer == Published::Confirmed));
    let first = consumer.next().await.unwrap();
    let info = standing(&url, &subject).await;
    assert_eq!((info.num_ack_pending, info.num_pending), (1, 1), "the first is held");
    assert!(consumer.next().now_or_never().is_none());
    first.finish().await.unwrap();
    let second = consumer.next().await.unwrap();
    assert_eq!(second.received.id, both[1].id.to_string());
    second.finish().await.unwrap();
}

/// Makes a consumer of the trial itself on the stream that takes this subject.
async fn make<C: IntoConsumerConfig + FromConsumer>(url: &str, subject: &str, config: C) {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = subject.trim_end_matches(".orders");
    context.get_stream(stream).await.unwrap().create_consumer(config).await.unwrap();
}

/// The server counts the time of a message from when it is given away, so few are given away ahead of their effects, however many there are.
async fn slow_effects(url: String) {
    const MESSAGES: usize = 60;
    let (publisher, consumer, subject) = fresh(url.clone()).await;
    publisher.publish(&[(); MESSAGES].map(|()| publication(&subject, "x"))).await;
    // One and a half times what is fetched together, and the one in hand.
    let (mut given, ahead) = (BTreeSet::new(), usize::from(NatsConsumer::PREFETCH) * 3 / 2 + 1);
    for _ in 0..MESSAGES {
        let delivery = consumer.next().await.unwrap();
        let unfinished = standing(&url, &subject).await.num_ack_pending;
        assert!(unfinished <= ahead, "{unfinished} were given away");
        assert!(delivery.times == 1 && given.insert(delivery.received.id.clone()), "one came again");
        delivery.finish().await.unwrap();
    }
}

async fn unsuited(url: String) {
    let (_, _, subject) = fresh(url.clone()).await;
    let name = |name: &str| Some(name.to_owned());
    let at_most_three =
        pull::Config { durable_name: name("three"), max_deliver: 3, ..pull::Config::default() };
    make(&url, &subject, at_most_three).await;
    let (durable_name, ack_policy) = (name("none"), AckPolicy::None);
    make(&url, &subject, pull::Config { durable_name, ack_policy, ..pull::Config::default() }).await;
    let (durable_name, deliver_subject) = (name("push"), format!("{subject}.push"));
    make(&url, &subject, push::Config { durable_name, deliver_subject, ..push::Config::default() }).await;
    for (consumer, why) in [("three", "max_deliver"), ("none", "acknowledge"), ("push", "push")] {
        let consumer = NatsConsumer::new(place(&url), subject.trim_end_matches(".orders"), consumer);
        let refused = consumer.next().await.unwrap_err();
        assert!(matches!(&refused, ConsumeError::Refused(said) if said.as_str().contains(why)), "{refused}");
    }
}
