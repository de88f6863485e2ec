use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{
    Claimed, Due, Reason, Verdict,
    notification::{
        Channel, DeliveryStatus, FanOut, NotificationMessage, NotificationRequest, Priority, RequestStatus,
        consent::{
            Address, Category, CategoryRules, ConsentRules, PreferenceChange, Preferences, Suppression,
            UnsubscribeKeys,
        },
    },
};
use claimstream_ports::{
    BatchHandler, Handler, StoreError, StoreErrorKind, Verdicts,
    mock::{MockChannelProvider, MockMessageRepository, MockPreferenceRepository},
    notification::{ConsentsRead, Delivered, FanOutStep, MessageOutcome, StepNoted},
};

use super::{
    super::{Consents, MessageConfig, MessageHandler, Providers, UnsubscribeLinks},
    finish,
    fixture::{claimed_message, claimed_step, down, notification, reachable, request, user},
    ports::{Ports, emitted, kept, notifications},
};

/// What `a` wants and what its mail address does, and the reason to suppress the mail address of `b`, at a moment of the day.
struct World {
    a: Preferences,
    address_of_a: Preferences,
    b: Option<Suppression>,
    hour: u64,
}

impl World {
    fn open() -> Self {
        Self { a: Preferences::default(), address_of_a: Preferences::default(), b: None, hour: 12 }
    }

    fn wanting(change: &str) -> Self {
        Self { a: wants(change), ..Self::open() }
    }

    /// Preferences that may be read `times` times.
    fn preferences(self, times: usize) -> MockPreferenceRepository {
        let mut preferences = MockPreferenceRepository::new();
        preferences.expect_consents().times(times).returning(move |recipients, addresses| {
            let of = |key: &String| match key.as_str() {
                "user:a" => self.a.clone(),
                "email:a@example.com" => self.address_of_a.clone(),
                _ => Preferences::default(),
            };
            let bad = Address::new(Channel::Email, "B@example.com");
            Ok(ConsentsRead {
                preferences: recipients.iter().map(of).collect(),
                suppressed: addresses.iter().map(|one| self.b.filter(|_| *one == bad)).collect(),
                since_1970: Duration::from_secs((1_000 * 24 + self.hour) * 3_600),
            })
        });
        preferences
    }

    fn consents(self, times: usize) -> Consents {
        Consents::new(Arc::new(self.preferences(times)), rules())
    }
}

fn wants(change: &str) -> Preferences {
    let change: PreferenceChange = change.parse().expect("a change");
    change.apply(Preferences::default()).expect("few changes")
}

/// Quiet from 22:00 to 08:00 UTC; recipients cannot opt out of `security`.
fn rules() -> ConsentRules {
    let required = CategoryRules { required: true, ..CategoryRules::default() };
    ConsentRules {
        categories: [(category("security"), required)].into(),
        quiet_hours: "22:00-08:00".parse().ok(),
        ..ConsentRules::default()
    }
}

fn category(name: &str) -> Category {
    Category::new(name).expect("a category")
}

/// A request of marketing to `a` and `b` by mail.
fn marketing() -> NotificationRequest {
    let request = request(&[Channel::Email], vec![user("a"), user("b")]);
    NotificationRequest { category: Some(category("marketing")), ..request }
}

/// Fans a request out, and answers the verdict and the records that were noted.
fn fan_out(request: NotificationRequest, consents: Consents) -> (Verdict, Vec<(DeliveryStatus, String)>) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&records);
    let ports = Ports::processing(request).noting(1, move |step| {
        let record = |record: &claimstream_domain::notification::NotificationRecord| {
            (record.status, record.reason.as_ref().map(ToString::to_string).unwrap_or_default())
        };
        seen.lock().expect("no panic").extend(step.records.iter().map(record));
        Ok(kept(step, RequestStatus::Dispatched))
    });
    let handler = ports.handler().with_consents(consents);
    let verdict = finish(handler.handle(&claimed_step(FanOut::begin(super::fixture::REQUEST), 1)));
    let records = records.lock().expect("no panic").clone();
    (verdict, records)
}

#[test]
fn recipients_that_opted_out_or_are_suppressed_are_skipped_with_the_reason() {
    let world = World { b: Some(Suppression::Bounced), ..World::wanting("any/marketing=off") };
    let (verdict, records) = fan_out(marketing(), world.consents(1));
    let skipped = |why: &str| (DeliveryStatus::Skipped, why.to_owned());
    assert_eq!(records, [skipped("opted out of any/marketing"), skipped("suppressed: bounced")]);
    assert_eq!(emitted(verdict), []);
}

