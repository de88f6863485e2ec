//! Consuming from NATS JetStream; publishing has tests of its own.
//! Promise: NATS: effects that are slow together, but not each, do not make messages come again; a consumer
//! that another program made and that would lose messages is refused

use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc, time::Duration};

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, FromConsumer, Info, IntoConsumerConfig, pull, push},
    stream,
};
use claimstream_brokers::nats::{NatsConfig, NatsConsumer, NatsPublisher};
use claimstream_domain::{HoldLimit, Published};
use claimstream_ports::{Consume, ConsumeError, Extended, Publish, mock::HandTimer};
use claimstream_testbed::{PrivateBroker, eventually, known_broker};
use futures::{FutureExt, StreamExt};
use libtest_mimic::Trial;

use crate::{contract, load::publication, test};

pub(crate) fn tests() -> Vec<Trial> {
    let Some(url) = known_broker("nats", "consuming from NATS") else { return Vec::new() };
    let [one, two, three, four, five, six, seven, eight, nine, ten] = [(); 10].map(|()| url.clone());
    vec![
        test("nats::everything_that_was_published_comes", move || async move {
            let (publisher, consumer, subject) = fresh(one).await;
            contract::everything_comes(&publisher, &consumer, &subject).await;
        }),
        test("nats::what_is_not_finished_comes_again", move || async move {
            let (publisher, consumer, subject) = fresh(two.clone()).await;
            let unfinished = async || standing(&two, &subject).await.num_ack_pending as u64;
            contract::unfinished_comes_again(&publisher, &consumer, &subject, || {}, unfinished).await;
        }),
        test("nats::messages_come_in_the_order_of_their_stream", move || async move {
            let (publisher, consumer, subject) = fresh(three).await;
            contract::order_holds(&publisher, &consumer, &subject).await;
        }),
        test("nats::one_at_a_time_is_given_where_that_is_asked_for", move || async move {
            one_at_a_time(five).await;
        }),
        // Guard: messages that were fetched are held as long as the one before them | src/nats/consumer.rs `extend`: no
        // `read_ahead`
        test("nats::a_message_in_hand_is_held_with_those_behind_it", move || async move {
            extended(eight).await;
        }),
        // Guard: messages behind short effects are held | src/nats/consumer.rs `ask`: no `extend_ahead`
        test("nats::what_waits_behind_short_effects_is_held", move || async move {
            behind_short_effects(ten).await;
        }),
        // Guard: a message of a stream that is gone is not said to be finished | src/nats/consumer.rs `finish`:
        // `double_ack`
        test("nats::a_message_whose_stream_is_gone_is_not_finished", move || async move {
            let (publisher, consumer, subject) = fresh(nine.clone()).await;
            publisher.publish(&[publication(&subject, "x")]).await;
            let held = consumer.next().await.unwrap();
            let context = jetstream::new(async_nats::connect(&nine).await.unwrap());
            context.delete_stream(subject.trim_end_matches(".orders")).await.unwrap();
            assert!(matches!(held.finish().await, Err(ConsumeError::Away(_))));
        }),
        // Guard: a call that waits for a message ends with its connection | src/nats/consumer.rs `ask`: no look at `standing`
        test("nats::a_server_that_is_gone_is_an_error_of_a_call_that_waits", || async {
            gone_while_waiting().await
        }),
        test("nats::a_missing_stream_is_refused_by_its_name", move || async move {
            let consumer = NatsConsumer::new(place(&four), "not-there", "shipping");
            let refused = consumer.next().await.unwrap_err();
            assert!(
                matches!(&refused, ConsumeError::Refused(why) if why.as_str().contains("not-there")),
                "{refused}"
            );
        }),
        // Guard: few messages are fetched at once | src/nats/consumer.rs: `PREFETCH` is 200
        test("nats::slow_effects_do_not_make_messages_come_again", move || async move {
            slow_effects(six).await;
        }),
        // Guard: a consumer that would lose messages is refused | src/nats/consumer.rs `begin`: no `loss_by`
        test("nats::a_consumer_that_would_lose_messages_is_refused", move || async move {
            unsuited(seven).await;
        }),
    ]
}

