//! Promise: a message is finished only when the broker has confirmed it, and one that no broker will ever
//! accept is a dead letter with the reason; an outage of the broker or of one of its places costs no attempt, a
//! message that alone is not confirmed at its place fails one, and later ones of its key fail none

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    ClaimId, Claimed, Headers, InstanceId, Locator, Message, MessageId, Payload, Publication, Published,
    QueueName, Reason, Receipt, RunPlace, Shard, Verdict,
    publishing::{EventMode, Origin, Route},
};
use claimstream_ports::{BatchHandler, Publish, Sleep, Timer, Verdicts};
use futures::{FutureExt, executor::block_on};
use uuid::Uuid;

use crate::{CopyHandler, PublishHandler, pulse::Pulse};

fn claimed(number: u128, region: Option<&str>) -> Claimed {
    let queue = QueueName::new("orders").unwrap();
    let mut headers = Headers::new();
    if let Some(region) = region {
        headers.insert("region", region).unwrap();
    }
    let (id, shard) = (MessageId::new(Uuid::from_u128(number)), Shard::from_number(0));
    let claim = ClaimId::new(InstanceId(1), 1);
    let receipt = Receipt { message: id, queue: queue.clone(), shard, claim, locator: Locator(0) };
    let ordering_key = "account-7".parse().ok();
    let message = Message { id, queue, shard, ordering_key, headers, payload: Payload::json("{}") };
    Claimed { message, receipt, attempt: 1, last_error: None, place: RunPlace::Alone, waited: Duration::ZERO }
}

/// A broker that answers by a script, and notes the numbers of what it was given.
#[derive(Default)]
struct Broker {
    answers: Mutex<VecDeque<Vec<Published>>>,
    calls: Mutex<Vec<Vec<u128>>>,
}

#[async_trait]
impl Publish for Broker {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        let numbers = publications.iter().map(|publication| publication.id.uuid().as_u128());
        self.calls.lock().unwrap().push(numbers.collect());
        let answers = self.answers.lock().unwrap().pop_front();
        answers.unwrap_or_else(|| vec![away(); publications.len()])
    }
}

/// Time that passes when a task waits for it.
#[derive(Default)]
struct HandTimer(Mutex<Duration>);

impl Timer for HandTimer {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        *self.0.lock().unwrap() += duration;
        Box::pin(std::future::ready(()))
    }
}

#[derive(Default)]
struct Given(Mutex<BTreeMap<usize, Verdict>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        assert!(self.0.lock().unwrap().insert(index, verdict).is_none(), "a second verdict on {index}");
    }
}

fn away() -> Published {
    Published::unconfirmed("gone")
}

struct Played {
    verdicts: Vec<Verdict>,
    calls: Vec<Vec<u128>>,
    took: Duration,
}

fn handler(broker: &Arc<Broker>, timer: &Arc<HandTimer>) -> PublishHandler {
    let route = Route { place: "orders.{header:region}".parse().unwrap(), events: EventMode::Plain };
    PublishHandler::new("orders", broker.clone(), route, timer.clone())
}

/// What becomes of a batch, if the broker answers so, and is away afterwards.
fn played(batch: &[Claimed], answers: Vec<Vec<Published>>) -> Played {
    let broker = Arc::new(Broker { answers: Mutex::new(answers.into()), ..Broker::default() });
    let timer = Arc::new(HandTimer::default());
    let given = Given::default();
    block_on(handler(&broker, &timer).handle_batch(batch, &given));
    let verdicts = given.0.into_inner().unwrap().into_values().collect();
    let calls = broker.calls.lock().unwrap().clone();
    Played { verdicts, calls, took: timer.now() }
}

#[test]
fn each_message_ends_as_the_broker_answers() {
    let batch = [claimed(1, Some("eu")), claimed(2, None), claimed(3, Some("us"))];
    let played = played(&batch, vec![vec![Published::Confirmed, Published::refused("too large")]]);
    assert_eq!(played.calls, [[1, 3]]);
    let lacking = "the message has no header \"region\", which its route needs";
    assert_eq!(played.verdicts, [Verdict::ack(), Verdict::bury(lacking), Verdict::bury("too large")]);
}

#[test]
fn an_outage_is_waited_for_in_place_and_costs_no_attempt() {
    let batch = [claimed(1, Some("eu")), claimed(2, Some("eu"))];
    let back =
        vec![vec![away(), away()], vec![away(), away()], vec![Published::Confirmed, Published::Confirmed]];
    let played_back = played(&batch, back);
    assert_eq!(played_back.verdicts, [Verdict::ack(), Verdict::ack()]);
    assert_eq!(played_back.calls, [[1, 2], [1, 2], [1, 2]]);
    let never = played(&batch, Vec::new());
    assert!(
        never.took >= Duration::from_secs(10) && never.took < Duration::from_secs(12),
        "{:?}",
        never.took
    );
    for verdict in never.verdicts {
        let Verdict::Postpone { after, reason } = verdict else { panic!("{verdict:?}") };
        assert!(after >= Duration::from_secs(2) && after <= Duration::from_secs(4), "{after:?}");
        assert_eq!(reason.as_str(), "gone");
    }
}

