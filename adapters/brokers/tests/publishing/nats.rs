use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    self, Context,
    consumer::{AckPolicy, pull},
    stream::{Config, DiscardPolicy, Stream},
};
use claimstream_brokers::nats::{NatsConfig, NatsPublisher};
use claimstream_ports::{Publish, mock::HandTimer};
use claimstream_testbed::{PrivateBroker, known_broker};
use futures::StreamExt;

use crate::{
    load::{Entry, Load},
    publication::{absence, all_are_confirmed, doubt, fresh, heavy, obstacle, publication, refusal},
};

const NATS: &str = "nats";

/// A publisher whose time stands still.
fn publisher(url: &str) -> NatsPublisher {
    publisher_by(&HandTimer::default(), url)
}

fn publisher_by(timer: &HandTimer, url: &str) -> NatsPublisher {
    NatsPublisher::new(NatsConfig::new(url).unwrap().with_timer(Arc::new(timer.clone())))
}

async fn context(url: &str) -> Context {
    jetstream::new(async_nats::connect(url).await.unwrap())
}

/// A stream of its own; its name is also the subject.
async fn fresh_stream(context: &Context, config: Config) -> (String, Stream) {
    let name = fresh("test");
    let config = Config { name: name.clone(), subjects: vec![name.clone(), format!("{name}.>")], ..config };
    let stream = context.create_stream(config).await.unwrap();
    (name, stream)
}

async fn messages(stream: &mut Stream) -> u64 {
    stream.info().await.unwrap().state.messages
}

/// Everything that a stream holds, in its order.
async fn held(stream: &mut Stream) -> Vec<Entry> {
    let many = usize::try_from(messages(stream).await).unwrap();
    let config = pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() };
    let consumer = stream.create_consumer(config).await.unwrap();
    let all = consumer.messages().await.unwrap().take(many);
    let entry = |message: Result<jetstream::Message, _>| {
        let message = message.map_err(|e| format!("{e:?}")).unwrap();
        let headers = message.headers.as_ref().unwrap();
        let header = |name: &str| headers.get(name).map(|value| value.to_string()).unwrap_or_default();
        (header("claimstream-id"), header("claimstream-key"))
    };
    all.map(entry).collect().await
}

#[tokio::test]
async fn a_message_is_confirmed_and_known_when_it_is_sent_again() {
    let Some(url) = known_broker(NATS, "publishing to NATS") else { return };
    let context = context(&url).await;
    let (name, mut stream) = fresh_stream(&context, Config::default()).await;
    let place = format!("{name}.eu");
    let batch: Vec<_> = (0..250).map(|number| publication(&place, None, number)).collect();
    let nats = publisher(&url);
    assert_eq!(nats.reach().await, Ok(()));
    for _ in 0..2 {
        assert!(all_are_confirmed(&nats.publish(&batch).await));
        assert_eq!(messages(&mut stream).await, 250);
    }
    let first = stream.get_raw_message(1).await.unwrap();
    let header = |name: &str| first.headers.get(name).map(|value| value.as_str().to_owned());
    assert_eq!((first.subject.as_str(), &first.payload[..]), (place.as_str(), batch[0].body.bytes()));
    assert_eq!(header("claimstream-id"), Some(batch[0].id.to_string()));
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    assert_eq!(header("ce-type").as_deref(), Some("order%20paid"));
    assert_eq!(header("region").as_deref(), Some("eu"));
    assert_eq!(header("claimstream-key"), None);
}

