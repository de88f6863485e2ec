use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{
    Reason, Verdict,
    notification::{
        Acceptance, Channel, Content, DeliveryStatus, FanOut, NotificationMessage, NotificationRequest,
        Priority, RequestStatus, TemplateVersion,
        consent::{Category, ConsentRules, PreferenceChange, Preferences},
        digest::{DigestItem, DigestRule, DigestRules, KeptItem, NewDigestItem},
    },
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind,
    mock::{
        MockChannelProvider, MockDigestRepository, MockMessageRepository, MockPreferenceRepository,
        MockTemplateSource,
    },
    notification::{ConsentsRead, Delivered, DeliveryError, DigestPlace, MessageOutcome},
};
use serde_json::json;
use uuid::Uuid;

use super::{
    super::{Consents, Digests, MessageConfig, MessageHandler, Providers},
    finish,
    fixture::{REQUEST, claimed_message, claimed_step, down, notification, request, user},
    ports::{Ports, emitted, kept},
};

use DeliveryStatus::{Cancelled, Delivered as Taken, Failed, Pending, Skipped};

const WINDOW: Duration = Duration::from_secs(3_600);

fn news() -> Category {
    Category::new("news").expect("a category")
}

fn rules(template: Option<&str>) -> DigestRules {
    let rule = DigestRule::new(WINDOW).expect("a window");
    let rule = DigestRule { template: template.map(str::to_owned), ..rule };
    DigestRules { categories: [(news(), rule)].into() }
}

/// Fans a request out to `a` and `b`; the records with their reasons, the items, and how many messages are enqueued.
fn fan_out(
    request: NotificationRequest,
    consents: Option<Consents>,
) -> (Vec<(DeliveryStatus, String)>, Vec<NewDigestItem>, usize) {
    let noted = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let seen = Arc::clone(&noted);
    let ports = Ports::processing(request).noting(1, move |step| {
        let why = |reason: &Option<Reason>| reason.as_ref().map(ToString::to_string).unwrap_or_default();
        let records = step.records.iter().map(|record| (record.status, why(&record.reason))).collect();
        *seen.lock().expect("no panic") = (records, step.items.clone());
        Ok(kept(step, RequestStatus::Dispatched))
    });
    let handler = ports.handler().with_digests(rules(None));
    let handler = match consents {
        Some(consents) => handler.with_consents(consents),
        None => handler,
    };
    let verdict = finish(handler.handle(&claimed_step(FanOut::begin(REQUEST), 1)));
    let (records, items) = noted.lock().expect("no panic").clone();
    (records, items, emitted(verdict).len())
}

fn of_news() -> NotificationRequest {
    let request = request(&[Channel::Email], vec![user("a"), user("b")]);
    NotificationRequest { category: Some(news()), ..request }
}

/// Guard: items of a digest are no expired records | src/fan_out_attempt.rs `lapsed`: records of items too
#[test]
fn messages_of_a_category_with_a_window_are_noted_as_items_and_not_enqueued() {
    let (records, items, enqueued) = fan_out(of_news(), None);
    assert_eq!(records, vec![(Pending, "part of a digest".to_owned()); 2]);
    assert_eq!(enqueued, 0);
    assert_eq!(items.iter().map(|new| new.window).collect::<Vec<_>>(), [WINDOW; 2]);
    assert_eq!(items[0].item.message.content, of_news().content.expect("a content"));
    assert_ne!(items[0].item.key(), items[1].item.key());
    for request in [
        NotificationRequest { priority: Priority::High, ..of_news() },
        NotificationRequest { category: None, ..of_news() },
    ] {
        let (records, items, enqueued) = fan_out(request, None);
        assert_eq!((records, items.len(), enqueued), (vec![(Pending, String::new()); 2], 0, 2));
    }
}

/// Guard: messages with files join no digest | src/digests.rs `take_out`: they do
#[test]
fn a_message_with_files_waits_for_no_digest_because_a_digest_carries_none() {
    let file =
        json!({"title": "Paid", "attachments": [{"url": "https://example.com/a.pdf", "name": "a.pdf"}]});
    let content = serde_json::from_value(file).expect("a content");
    let (records, items, enqueued) =
        fan_out(NotificationRequest { content: Some(content), ..of_news() }, None);
    assert_eq!((records, items.len(), enqueued), (vec![(Pending, String::new()); 2], 0, 2));
}