#[test]
fn what_was_cut_off_behind_a_confirmation_is_sent_again_and_alone() {
    let batch = [claimed(1, Some("eu")), claimed(2, Some("eu"))];
    let played = played(&batch, vec![vec![Published::Confirmed, away()], vec![Published::Confirmed]]);
    assert_eq!(played.calls, [vec![1, 2], vec![2]]);
    assert_eq!(played.verdicts, [Verdict::ack(), Verdict::ack()]);
}

/// The verdicts on a batch whose broker confirms a message at the place of `region` while the batch waits to be sent again, and confirms
/// nothing of the batch itself.
fn judged_while_others_are_confirmed(region: &'static str, batch: &[Claimed]) -> BTreeMap<usize, Verdict> {
    judged_with_others(region, batch, away())
}

/// The same, if `last` is what becomes of each message of the batch when it is sent again.
fn judged_with_others(region: &'static str, batch: &[Claimed], last: Published) -> BTreeMap<usize, Verdict> {
    let (broker, timer) = (Arc::new(Broker::default()), Arc::new(BusyTimer::default()));
    let route = Route { place: "orders.{header:region}".parse().unwrap(), events: EventMode::Plain };
    let handler = Arc::new(PublishHandler::new("orders", broker.clone(), route, timer.clone()));
    let (other, answers) = (Arc::clone(&handler), Arc::clone(&broker));
    *timer.meanwhile.lock().unwrap() = Some(Box::new(move || {
        let both = [vec![Published::Confirmed], vec![last; 3]];
        answers.answers.lock().unwrap().extend(both);
        let batch = [claimed(9, Some(region))];
        other.handle_batch(&batch, &Given::default()).now_or_never().unwrap();
    }));
    let given = Given::default();
    block_on(handler.handle_batch(batch, &given));
    assert_eq!(*broker.calls.lock().unwrap(), [vec![1, 2, 3], vec![9], vec![1, 2, 3]]);
    given.0.into_inner().unwrap()
}

fn without_key(claimed: Claimed) -> Claimed {
    Claimed { message: Message { ordering_key: None, ..claimed.message }, ..claimed }
}

#[test]
fn a_message_that_is_not_confirmed_where_others_are_fails_an_attempt_and_those_behind_it_do_not() {
    let batch = [claimed(1, Some("eu")), claimed(2, Some("eu")), without_key(claimed(3, Some("eu")))];
    let given = judged_while_others_are_confirmed("eu", &batch);
    assert_eq!([&given[&0], &given[&2]], [&Verdict::nack("gone"); 2]);
    assert!(matches!(&given[&1], Verdict::Postpone { .. }), "behind one of its key: {:?}", given[&1]);
}

/// Guard: a message that was not sent loses no attempt | publish_handler.rs `publish`: `was_sent` is always true
#[test]
fn a_message_that_was_not_sent_goes_back_uncounted_where_others_are_confirmed() {
    let batch = [claimed(1, Some("eu")), claimed(2, Some("eu")), without_key(claimed(3, Some("eu")))];
    let given = judged_with_others("eu", &batch, Published::unsent("no time was left"));
    for (index, verdict) in given {
        assert!(matches!(&verdict, Verdict::Postpone { .. }), "{index}: {verdict:?}");
    }
}

/// Guard: what another place confirms costs a message no attempt | publish_handler.rs: one name for all places in
/// `note_confirmed` and `confirmed`
#[test]
fn a_message_that_is_not_confirmed_while_another_place_is_served_goes_back_uncounted() {
    let batch = [claimed(1, Some("eu")), claimed(2, Some("eu")), without_key(claimed(3, Some("eu")))];
    for (index, verdict) in judged_while_others_are_confirmed("us", &batch) {
        assert!(matches!(&verdict, Verdict::Postpone { .. }), "{index}: {verdict:?}");
    }
}

#[test]
fn a_place_that_is_absent_buries_nothing_and_keeps_the_order_of_its_keys() {
    let absent = || Published::unavailable("no stream takes the subject");
    let batch = [claimed(1, Some("eu")), without_key(claimed(2, Some("us"))), claimed(3, Some("eu"))];
    let mixed = played(&batch, vec![vec![absent(), Published::Confirmed, away()]]);
    assert_eq!((mixed.calls.len(), mixed.took), (1, Duration::ZERO), "the batch occupies no worker");
    assert_eq!(mixed.verdicts[1], Verdict::ack());
    for verdict in [&mixed.verdicts[0], &mixed.verdicts[2]] {
        assert!(matches!(verdict, Verdict::Postpone { .. }), "{verdict:?}");
    }
    let short = vec![vec![absent(), absent(), away()], vec![Published::Confirmed; 3]];
    assert_eq!(played(&batch, short).verdicts, [Verdict::ack(), Verdict::ack(), Verdict::ack()]);
}

