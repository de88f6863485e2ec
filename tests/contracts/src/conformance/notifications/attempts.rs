//! The log of attempts at messages, and the rates of providers.

use std::time::Duration;

use claimstream_domain::{
    Reason,
    notification::{
        Answer, DeliveryStatus,
        provider::{ProviderName, Rate},
    },
};
use claimstream_ports::notification::{DeliveryAttempt, DeliveryState};
use uuid::Uuid;

use super::{
    messages::record,
    sample::{keep, submitted},
};
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications]:
    attempts_are_read_from_the_oldest_on_with_what_was_answered,
    an_attempt_that_is_noted_twice_is_there_once,
    providers_that_may_have_a_message_are_read_with_where_it_stands,
    tokens_are_handed_out_at_the_rate_to_all_together needs [Store],
];

fn name(name: &str) -> ProviderName {
    ProviderName::new(name).expect("a name")
}

fn attempt(message: Uuid, number: u32, ago: Duration, answer: Answer) -> DeliveryAttempt {
    let reason = (answer != Answer::DELIVERED).then(|| Reason::new(format!("reason {number}")));
    DeliveryAttempt {
        message,
        claim: Uuid::now_v7(),
        call: 1,
        number,
        provider: name("primary"),
        ago,
        took: Duration::from_millis(u64::from(number)),
        answer,
        reason,
        reference: (answer == Answer::DELIVERED).then(|| format!("sid-{number}")),
    }
}

pub async fn attempts_are_read_from_the_oldest_on_with_what_was_answered(fixture: NotificationFixture) {
    let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
    let second = attempt(one, 2, Duration::from_secs(5), Answer::DELIVERED);
    let first = attempt(one, 1, Duration::from_secs(60), Answer::LOST);
    let elsewhere = attempt(other, 1, Duration::from_secs(1), Answer::THROTTLED);
    fixture.store.attempts.note(&[second.clone(), elsewhere, first.clone()]).await.expect("note");
    let read = fixture.rival.attempts.attempts(&[one, Uuid::now_v7()]).await.expect("attempts");
    let [older, newer] = &read[..] else { panic!("not two: {read:?}") };
    for (read, noted) in [(older, &first), (newer, &second)] {
        assert!(read.ago >= noted.ago && read.ago < noted.ago + Duration::from_secs(30), "{read:?}");
        assert_eq!(DeliveryAttempt { ago: noted.ago, ..read.clone() }, *noted);
    }
    assert_eq!(fixture.rival.attempts.attempts(&[]).await.expect("attempts"), []);
}

pub async fn an_attempt_that_is_noted_twice_is_there_once(fixture: NotificationFixture) {
    let message = Uuid::now_v7();
    let long = Reason::new("ü".repeat(400));
    let first = DeliveryAttempt {
        reason: Some(long),
        ..attempt(message, 1, Duration::from_secs(9), Answer::NO_SESSION)
    };
    let second = DeliveryAttempt { call: 2, provider: name("secondary"), ..first.clone() };
    fixture.store.attempts.note(&[first.clone(), second.clone()]).await.expect("note");
    fixture.rival.attempts.note(&[second, first]).await.expect("note again");
    let read = fixture.store.attempts.attempts(&[message]).await.expect("attempts");
    let calls: Vec<_> = read.iter().map(|one| (one.call, one.provider.as_str())).collect();
    assert_eq!(calls, [(1, "primary"), (2, "secondary")]);
}

pub async fn providers_that_may_have_a_message_are_read_with_where_it_stands(fixture: NotificationFixture) {
    let (doubted, sure) = (Uuid::now_v7(), Uuid::now_v7());
    let taken = record(submitted(&fixture).await, 1, DeliveryStatus::Pending);
    keep(&fixture.store, std::slice::from_ref(&taken)).await;
    let all = [
        attempt(doubted, 1, Duration::ZERO, Answer::LOST),
        attempt(doubted, 2, Duration::ZERO, Answer::LOST),
        DeliveryAttempt { provider: name("other"), ..attempt(doubted, 3, Duration::ZERO, Answer::LATER) },
        attempt(sure, 1, Duration::ZERO, Answer::NO_SESSION),
        attempt(taken.id, 1, Duration::ZERO, Answer::DELIVERED),
    ];
    fixture.store.attempts.note(&all).await.expect("note");
    let ids = [sure, taken.id, doubted, Uuid::now_v7()];
    let read = fixture.rival.messages.delivery_states(&ids).await.expect("states");
    let of = |status: Option<DeliveryStatus>, in_doubt: Vec<ProviderName>| DeliveryState { status, in_doubt };
    let primary = || vec![name("primary")];
    let pending = Some(DeliveryStatus::Pending);
    assert_eq!(read, [of(None, vec![]), of(pending, primary()), of(None, primary()), of(None, vec![])]);
    assert_eq!(fixture.rival.messages.delivery_states(&[]).await.expect("states"), []);
}

pub async fn tokens_are_handed_out_at_the_rate_to_all_together(fixture: NotificationFixture) {
    // A name of its own, because fixtures share a database.
    let provider = name(&format!("p-{}", Uuid::now_v7()));
    let rate: Rate = "60/h".parse().expect("a rate");
    let mut tokens = 0;
    for rates in [&fixture.store.rates, &fixture.rival.rates, &fixture.store.rates] {
        let grant = rates.grant(&provider, rate, 5).await.expect("grant");
        assert!(grant.tokens > 0 || grant.next <= rate.span(1) && !grant.next.is_zero(), "{grant:?}");
        tokens += grant.tokens;
    }
    assert!(tokens <= rate.block(), "{tokens} tokens at once");
}