/// Guard: what an address opted out of holds for users with it | src/question.rs `of`: no `address_key`
#[test]
fn what_an_address_opted_out_of_holds_for_its_user_who_says_nothing_else() {
    let status = |a: Preferences| {
        let world = World { a, address_of_a: wants("email/marketing=off"), ..World::open() };
        fan_out(marketing(), world.consents(1)).1[0].clone()
    };
    assert_eq!(
        status(Preferences::default()),
        (DeliveryStatus::Skipped, "opted out of email/marketing".to_owned())
    );
    assert_eq!(status(wants("email/marketing=on")).0, DeliveryStatus::Pending);
}

#[test]
fn no_recipient_opts_out_of_what_is_required() {
    let request = NotificationRequest { category: Some(category("security")), ..marketing() };
    let (verdict, records) = fan_out(request, World::wanting("any/any=off").consents(1));
    assert!(records.iter().all(|(status, _)| *status == DeliveryStatus::Pending), "{records:?}");
    assert_eq!(emitted(verdict).len(), 2);
}

#[test]
fn what_can_wait_is_due_when_the_quiet_hours_end_and_what_is_urgent_at_once() {
    let due = |request, hour| {
        let (verdict, _) = fan_out(request, World { hour, ..World::open() }.consents(1));
        emitted(verdict).into_iter().map(|message| message.due).collect::<Vec<_>>()
    };
    let later = |hours: u64| vec![Due::After(Duration::from_secs(hours * 3_600)); 2];
    assert_eq!(due(marketing(), 23), later(9));
    assert_eq!(due(marketing(), 12), vec![Due::Now; 2]);
    assert_eq!(due(NotificationRequest { priority: Priority::High, ..marketing() }, 23), vec![Due::Now; 2]);
}

#[test]
fn messages_of_a_priority_are_in_its_queue() {
    let (verdict, _) =
        fan_out(NotificationRequest { priority: Priority::High, ..marketing() }, World::open().consents(1));
    let queues: Vec<_> = emitted(verdict).iter().map(|message| message.queue.as_str().to_owned()).collect();
    assert_eq!(queues, [Priority::High.message_queue(); 2]);
}

#[test]
fn the_next_step_of_a_fan_out_stays_in_the_queue_of_its_priority() {
    let request = NotificationRequest { priority: Priority::Low, ..marketing() };
    let mut ports = Ports::processing(request).noting(1, |step| Ok(kept(step, RequestStatus::Processing)));
    ports.config.chunk = 1;
    let mut claimed = claimed_step(FanOut::begin(super::fixture::REQUEST), 1);
    let queue = claimstream_domain::QueueName::new(Priority::Low.request_queue()).expect("a queue name");
    claimed.message.queue = queue.clone();
    let queues = emitted(finish(ports.handler().handle(&claimed)));
    let queues: Vec<_> = queues.into_iter().map(|message| message.queue).collect();
    assert!(queues.contains(&queue) && queues.len() == 2, "{queues:?}");
}

#[test]
fn a_message_that_can_be_opted_out_of_has_a_link() {
    let links = || UnsubscribeLinks::new("https://shop.example/u/", keys()).expect("a URL");
    let urls = |request| {
        let (verdict, _) = fan_out(request, World::open().consents(1).with_links(links()));
        notifications(verdict).into_iter().map(|message| message.unsubscribe_url).collect::<Vec<_>>()
    };
    let made = urls(marketing());
    let token =
        made[1].as_deref().and_then(|url| url.strip_prefix("https://shop.example/u/")).expect("a link");
    let unsubscribe = keys().verify(token).expect("a token of ours");
    assert_eq!((unsubscribe.recipient.as_str(), unsubscribe.channel), ("user:b", Channel::Email));
    assert_eq!(unsubscribe.category, category("marketing"));
    for none in [None, Some(category("security"))] {
        assert_eq!(urls(NotificationRequest { category: none, ..marketing() }), [None, None]);
    }
}

fn keys() -> UnsubscribeKeys {
    UnsubscribeKeys::new([&[7; 32][..]]).expect("a key")
}

#[test]
fn a_record_that_was_to_be_sent_and_is_refused_now_is_skipped() {
    let mut ports = Ports::processing(marketing()).noting(1, |step| Ok(pending(step)));
    let conclude = ports.messages.expect_conclude().times(1);
    conclude
        .withf(|outcomes| outcomes.len() == 1 && outcomes[0].status == DeliveryStatus::Skipped)
        .returning(|_| Ok(()));
    let handler = ports.handler().with_consents(World::wanting("email/any=off").consents(1));
    let verdict = finish(handler.handle(&claimed_step(FanOut::begin(super::fixture::REQUEST), 2)));
    assert_eq!(notifications(verdict).len(), 1);
}

/// The records of a step were pending before.
fn pending(step: &FanOutStep) -> StepNoted {
    StepNoted {
        status: Some(RequestStatus::Dispatched),
        records: vec![DeliveryStatus::Pending; step.records.len()],
        outdated: false,
    }
}