/// Guard: a broker that confirms other calls is not called away | pulse.rs: `note_silence` without `before`
#[test]
fn a_call_that_brings_nothing_is_no_sign_of_an_outage_while_others_are_confirmed() {
    let pulse = Pulse::of("orders");
    let began = pulse.confirmed("eu").anywhere;
    pulse.note_confirmed("us");
    let gone = Reason::new("gone");
    pulse.note_silence(began, [("eu", &gone)], Duration::ZERO);
    assert_eq!(pulse.away_since(), None);
    pulse.note_silence(pulse.confirmed("eu").anywhere, [("eu", &gone)], Duration::ZERO);
    assert_eq!(pulse.away_since(), Some(Duration::ZERO));
}

/// A broker that confirms messages of another place while it takes none of a call.
#[derive(Default)]
struct Besides(OnceLock<Arc<Pulse>>);

#[async_trait]
impl Publish for Besides {
    async fn publish(&self, publications: &[Publication]) -> Vec<Published> {
        self.0.get().unwrap().note_confirmed("orders.us");
        vec![Published::unconfirmed("the user may not publish here"); publications.len()]
    }
}

/// Guard: a place that confirms nothing while others do is said to be away | publish_handler.rs `judge`: no `note_gone_back`
#[test]
fn a_place_whose_messages_are_refused_while_others_are_served_is_away_until_it_confirms_one() {
    let (broker, timer) = (Arc::new(Besides::default()), Arc::new(HandTimer::default()));
    let route = Route { place: "orders.{header:region}".parse().unwrap(), events: EventMode::Plain };
    let handler = PublishHandler::new("orders", broker.clone(), route, timer.clone());
    let standing = handler.standing();
    assert!(broker.0.set(Arc::clone(&standing.pulse)).is_ok());
    let given = Given::default();
    block_on(handler.handle_batch(&[claimed(1, Some("eu"))], &given));
    assert!(matches!(given.0.lock().unwrap()[&0], Verdict::Postpone { .. }));
    assert!(standing.is_away() && !standing.stays_away(), "the place is, and the broker is not");
    standing.pulse.note_confirmed("orders.eu");
    assert!(!standing.is_away());
}

/// Guard: a broker that is away has no places that are | pulse.rs `note_gone_back`: no look at `failed_at`
#[test]
fn a_broker_that_confirms_nothing_has_no_place_that_is_away() {
    let (broker, timer) = (Arc::new(Broker::default()), Arc::new(HandTimer::default()));
    let handler = handler(&broker, &timer);
    let standing = handler.standing();
    block_on(handler.handle_batch(&[claimed(1, Some("eu"))], &Given::default()));
    assert!(standing.stays_away() && !standing.pulse.has_place_away());
}

#[test]
fn a_broker_stays_away_that_confirms_nothing_for_as_long_as_a_batch_is_held() {
    let (broker, timer) = (Arc::new(Broker::default()), Arc::new(HandTimer::default()));
    let handler = handler(&broker, &timer);
    let standing = handler.standing();
    assert!(!standing.is_away() && !standing.stays_away());
    block_on(handler.handle_batch(&[claimed(1, Some("eu"))], &Given::default()));
    assert!(standing.is_away() && standing.stays_away(), "{standing:?}");
    broker.answers.lock().unwrap().push_back(vec![Published::Confirmed]);
    block_on(handler.handle_batch(&[claimed(1, Some("eu"))], &Given::default()));
    assert!(!standing.is_away() && !standing.stays_away());
}

/// Time that passes when a task waits for it; the first wait is long enough for something else.
#[derive(Default)]
struct BusyTimer {
    timer: HandTimer,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Timer for BusyTimer {
    fn now(&self) -> Duration {
        self.timer.now()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.timer.sleep(duration)
    }
}

#[test]
fn a_message_is_finished_with_a_copy_for_each_queue() {
    let queues = ["orders.nats", "orders.redis"].map(|name| QueueName::new(name).unwrap());
    let given = Given::default();
    let original = claimed(7, Some("eu"));
    block_on(CopyHandler::new(queues.to_vec()).handle_batch(std::slice::from_ref(&original), &given));
    let Some(Verdict::Ack { emit }) = given.0.lock().unwrap().remove(&0) else {
        panic!("it is not finished")
    };
    assert_eq!(emit.iter().map(|copy| copy.queue.clone()).collect::<Vec<_>>(), queues);
    for copy in emit {
        let message =
            Message { id: copy.id, queue: copy.queue, headers: copy.headers, ..original.message.clone() };
        assert_eq!(Origin::of(&message), Origin::of(&original.message));
    }
}
