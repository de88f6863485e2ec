use std::{fmt::Debug, str::FromStr};

use claimstream_domain::{
    DeadLetterPlace, QueueName, Retention, Timestamp,
    notification::{
        Channel, Priority, ReceiptKind,
        consent::{PreferenceChange, TimeZone},
        provider::{ProviderName, Rate},
    },
    timer_event::TimerPlace,
};

use crate::{Target, head::text};

/// Small values that users and pages hand in as text: names, moments, rates, and where a page of a list begins.
pub(super) const WORDS: Target = Target {
    name: "words",
    run: |data| {
        let Some(text) = text(data) else { return false };
        let all = [
            text.parse::<PreferenceChange>().is_ok(),
            reads_back::<QueueName>(text),
            reads_back::<Timestamp>(text),
            reads_back::<DeadLetterPlace>(text),
            reads_back::<TimerPlace>(text),
            reads_back::<Retention>(text),
            reads_back::<Rate>(text),
            reads_back::<ProviderName>(text),
            reads_back::<Channel>(text),
            reads_back::<Priority>(text),
            reads_back::<ReceiptKind>(text),
            reads_back::<TimeZone>(text),
        ];
        all.contains(&true)
    },
    seeds: &[
        b"orders.eu-1",
        b"2026-11-28T10:00:00.123456+02:00",
        b"1774702800000000_019ac0de-0000-7000-8000-000000000001",
        b"100/s",
        b"email",
        b"7d",
        b"Europe/Berlin",
        b"email/news=off",
        b"quiet_hours=22:00-08:00",
    ],
};

/// What was read is written as something that is read as the same.
fn reads_back<T: FromStr + ToString + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else { return false };
    let written = value.to_string();
    assert_eq!(written.parse::<T>().ok().as_ref(), Some(&value), "{written:?} is not {text:?}");
    true
}