/// Guard: a refused item leaves its digest | src/fan_out_attempt.rs `heed`: the item stays
#[test]
fn who_is_not_to_get_it_has_no_item_and_in_quiet_hours_a_digest_stays_open_until_they_end() {
    let change: PreferenceChange = "email/news=off".parse().expect("a change");
    let off = change.apply(Preferences::default()).expect("few changes");
    let mut preferences = MockPreferenceRepository::new();
    preferences.expect_consents().times(1).returning(move |recipients, addresses| {
        let of = |key: &String| if key == "user:a" { off.clone() } else { Preferences::default() };
        Ok(ConsentsRead {
            preferences: recipients.iter().map(of).collect(),
            suppressed: vec![None; addresses.len()],
            since_1970: Duration::from_secs(23 * 3_600),
        })
    });
    let quiet = ConsentRules { quiet_hours: "22:00-08:00".parse().ok(), ..ConsentRules::default() };
    let (records, items, enqueued) = fan_out(of_news(), Some(Consents::new(Arc::new(preferences), quiet)));
    let skipped = (Skipped, "opted out of email/news".to_owned());
    assert_eq!(records, [skipped, (Pending, "part of a digest".to_owned())]);
    assert_eq!((items.len(), enqueued), (1, 0));
    assert_eq!((items[0].item.message.recipient.as_str(), items[0].window), ("user:b", 9 * WINDOW));
}

/// An item with its number as title.
fn item(n: u128, status: DeliveryStatus) -> KeptItem {
    let content = Content { title: Some(n.to_string()), ..Content::default() };
    let message =
        NotificationMessage { id: Uuid::from_u128(n), category: Some(news()), content, ..notification() };
    KeptItem { item: DigestItem { message, params: [].into(), language: None }, status }
}

/// An item whose request was cancelled after it had failed.
const OF_CANCELLED: u128 = 9;

/// The message of the digest that the item 1 has opened.
fn digest() -> NotificationMessage {
    let opening = item(1, Pending).item.opening(WINDOW).expect("a message");
    serde_json::from_slice(opening.payload.bytes()).expect("a message")
}

/// What a digest comes to: the verdict, the titles that were delivered, and the outcomes that were noted.
struct Came {
    verdict: Verdict,
    delivered: Vec<String>,
    noted: Vec<MessageOutcome>,
    reopened: Vec<u128>,
}

impl Came {
    fn to(
        items: Result<Vec<KeptItem>, StoreError>,
        answer: Result<Delivered, DeliveryError>,
        template: Option<&str>,
        attempt: u32,
    ) -> Self {
        let (delivered, noted) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let reopened = Arc::new(Mutex::new(Vec::new()));
        let mut store = MockDigestRepository::new();
        let place = DigestPlace { key: item(1, Pending).item.key(), id: Uuid::from_u128(1) };
        let items = Mutex::new(Some(items));
        let close = store.expect_close().times(1).withf(move |digests| digests == [place]);
        close.returning(move |_| {
            items.lock().expect("no panic").take().expect("once").map(|items| vec![items])
        });
        let mut messages = MockMessageRepository::new();
        let seen = Arc::clone(&noted);
        messages.expect_conclude().returning(move |outcomes| {
            seen.lock().expect("no panic").extend(outcomes.to_vec());
            Ok(())
        });
        let seen = Arc::clone(&reopened);
        messages.expect_reopen().returning(move |id| {
            seen.lock().expect("no panic").push(id.as_u128());
            Ok(Some(if id.as_u128() == OF_CANCELLED { Cancelled } else { Pending }))
        });
        let states = messages.expect_delivery_states().times(1).withf(|ids| ids == [Uuid::from_u128(1)]);
        states.returning(|_| Ok(vec![Pending.into()]));
        messages.expect_since_1970().returning(|| Ok(Duration::from_secs(100)));
        let mut provider = MockChannelProvider::new();
        let seen = Arc::clone(&delivered);
        provider.expect_deliver().returning(move |message| {
            assert_eq!(message.id, Uuid::from_u128(1), "a digest has the id of the message that opened it");
            seen.lock().expect("no panic").push(message.content.title.clone().unwrap_or_default());
            answer.clone()
        });
        let mut templates = MockTemplateSource::new();
        templates.expect_published().returning(|id| match id {
            "unreadable" => Err(StoreError::new(StoreErrorKind::Corrupt, "templates", "no template")),
            id => Ok((id == "several").then(several)),
        });
        let digests = Digests::new(Arc::new(store), Arc::new(templates), rules(template));
        let providers = Providers::new().with(Channel::Email, Arc::new(provider));
        let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
        let handler = handler.expect("a good configuration").with_digests(digests);
        let verdict = finish(handler.handle(&claimed_message(&digest(), attempt)));
        let delivered = delivered.lock().expect("no panic").clone();
        let noted = noted.lock().expect("no panic").clone();
        let reopened = reopened.lock().expect("no panic").clone();
        Self { verdict, delivered, noted, reopened }
    }