#[tokio::test]
async fn what_no_stream_takes_is_refused_and_the_others_are_not() {
    let Some(url) = known_broker(NATS, "unroutable messages of NATS") else { return };
    let context = context(&url).await;
    let (name, mut stream) = fresh_stream(&context, Config::default()).await;
    let nowhere = fresh("nowhere");
    let batch = [&name, &nowhere, &format!("{name}.*"), &name].map(|place| publication(place, None, 1));
    let answers = publisher(&url).publish(&batch).await;
    assert_eq!(absence(&answers[1]), format!("no stream takes the subject {nowhere}"));
    assert!(refusal(&answers[2]).contains("it has a wildcard"));
    assert!(all_are_confirmed(&[answers[0].clone(), answers[3].clone()]));
    assert_eq!(messages(&mut stream).await, 2);
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_a_full_stream_is_waited_for() {
    let Some(url) = known_broker(NATS, "large messages of NATS") else { return };
    let context = context(&url).await;
    let (name, _) = fresh_stream(&context, Config { max_message_size: 5_000, ..Config::default() }).await;
    let batch = [1_500_000, 100_000, 100].map(|bytes| heavy(&name, bytes));
    let answers = publisher(&url).publish(&batch).await;
    assert!(refusal(&answers[0]).contains("larger than the server takes"));
    assert!(refusal(&answers[1]).contains("the stream will never take the message"), "{answers:?}");
    assert!(all_are_confirmed(&answers[2..]));
    let full = Config { max_messages: 2, discard: DiscardPolicy::New, ..Config::default() };
    let (name, _) = fresh_stream(&context, full).await;
    let batch = [1, 2, 3].map(|number| publication(&name, None, number));
    let answers = publisher(&url).publish(&batch).await;
    assert!(all_are_confirmed(&answers[..2]));
    assert!(absence(&answers[2]).contains("maximum messages exceeded"), "{answers:?}");
}

#[tokio::test]
async fn messages_of_a_key_are_stored_in_the_order_of_the_call() {
    let Some(url) = known_broker(NATS, "the order of keys at NATS") else { return };
    let context = context(&url).await;
    let (name, mut stream) = fresh_stream(&context, Config::default()).await;
    let load = Load::of(&name, 300, 3);
    load.publish(&publisher(&url)).await;
    assert_eq!(load.check(&held(&mut stream).await), 0);
}

/// A subscriber of the silent subject never answers, so a message there takes the whole time of its round.
/// Guard: each round of a call to NATS has a deadline of its own | src/nats/publisher.rs: `until` of the call
#[tokio::test]
async fn a_silent_subject_holds_up_no_message_behind_another_one() {
    let Some(url) = known_broker(NATS, "silent subjects of NATS") else { return };
    let client = async_nats::connect(&url).await.unwrap();
    let silent = fresh("silent");
    let mut listens = client.subscribe(silent.clone()).await.unwrap();
    client.flush().await.unwrap();
    let (name, mut stream) = fresh_stream(&jetstream::new(client), Config::default()).await;
    let batch = [
        publication(&name, Some("b"), 0),
        publication(&silent, Some("a"), 1),
        publication(&name, Some("b"), 2),
        publication(&name, Some("a"), 3),
    ];
    let timer = HandTimer::default();
    let nats = publisher_by(&timer, &url);
    let round_ends = async {
        listens.next().await.unwrap();
        all_answers_are_there(&nats, &name).await;
        timer.advance(NatsPublisher::TIMEOUT);
    };
    let (answers, ()) = tokio::join!(nats.publish(&batch), round_ends);
    assert!(!doubt(&answers[1]).is_empty());
    assert!(all_are_confirmed(&[answers[0].clone(), answers[2].clone()]), "{answers:?}");
    assert!(obstacle(&answers[3]).contains("another message of its key"), "{answers:?}");
    assert_eq!(messages(&mut stream).await, 3, "one of them is of this test itself");
}

/// The answer to one message more comes on the same connection, behind those to all that were sent before.
async fn all_answers_are_there(nats: &NatsPublisher, name: &str) {
    assert!(all_are_confirmed(&nats.publish(&[publication(name, None, 99)]).await));
}

/// Key number n has n messages that the stream takes, and then one to the silent subject: each round takes its whole time.
#[tokio::test]
async fn a_call_ends_though_each_of_its_rounds_is_slow() {
    let Some(url) = known_broker(NATS, "long calls of NATS") else { return };
    let client = async_nats::connect(&url).await.unwrap();
    let silent = fresh("silent");
    let mut listens = client.subscribe(silent.clone()).await.unwrap();
    client.flush().await.unwrap();
    let (name, _stream) = fresh_stream(&jetstream::new(client), Config::default()).await;
    let mut batch = Vec::new();
    // The silent one of a round is sent behind the others.
    for key in (0..9).rev() {
        let of_key = |place: &str| publication(place, Some(&format!("k{key}")), key);
        batch.extend((0..key).map(|_| of_key(&name)));
        batch.push(of_key(&silent));
    }
    let (timer, rounds) = (HandTimer::default(), Cell::new(0));
    let nats = publisher_by(&timer, &url);
    let rounds_end = async {
        while listens.next().await.is_some() {
            all_answers_are_there(&nats, &name).await;
            timer.advance(NatsPublisher::TIMEOUT);
            rounds.set(rounds.get() + 1);
        }
    };
    let answers = tokio::select! {
        answers = nats.publish(&batch) => answers,
        () = rounds_end => panic!("the subscription has ended"),
    };
    assert_eq!(rounds.get(), 5, "a call sends for 20 s, and a round takes 4 s");
    assert!(obstacle(&answers[8]).contains("took too long"), "{answers:?}");
}

/// The client allows 5,000 messages without an answer by default, and a call reads no answer before all of its own are sent.
/// Guard: many messages of NATS may wait for answers | src/nats/client.rs: no `max_ack_inflight`
#[tokio::test]
async fn calls_do_not_wait_for_each_other_with_many_messages_on_the_way() {
    let Some(url) = known_broker(NATS, "many messages of NATS") else { return };
    let (name, mut stream) = fresh_stream(&context(&url).await, Config::default()).await;
    let batch: Vec<_> = (0..6_000).map(|n| publication(&name, None, n)).collect();
    assert!(all_are_confirmed(&publisher(&url).publish(&batch).await));
    assert_eq!(messages(&mut stream).await, 6_000);
}

/// The time of the publisher stands still, so it cannot have waited.
#[tokio::test]
async fn a_broker_that_is_not_there_confirms_nothing_and_takes_no_time() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let batch = [1, 2].map(|number| publication("orders", None, number));
    let answers = publisher(&format!("nats://app:hunter2@127.0.0.1:{port}")).publish(&batch).await;
    for answer in &answers {
        assert!(
            obstacle(answer).starts_with(&format!("nats://127.0.0.1:{port} cannot be reached")),
            "{answer:?}"
        );
    }
    assert_eq!(answers.len(), 2);
}

