//! What operators see.

use std::time::Duration;

use claimstream::{RelayConfig, Timer, Verdict, handler_fn};

use crate::{
    batch_actor::{Act, Actor},
    log::Log,
    play::{Answer, Bench, Play},
};

#[test]
fn every_verb_has_a_span_of_a_stable_name_and_no_payload_is_traced() {
    let log = Log::of_this_thread();
    use_every_verb();
    let noted = log.noted();
    let spans: Vec<_> = noted.spans.iter().map(String::as_str).collect();
    assert_eq!(
        spans,
        [
            "claim(queue claim asked)",
            "close(queue)",
            "handle(queue message_id attempt traceparent)",
            "handle_batch(queue count)",
            "renew(queue count lost)",
            "settle(queue count)",
        ]
    );
    assert!(noted.values.contains("class=never_ended"), "a dead letter is not traced with its class");
    assert!(noted.values.contains("attempt=30") && noted.values.contains("settled=Accepted"));
    assert!(!noted.values.contains(SECRET), "a payload was traced");
}

/// What stands in every payload, and in the reasons made of it.
const SECRET: &str = "secret";

fn use_every_verb() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 1, 30])]), Bench::default());
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let timer = timer.clone();
        async move {
            timer.sleep(Duration::from_secs(15)).await;
            let payload = String::from_utf8_lossy(claimed.message.payload.bytes());
            assert!(payload.contains(SECRET));
            Verdict::nack(payload)
        }
    });
    let (relay, timer) = (play.relay(RelayConfig::default()), play.timer.clone());
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move { timer.sleep(Duration::from_secs(20)).await }));
    assert_eq!(bench.finish(&play.timer, task).unwrap().nacked, 2);
    play.stage().answers.push_back(Answer::Messages(vec![1, 1]));
    let actor = Actor::new(&play.timer, |_, _| Act::Give(Verdict::ack()));
    let (pipeline, timer) = (relay.batch_pipeline("orders", actor).unwrap(), play.timer.clone());
    let task = bench.start(pipeline.run_until(async move { timer.sleep(Duration::from_secs(20)).await }));
    assert_eq!(bench.finish(&play.timer, task).unwrap().acked, 2);
    let task = bench.start(relay.claims("orders").unwrap().close());
    assert_eq!(bench.finish(&play.timer, task).unwrap(), 0);
}