    fn of(items: Vec<KeptItem>, attempt: u32) -> Self {
        Self::to(Ok(items), Ok(Delivered { reference: Some("r-1".into()) }), None, attempt)
    }

    fn statuses(&self) -> Vec<(u128, DeliveryStatus)> {
        self.noted.iter().map(|outcome| (outcome.id.as_u128(), outcome.status)).collect()
    }
}

fn several() -> Arc<TemplateVersion> {
    let body = "{% for item in items %}{{ item.title }}{% endfor %}";
    let texts = json!({"email": {"en": {"title": "{{ count }} new", "body": body}}});
    let variables = json!({"items": {}, "count": {}});
    let template = json!({"default_language": "en", "variables": variables, "texts": texts});
    let version = json!({"id": "several", "number": 1, "template": template});
    Arc::new(serde_json::from_value(version).expect("a version"))
}

#[test]
fn a_digest_is_delivered_once_and_its_end_is_noted_of_all_items_that_are_left() {
    let came = Came::of(vec![item(1, Cancelled), item(2, Pending), item(3, Pending)], 1);
    assert_eq!((came.verdict.clone(), came.delivered.clone()), (Verdict::ack(), vec!["2 (+1)".to_owned()]));
    assert_eq!(came.statuses(), [(2, Taken), (3, Taken)]);
    let why = format!("in the digest {}, one of 2", Uuid::from_u128(1));
    for outcome in &came.noted {
        assert_eq!(outcome.reason.as_ref().map(Reason::as_str), Some(why.as_str()));
        assert_eq!(outcome.reference.as_deref(), Some("r-1"));
    }
    let template = Came::to(Ok(vec![item(1, Pending)]), Ok(Delivered::default()), Some("several"), 1);
    assert_eq!(template.delivered, ["1 new"]);
}

#[test]
fn a_digest_of_which_nothing_is_left_is_acked_and_no_provider_is_asked() {
    for items in [vec![], vec![item(1, Cancelled), item(2, Taken), item(3, Skipped)]] {
        let came = Came::of(items, 1);
        assert_eq!((came.verdict, came.delivered.len(), came.noted.len()), (Verdict::ack(), 0, 0));
    }
}

#[test]
fn items_that_have_expired_are_skipped_and_the_others_delivered() {
    let late = |n| {
        let mut kept = item(n, Pending);
        kept.item.message.expires_at = "1970-01-01T00:01:00Z".parse().ok();
        kept
    };
    let came = Came::of(vec![late(1), item(2, Pending)], 1);
    assert_eq!(
        (came.delivered.clone(), came.statuses()),
        (vec!["2".to_owned()], vec![(2, Taken), (1, Skipped)])
    );
    let came = Came::of(vec![late(1), late(2)], 1);
    assert_eq!((came.verdict.clone(), came.delivered.len()), (Verdict::ack(), 0));
    assert_eq!(came.statuses(), [(1, Skipped), (2, Skipped)]);
    assert!(came.noted.iter().all(|outcome| outcome.reason == Some(Reason::new("expired"))));
}

#[test]
fn a_digest_that_fails_is_tried_again_and_given_up_with_all_its_items() {
    let busy = || DeliveryError::Transient {
        reason: "HTTP 503".into(),
        retry_after: None,
        acceptance: Acceptance::NotAccepted,
    };
    let items = || Ok(vec![item(1, Pending), item(2, Pending)]);
    let first = Came::to(items(), Err(busy()), None, 1);
    assert!(matches!(first.verdict, Verdict::Nack { .. }) && first.noted.is_empty(), "{:?}", first.verdict);
    let refused = Err(DeliveryError::Permanent { reason: "HTTP 400".into() });
    for came in [Came::to(items(), Err(busy()), None, 11), Came::to(items(), refused, None, 1)] {
        assert!(matches!(came.verdict, Verdict::Bury { .. }), "{:?}", came.verdict);
        assert_eq!(came.statuses(), [(1, Failed), (2, Failed)]);
    }
    let cut_off = Came::of(vec![item(1, Pending), item(2, Pending)], 12);
    assert_eq!((cut_off.delivered.len(), cut_off.statuses()), (0, vec![(1, Failed), (2, Failed)]));
    let revived = Came::of(vec![item(1, Failed), item(2, Failed), item(3, Cancelled)], 1);
    assert_eq!((revived.verdict.clone(), revived.statuses()), (Verdict::ack(), vec![(1, Taken), (2, Taken)]));
}

