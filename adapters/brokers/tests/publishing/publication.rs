use claimstream_domain::{Headers, MessageId, OrderingKey, Payload, Publication, Published};
use uuid::Uuid;

/// A publication that carries a number, of a key if one is named.
pub(crate) fn publication(place: &str, key: Option<&str>, number: usize) -> Publication {
    let mut headers = Headers::new();
    headers.insert("region", "eu").unwrap();
    Publication {
        id: MessageId::new(Uuid::now_v7()),
        place: place.to_owned(),
        key: key.map(|key| OrderingKey::new(key).unwrap()),
        attributes: vec![("type".to_owned(), "order paid".to_owned())],
        headers,
        body: Payload::json(format!("{{\"number\":{number}}}")),
    }
}

/// One with a body of so many bytes.
pub(crate) fn heavy(place: &str, bytes: usize) -> Publication {
    Publication {
        body: Payload::new("text/plain", vec![b'x'; bytes]).unwrap(),
        ..publication(place, None, 0)
    }
}

/// A name that no other test has.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{}", Uuid::now_v7().simple())
}

pub(crate) fn all_are_confirmed(answers: &[Published]) -> bool {
    answers.iter().all(|answer| *answer == Published::Confirmed)
}

/// Why it is refused.
#[track_caller]
pub(crate) fn refusal(answer: &Published) -> &str {
    match answer {
        Published::Refused(why) => why.as_str(),
        other => panic!("it is not refused: {other:?}"),
    }
}

/// Why its place takes nothing.
#[track_caller]
pub(crate) fn absence(answer: &Published) -> &str {
    match answer {
        Published::Unavailable(why) => why.as_str(),
        other => panic!("its place takes messages: {other:?}"),
    }
}

/// Why it was not sent.
#[track_caller]
pub(crate) fn obstacle(answer: &Published) -> &str {
    match answer {
        Published::Unsent(why) => why.as_str(),
        other => panic!("it was sent: {other:?}"),
    }
}

/// Why it is not confirmed.
#[track_caller]
pub(crate) fn doubt(answer: &Published) -> &str {
    match answer {
        Published::Unconfirmed(why) => why.as_str(),
        other => panic!("it is not unconfirmed: {other:?}"),
    }
}
