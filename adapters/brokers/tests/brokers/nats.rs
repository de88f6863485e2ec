//! Consuming from NATS JetStream; publishing has trials of its own.

use std::num::NonZeroU32;

use async_nats::jetstream::{self, stream};
use claimstream_brokers::nats::{NatsConsumer, NatsPlace, NatsPublisher};
use claimstream_ports::Consume;
use claimstream_ports::ConsumeError;
use claimstream_testbed::known_broker;
use libtest_mimic::Trial;

use crate::{contract, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let url = known_broker("nats", "consuming from NATS");
    let is_here = url.is_some();
    let url = url.unwrap_or_default();
    let [one, two, three, four, five] = [(); 5].map(|()| url.clone());
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