/// Guard: a digest that cannot be written fails | src/message_handler.rs `deliver`: it is sent as it is
#[test]
fn a_digest_that_cannot_be_written_is_a_dead_letter_that_can_be_revived() {
    let came = Came::to(Ok(vec![item(1, Pending)]), Ok(Delivered::default()), Some("unknown"), 1);
    assert_eq!(came.verdict, Verdict::bury("there is no template \"unknown\" for email"));
    assert_eq!((came.delivered.len(), came.statuses()), (0, vec![(1, Failed)]));
}

/// Guard: an error of a digest ends all its items | src/message_handler/digesting.rs `open`: the digest is
/// not set
#[test]
fn a_digest_that_can_never_be_read_is_given_up_with_all_its_items() {
    let items = || Ok(vec![item(1, Pending), item(2, Pending)]);
    let came = Came::to(items(), Ok(Delivered::default()), Some("unreadable"), 11);
    assert!(matches!(came.verdict, Verdict::Bury { .. }), "{:?}", came.verdict);
    assert_eq!((came.delivered.len(), came.statuses()), (0, vec![(1, Failed), (2, Failed)]));
}

#[test]
fn a_revived_digest_leaves_out_what_belongs_to_a_cancelled_request() {
    let came = Came::of(vec![item(1, Failed), item(OF_CANCELLED, Failed)], 1);
    assert_eq!((came.verdict.clone(), came.reopened.clone()), (Verdict::ack(), vec![1, OF_CANCELLED]));
    assert_eq!((came.delivered.clone(), came.statuses()), (vec!["1".to_owned()], vec![(1, Taken)]));
    let nothing = Came::of(vec![item(OF_CANCELLED, Failed)], 1);
    assert_eq!((nothing.verdict, nothing.delivered.len(), nothing.noted.len()), (Verdict::ack(), 0, 0));
}

/// Guard: a half-recorded end of a digest leaves no item | domain/src/notification/digest/taking.rs `of`:
/// items of one status alone
#[test]
fn of_a_digest_whose_end_was_noted_of_some_items_none_is_left_behind() {
    let items = vec![item(1, Failed), item(2, Pending), item(3, Cancelled)];
    let again = Came::of(items.clone(), 2);
    assert_eq!((again.verdict.clone(), again.reopened.clone()), (Verdict::ack(), vec![1]));
    assert_eq!(again.delivered, ["1 (+1)"]);
    assert_eq!(again.statuses(), [(1, Taken), (2, Taken)]);
    let over = Came::of(items, 12);
    assert!(matches!(over.verdict, Verdict::Bury { .. }), "{:?}", over.verdict);
    assert_eq!((over.delivered.len(), over.statuses()), (0, vec![(1, Failed), (2, Failed)]));
}

#[test]
fn a_digest_whose_items_cannot_be_read_is_a_dead_letter_and_none_of_them_has_an_end() {
    let unread = StoreError::new(StoreErrorKind::Corrupt, "digest", "an item is no JSON");
    let came = Came::to(Err(unread), Ok(Delivered::default()), None, 11);
    assert!(matches!(came.verdict, Verdict::Bury { .. }), "{:?}", came.verdict);
    assert_eq!((came.delivered.len(), came.noted.len()), (0, 0));
}

#[test]
fn while_the_store_is_away_a_digest_is_given_back_and_a_relay_without_digests_puts_it_off() {
    let came = Came::to(Err(down("digest")), Ok(Delivered::default()), None, 1);
    assert_eq!((came.verdict, came.delivered.len()), (Verdict::Release, 0));
    let provider = Providers::new().with(Channel::Email, Arc::new(MockChannelProvider::new()));
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().returning(|_| Ok(vec![Pending.into()]));
    let handler = MessageHandler::new(Arc::new(messages), provider, MessageConfig::default());
    let verdict = finish(handler.expect("a handler").handle(&claimed_message(&digest(), 1)));
    assert!(matches!(verdict, Verdict::Nack { .. }), "{verdict:?}");
}