/// A stream of its own, and who publishes to it and consumes from it.
async fn fresh(url: String) -> (NatsPublisher, NatsConsumer, String) {
    let name = format!("test-{}", uuid::Uuid::now_v7());
    let subject = format!("{name}.orders");
    let context = jetstream::new(async_nats::connect(&url).await.unwrap());
    let config =
        stream::Config { name: name.clone(), subjects: vec![subject.clone()], ..stream::Config::default() };
    context.create_stream(config).await.unwrap();
    let place = place(&url);
    (NatsPublisher::new(place.clone()), NatsConsumer::new(place, &name, "shipping"), subject)
}

/// A place whose limits are of a timer that stands still.
fn place(url: &str) -> NatsConfig {
    NatsConfig::new(url).unwrap().with_timer(Arc::new(HandTimer::default()))
}

/// What the server says of the consumer on the stream that takes this subject.
async fn standing(url: &str, subject: &str) -> Info {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = context.get_stream(subject.trim_end_matches(".orders")).await.unwrap();
    stream.consumer_info("shipping").await.unwrap()
}

/// A consumer whose `ack_wait` is short, but not for a machine that is busy: each look of the server at it says what it has given how often.
async fn extended(url: String) {
    let (publisher, _, subject) = fresh(url.clone()).await;
    let (durable_name, ack_wait) = (Some("shipping".to_owned()), Duration::from_secs(2));
    make(&url, &subject, pull::Config { durable_name, ack_wait, ..pull::Config::default() }).await;
    let consumer = NatsConsumer::new(place(&url), subject.trim_end_matches(".orders"), "shipping");
    publisher.publish(&[(); 3].map(|()| publication(&subject, "x"))).await;
    let held = consumer.next().await.unwrap();
    assert_eq!(held.limit(), HoldLimit::Extendable(ack_wait));
    let began = std::time::Instant::now();
    while began.elapsed() < ack_wait * 2 {
        assert_eq!(held.extend().await, Ok(Extended::Held));
        assert_eq!(standing(&url, &subject).await.num_redelivered, 0, "one came again");
    }
    held.finish().await.unwrap();
    for _ in 0..2 {
        let next = consumer.next().await.unwrap();
        assert_eq!(next.times, 1);
        next.finish().await.unwrap();
    }
}

/// No delivery is in hand for long enough to be extended. What the consumer reports of its messages is read from the server.
async fn behind_short_effects(url: String) {
    let (publisher, _, subject) = fresh(url.clone()).await;
    let (stream, timer) = (subject.trim_end_matches(".orders"), HandTimer::default());
    let place = NatsConfig::new(&url).unwrap().with_timer(Arc::new(timer.clone()));
    let consumer = NatsConsumer::new(place, stream, "shipping");
    publisher.publish(&[(); 3].map(|()| publication(&subject, "x"))).await;
    let client = async_nats::connect(&url).await.unwrap();
    let said = client.subscribe("$JS.ACK.>").await.unwrap();
    client.flush().await.unwrap();
    let mut said = said.filter(|said| std::future::ready(said.subject.contains(stream)));
    consumer.next().await.unwrap().finish().await.unwrap();
    timer.advance(NatsConsumer::ACK_WAIT / 3);
    consumer.next().await.unwrap().finish().await.unwrap();
    consumer.next().await.unwrap().finish().await.unwrap();
    let mut words = Vec::new();
    while words.iter().filter(|word| *word == "+ACK").count() < 3 {
        words.push(String::from_utf8(said.next().await.unwrap().payload.to_vec()).unwrap());
    }
    assert_eq!(words, ["+ACK", "+WPI", "+WPI", "+ACK", "+ACK"]);
}

async fn gone_while_waiting() {
    let Some(broker) = PrivateBroker::start_if_known("nats", "a NATS that is gone") else { return };
    let (_, consumer, subject) = fresh(broker.url().to_owned()).await;
    let (context, stream) = (
        jetstream::new(async_nats::connect(broker.url()).await.unwrap()),
        subject.trim_end_matches(".orders"),
    );
    let asks = async || match context.get_stream(stream).await {
        Ok(stream) => stream.consumer_info("shipping").await.is_ok_and(|info| info.num_waiting > 0),
        Err(_) => false,
    };
    let killing = async {
        eventually("the consumer asks for messages", asks).await;
        tokio::task::block_in_place(|| broker.kill());
    };
    let (waited, ()) = tokio::join!(consumer.next(), killing);
    assert!(matches!(waited, Err(ConsumeError::Away(_))));
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

/// Makes a consumer of the test itself on the stream that takes this subject.
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
