//! Promise: an address that a provider refuses for good is suppressed, however it is spelled; what is kept of an address under the spelling of an
//! earlier version still holds

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{
    Verdict,
    notification::{
        Channel, DeliveryStatus, NotificationMessage,
        consent::{Address, Category, ConsentRules, Preferences, Suppression},
    },
};
use claimstream_ports::{
    Handler,
    mock::{MockChannelProvider, MockMessageRepository, MockPreferenceRepository, MockSuppressions},
    notification::{ConsentsRead, DeliveryError},
};

use super::{
    super::{Consents, MessageConfig, MessageHandler, Providers},
    finish,
    fixture::{claimed_message, down, notification},
};

const SPELLED: &str = "\"Ann\"@Example.com";

/// Message records of which every outcome is noted here.
fn records() -> (MockMessageRepository, Arc<Mutex<Vec<DeliveryStatus>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&noted);
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().returning(|ids| Ok(vec![DeliveryStatus::Pending.into(); ids.len()]));
    messages.expect_conclude().returning(move |outcomes| {
        seen.lock().expect("no panic").extend(outcomes.iter().map(|outcome| outcome.status));
        Ok(())
    });
    (messages, noted)
}

fn to_ann() -> NotificationMessage {
    let category = Category::new("marketing").ok();
    NotificationMessage {
        recipient: format!("direct:{SPELLED}||||"),
        address: SPELLED.into(),
        category,
        ..notification()
    }
}

/// A message that its provider refuses for good.
fn refused(suppressions: MockSuppressions) -> (Verdict, Vec<DeliveryStatus>) {
    let (messages, noted) = records();
    let mut provider = MockChannelProvider::new();
    provider.expect_deliver().returning(|_| {
        let reason = "550 5.1.1 unknown".to_owned();
        Err(DeliveryError::AddressRefused { reason, suppression: Suppression::Bounced })
    });
    let providers = Providers::new().with(Channel::Email, Arc::new(provider));
    let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
    let handler = handler.expect("a good configuration").with_suppressions(Arc::new(suppressions));
    let verdict = finish(handler.handle(&claimed_message(&to_ann(), 1)));
    let noted = noted.lock().expect("no panic").clone();
    (verdict, noted)
}

/// Guard: an address that is refused for good is suppressed | src/message_handler.rs `deliver`: no `suppress`
#[test]
fn an_address_that_is_refused_for_good_is_suppressed_with_the_reason() {
    let mut suppressions = MockSuppressions::new();
    let suppress = suppressions.expect_suppress().times(1).withf(|address, suppression, note| {
        *address == Address::new(Channel::Email, "ann@example.com")
            && (*suppression, note.as_deref()) == (Suppression::Bounced, Some("550 5.1.1 unknown"))
    });
    suppress.returning(|_, _, _| Ok(()));
    let (verdict, noted) = refused(suppressions);
    assert!(matches!(verdict, Verdict::Bury { .. }), "{verdict:?}");
    assert_eq!(noted, [DeliveryStatus::Failed]);
}

#[test]
fn a_message_whose_address_cannot_be_suppressed_is_tried_again() {
    let mut suppressions = MockSuppressions::new();
    suppressions.expect_suppress().times(1).returning(|_, _, _| Err(down("suppress")));
    let (verdict, noted) = refused(suppressions);
    let says = |verdict: &Verdict| matches!(verdict, Verdict::Nack { reason, .. } if reason.as_str().contains("550 5.1.1"));
    assert!(says(&verdict), "{verdict:?}");
    assert_eq!(noted, []);
}

/// Keeps nothing but what it is given for one key and one address.
fn keeping(key: &str, wants: &str, suppressed: &str) -> MockPreferenceRepository {
    let (key, suppressed) = (key.to_owned(), suppressed.to_owned());
    let wants: claimstream_domain::notification::consent::PreferenceChange = wants.parse().expect("a change");
    let wants = wants.apply(Preferences::default()).expect("few changes");
    let mut preferences = MockPreferenceRepository::new();
    preferences.expect_consents().times(1).returning(move |recipients, addresses| {
        let of = |one: &String| if *one == key { wants.clone() } else { Preferences::default() };
        let is_suppressed = |one: &Address| one.as_str() == suppressed;
        Ok(ConsentsRead {
            preferences: recipients.iter().map(of).collect(),
            suppressed: addresses
                .iter()
                .map(|one| is_suppressed(one).then_some(Suppression::Bounced))
                .collect(),
            since_1970: Duration::from_secs(43_200),
        })
    });
    preferences
}

/// Guard: what is kept under a former spelling holds | src/consents.rs `joined`: `read` as it is
#[test]
fn what_is_kept_of_an_address_under_todays_or_a_former_spelling_holds() {
    let skips = |preferences| {
        let (messages, noted) = records();
        let providers = Providers::new().with(Channel::Email, Arc::new(MockChannelProvider::new()));
        let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
        let consents = Consents::new(Arc::new(preferences), ConsentRules::default());
        let handler = handler.expect("a good configuration").with_consents(consents);
        assert_eq!(finish(handler.handle(&claimed_message(&to_ann(), 1))), Verdict::ack());
        let noted = noted.lock().expect("no panic").clone();
        assert_eq!(noted, [DeliveryStatus::Skipped]);
    };
    let (today, former) = ("ann@example.com", "\"ann\"@example.com");
    for spelled in [today, former] {
        skips(keeping("user:other", "any/other=off", spelled));
        skips(keeping(&format!("email:{spelled}"), "any/marketing=off", "other@example.com"));
    }
}