#[test]
fn a_step_whose_preferences_cannot_be_read_is_tried_again() {
    for kind in [StoreErrorKind::Unavailable, StoreErrorKind::Corrupt] {
        let mut preferences = MockPreferenceRepository::new();
        preferences.expect_consents().returning(move |_, _| Err(StoreError::new(kind, "preferences", "no")));
        let handler = Ports::processing(marketing()).handler();
        let handler = handler.with_consents(Consents::new(Arc::new(preferences), rules()));
        let verdict = finish(handler.handle(&claimed_step(FanOut::begin(super::fixture::REQUEST), 1)));
        assert!(matches!(verdict, Verdict::Nack { after: None, .. }), "{verdict:?}");
    }
}

/// Delivers mail to `a` and `b` in one batch, to a provider that may be asked `deliveries` times.
fn deliver(
    preferences: MockPreferenceRepository,
    attempt: u32,
    deliveries: usize,
) -> (Vec<Verdict>, Vec<MessageOutcome>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&noted);
    let mut messages = MockMessageRepository::new();
    let states = messages.expect_delivery_states();
    states.returning(|ids| Ok(vec![DeliveryStatus::Pending.into(); ids.len()]));
    messages.expect_conclude().returning(move |outcomes| {
        seen.lock().expect("no panic").extend_from_slice(outcomes);
        Ok(())
    });
    let mut provider = MockChannelProvider::new();
    provider.expect_deliver().times(deliveries).returning(|_| Ok(Delivered::default()));
    let providers = Providers::new().with(Channel::Email, Arc::new(provider));
    let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
    let consents = Consents::new(Arc::new(preferences), rules());
    let handler = handler.expect("a good configuration").with_consents(consents);
    let batch: Vec<Claimed> = ["a", "b"].map(|id| claimed_message(&mail(id), attempt)).into();
    let given = Given(Mutex::new(vec![None; batch.len()]));
    finish(handler.handle_batch(&batch, &given));
    let verdicts = given.0.into_inner().expect("no panic").into_iter().flatten().collect();
    let noted = noted.lock().expect("no panic").clone();
    (verdicts, noted)
}

fn mail(id: &str) -> NotificationMessage {
    let address = reachable(id).email.expect("an address");
    let category = Some(category("marketing"));
    NotificationMessage { recipient: format!("user:{id}"), address, category, ..notification() }
}

struct Given(Mutex<Vec<Option<Verdict>>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        self.0.lock().expect("no panic")[index] = Some(verdict);
    }
}

#[test]
fn a_refusal_after_the_fan_out_counts_before_the_delivery() {
    let world = World { b: Some(Suppression::Complained), ..World::wanting("email/marketing=off") };
    let (verdicts, noted) = deliver(world.preferences(1), 1, 0);
    assert_eq!(verdicts, [Verdict::ack(), Verdict::ack()]);
    let reasons: Vec<_> = noted.iter().map(|one| (one.status, one.reason.clone())).collect();
    let skipped = |why| (DeliveryStatus::Skipped, Some(Reason::new(why)));
    assert_eq!(reasons, [skipped("opted out of email/marketing"), skipped("suppressed: complained")]);
}

#[test]
fn a_delivery_in_quiet_hours_waits_and_that_is_no_attempt() {
    let night = || World { hour: 23, ..World::open() }.preferences(1);
    let after = Duration::from_secs(9 * 3_600);
    for attempt in [2, MessageConfig::default().retry.max_attempts] {
        let (verdicts, noted) = deliver(night(), attempt, 0);
        let waits =
            |verdict: &Verdict| matches!(verdict, Verdict::Postpone { after: given, .. } if *given == after);
        assert!(verdicts.iter().all(waits), "{verdicts:?}");
        assert_eq!((verdicts.len(), noted.len()), (2, 0));
    }
}

#[test]
fn messages_whose_preferences_cannot_be_read_are_not_delivered() {
    let mut away = MockPreferenceRepository::new();
    away.expect_consents().times(1).returning(|_, _| Err(down("preferences")));
    assert_eq!(deliver(away, 1, 0).0, [Verdict::Release, Verdict::Release]);
}

#[test]
fn preferences_that_cannot_be_read_are_the_business_of_one_recipient() {
    let mut corrupt = MockPreferenceRepository::new();
    corrupt.expect_consents().times(3).returning(|recipients, addresses| {
        match recipients.contains(&"user:a".to_owned()) {
            true => Err(StoreError::new(StoreErrorKind::Corrupt, "preferences", "no JSON")),
            false => Ok(ConsentsRead {
                preferences: vec![Preferences::default(); recipients.len()],
                suppressed: vec![None; addresses.len()],
                since_1970: Duration::from_secs(12 * 3_600),
            }),
        }
    });
    let (verdicts, noted) = deliver(corrupt, 1, 1);
    assert!(matches!(verdicts[0], Verdict::Nack { .. }), "{verdicts:?}");
    assert_eq!((&verdicts[1], noted.len()), (&Verdict::ack(), 1));
}