/// Promise: kills of the broker lose nothing, and repetitions aside each key keeps its order
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn kills_of_the_broker_lose_nothing_and_keep_the_order_of_keys() {
    let Some(broker) = PrivateBroker::start_if_known(NATS, "kills of NATS") else { return };
    let context = context(broker.url()).await;
    let (name, _) = fresh_stream(&context, Config::default()).await;
    let (load, nats) =
        (Load::of(&name, 30_000, 200), NatsPublisher::new(NatsConfig::new(broker.url()).unwrap()));
    let (kills, mut longest) = (6, Duration::ZERO);
    let killing = async {
        for kill in 1..=kills {
            load.confirmed(kill * 4_000).await;
            let killed = tokio::task::block_in_place(|| {
                broker.kill();
                let killed = Instant::now();
                broker.start_again();
                killed
            });
            load.confirmed(kill * 4_000 + 1_000).await;
            longest = longest.max(killed.elapsed());
        }
    };
    tokio::join!(load.publish(&nats), killing);
    let mut stream = context.get_stream(&name).await.unwrap();
    let doubled = load.check(&held(&mut stream).await);
    println!(
        "NATS: {kills} kills, 30000 messages, 0 lost, {doubled} doubled, at most {longest:?} from a kill to 1000 more"
    );
}
