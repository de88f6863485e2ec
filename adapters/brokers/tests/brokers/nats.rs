//! Consuming from NATS JetStream; publishing has trials of its own.

use std::{num::NonZeroU32, time::Duration};

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, FromConsumer, IntoConsumerConfig, pull, push},
    stream,
};
use claimstream_brokers::nats::{NatsConsumer, NatsPlace, NatsPublisher};
use claimstream_ports::{Consume, ConsumeError, Publish};
use claimstream_testbed::known_broker;
use libtest_mimic::Trial;
use tokio::time::{sleep, timeout};

use crate::{contract, load::publication, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let url = known_broker("nats", "consuming from NATS");
    let is_here = url.is_some();
    let url = url.unwrap_or_default();
    let [one, two, three, four, five, six, seven] = [(); 7].map(|()| url.clone());
    vec![
        trial("nats::everything_that_was_published_comes", is_here, move || async move {
            let (publisher, consumer, subject) = fresh(one).await;
            contract::everything_comes(&publisher, &consumer, &subject).await;
        }),
        trial("nats::what_is_not_finished_comes_again", is_here, move || async move {
            let (publisher, consumer, subject) = fresh(two).await;
            contract::unfinished_comes_again(&publisher, &consumer, &subject).await;
        }),
        trial("nats::messages_come_in_the_order_of_their_stream", is_here, move || async move {
            let (publisher, consumer, subject) = fresh(three).await;
            contract::order_holds(&publisher, &consumer, &subject).await;
        }),
        trial("nats::one_at_a_time_is_given_where_that_is_asked_for", is_here, move || async move {
            let (publisher, consumer, subject) = fresh(five).await;
            contract::one_waits_for_the_other(&publisher, &consumer.at_most(NonZeroU32::MIN), &subject).await;
        }),
        trial("nats::a_missing_stream_is_refused_by_its_name", is_here, move || async move {
            let consumer = NatsConsumer::new(NatsPlace::new(&four).unwrap(), "not-there", "shipping");
            let refused = consumer.next().await.unwrap_err();
            assert!(
                matches!(&refused, ConsumeError::Refused(why) if why.as_str().contains("not-there")),
                "{refused}"
            );
        }),
        trial("nats::slow_effects_do_not_make_messages_come_again", is_here, move || async move {
            slow_effects(six).await;
        }),
        trial("nats::a_consumer_that_would_lose_messages_is_refused", is_here, move || async move {
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
    let place = NatsPlace::new(&url).unwrap();
    (NatsPublisher::new(place.clone()), NatsConsumer::new(place, &name, "shipping"), subject)
}

/// Makes a consumer of the trial itself on the stream that takes this subject.
async fn make<C: IntoConsumerConfig + FromConsumer>(url: &str, subject: &str, config: C) {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = subject.trim_end_matches(".orders");
    context.get_stream(stream).await.unwrap().create_consumer(config).await.unwrap();
}

/// All effects together take longer than the server waits, and none does by itself.
async fn slow_effects(url: String) {
    const MESSAGES: usize = 60;
    let (publisher, consumer, subject) = fresh(url.clone()).await;
    let config = pull::Config {
        durable_name: Some("shipping".to_owned()),
        ack_wait: Duration::from_secs(10),
        ..pull::Config::default()
    };
    make(&url, &subject, config).await;
    publisher.publish(&[(); MESSAGES].map(|()| publication(&subject, "x"))).await;
    let mut given = 0;
    loop {
        let patience = Duration::from_secs(if given < MESSAGES { 30 } else { 1 });
        let Ok(delivery) = timeout(patience, consumer.next()).await else { break };
        sleep(Duration::from_millis(200)).await;
        delivery.unwrap().finish().await.unwrap();
        given += 1;
    }
    assert_eq!(given, MESSAGES, "some came again while they waited to be handled");
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
        let place = NatsPlace::new(&url).unwrap();
        let consumer = NatsConsumer::new(place, subject.trim_end_matches(".orders"), consumer);
        let refused = timeout(Duration::from_secs(30), consumer.next()).await.unwrap().unwrap_err();
        assert!(matches!(&refused, ConsumeError::Refused(said) if said.as_str().contains(why)), "{refused}");
    }
}
