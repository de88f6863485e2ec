//! What every consumer owes, whatever its broker is.
//! Promise: RabbitMQ, NATS, Redis Streams: a consumer receives everything that was published with a body, in
//! the order of the broker, and receives again what was not finished

use claimstream_domain::{OrderingKey, Payload, Publication, Published};
use claimstream_ports::{Consume, Publish};

use crate::{
    cut_off::cut_off,
    load::{numbered, publication},
};

async fn publish(publisher: &dyn Publish, publications: &[Publication]) {
    let answers = publisher.publish(publications).await;
    assert!(answers.iter().all(|answer| *answer == Published::Confirmed), "{answers:?}");
}

/// What was published arrives with its key, its content type and its headers.
pub(crate) async fn everything_comes(publisher: &dyn Publish, consumer: &dyn Consume, place: &str) {
    let mut sent = publication(place, "");
    sent.body = Payload::json(r#"{"total":12}"#);
    sent.key = OrderingKey::new("customer 7/ü").ok();
    sent.attributes = vec![("source".into(), "/shop".into()), ("type".into(), "order placed".into())];
    sent.headers.insert("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    publish(publisher, std::slice::from_ref(&sent)).await;
    let delivery = consumer.next().await.unwrap();
    let received = &delivery.received;
    // Headers of NATS have no order.
    let mut attributes = received.attributes.clone();
    attributes.sort();
    assert_eq!((received.id.as_str(), received.place.as_str()), (sent.id.to_string().as_str(), place));
    assert_eq!((&received.key, &attributes), (&sent.key, &sent.attributes));
    assert_eq!((&received.headers, &received.body), (&sent.headers, &sent.body));
    assert_eq!(delivery.times, 1);
    delivery.finish().await.unwrap();
}

/// What is given back comes again, and what is finished does not: `unfinished` says how many messages the broker counts as given and not
/// finished, and `time_passes` lets the consumer look for those that were given back.
pub(crate) async fn unfinished_comes_again(
    publisher: &dyn Publish,
    consumer: &dyn Consume,
    place: &str,
    time_passes: impl FnOnce(),
    unfinished: impl AsyncFn() -> u64,
) {
    publish(publisher, &[publication(place, "x")]).await;
    let first = consumer.next().await.unwrap();
    let id = first.received.id.clone();
    first.give_back().await.unwrap();
    time_passes();
    let again = consumer.next().await.unwrap();
    assert_eq!(again.received.id, id);
    again.finish().await.unwrap();
    assert_eq!(unfinished().await, 0, "it was finished");
    let next = [publication(place, "y")];
    publish(publisher, &next).await;
    let delivery = consumer.next().await.unwrap();
    assert_eq!(delivery.received.id, next[0].id.to_string());
    delivery.finish().await.unwrap();
}

/// Messages come in the order in which the broker keeps them, and calls that are dropped lose none.
pub(crate) async fn order_holds(publisher: &dyn Publish, consumer: &dyn Consume, place: &str) {
    // It is connected before calls are dropped.
    publish(publisher, &[publication(place, "x")]).await;
    consumer.next().await.unwrap().finish().await.unwrap();
    assert!(cut_off(1, consumer.next()).await.is_none(), "nothing is there");
    let sent: Vec<_> = (0..250).map(|number| numbered(place, number)).collect();
    publish(publisher, &sent).await;
    let mut read = Vec::new();
    while read.len() < sent.len() {
        if let Some(delivery) = cut_off(1, consumer.next()).await {
            let delivery = delivery.unwrap();
            read.push((delivery.received.id.clone(), delivery.received.body.bytes().to_vec()));
            delivery.finish().await.unwrap();
        }
    }
    let findings = crate::load::Findings::of(&sent, &read);
    assert_eq!((findings.lost, findings.repeated, findings.out_of_order), (0, 0, 0));
}
