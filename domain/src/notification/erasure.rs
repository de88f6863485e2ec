use super::recipient::DIRECT;
use super::{
    Channel, Content, NotificationMessage, NotificationRecord, NotificationRequest, Recipient,
    RecipientReference, consent::Address, digest::DigestItem,
};
use crate::{Fingerprint, Reason};

/// What stands where a recipient was erased.
pub const ERASED: &str = "(erased)";

impl NotificationRequest {
    /// The request without the recipient of this key, if it names that recipient; a second time it does not.
    ///
    /// The recipient's place stays, as a user that no directory knows, so that a fan-out under way goes on where it stood and counts
    /// stay as they are. Texts, parameters, notes and headers may speak of each recipient; they go when no other is left.
    pub fn without(&self, key: &str) -> Option<Self> {
        let mut erased = self.clone();
        let mut found = false;
        for reference in &mut erased.recipients {
            if key_of(reference).as_deref() == Some(key) {
                *reference = RecipientReference::User { user: ERASED.into() };
                found = true;
            }
        }
        if !found {
            return None;
        }
        if erased.recipients.iter().all(is_erased) {
            erased.content = Some(erased_content());
            (erased.template, erased.memo) = (None, None);
            (erased.headers, erased.sender) = (Default::default(), Default::default());
            erased.requester.id = ERASED.into();
        }
        Some(erased)
    }

    /// In how many places of its recipients a recipient was erased: the number only grows, so a request that was read has changed if it
    /// is larger now.
    pub fn erased_places(&self) -> usize {
        self.recipients.iter().filter(|reference| is_erased(reference)).count()
    }
}

impl NotificationRequest {
    /// Whether the recipient of this key was erased after the request was taken in, which forbids every delivery of it.
    ///
    /// `taken_in` is when the request was taken in, and `erased_at` when the recipient was erased last, as far as that is kept, both by one
    /// clock: a person who came back is written to again. A recipient for whom nothing is kept was erased if the request has a place for an erased recipient and none from
    /// which the recipient could come.
    pub fn has_lost<T: Ord>(&self, key: &str, taken_in: T, erased_at: Option<T>) -> bool {
        match erased_at {
            Some(erased_at) => taken_in <= erased_at,
            None => self.erased_places() > 0 && !self.may_reach(key),
        }
    }

    /// Whether the recipient of this key is named, or may be a member of a segment that is. A directory may give its users keys of another
    /// form, so that any user of the request may have such a key.
    fn may_reach(&self, key: &str) -> bool {
        let is_of_another_form = !key.starts_with(DIRECT) && Recipient::user_of_key(key).is_none();
        self.recipients.iter().any(|reference| match reference {
            RecipientReference::Segment { .. } => true,
            RecipientReference::User { .. } if is_of_another_form => !is_erased(reference),
            named => key_of(named).as_deref() == Some(key),
        })
    }
}

/// What is kept of an erased recipient, so that nothing is sent to it of which the record was lost: a hash of its key, which does not show it.
/// A reader who knows the key can confirm it.
pub fn recipient_hash(key: &str) -> Fingerprint {
    Fingerprint::of(&[b"erased recipient", key.as_bytes()])
}

fn is_erased(reference: &RecipientReference) -> bool {
    matches!(reference, RecipientReference::User { user } if user == ERASED)
}

impl NotificationRecord {
    /// The record without its recipient: what is left is that it was there, and how it ended.
    pub fn erased(self) -> Self {
        let reason = self.reason.map(|_| Reason::new(ERASED));
        Self { recipient: ERASED.into(), reason, reference: None, ..self }
    }
}

impl NotificationMessage {
    /// What is left of the message of an erased recipient.
    pub fn erased(id: uuid::Uuid, request_id: uuid::Uuid, channel: Channel) -> Self {
        Self {
            id,
            request_id,
            channel,
            recipient: ERASED.into(),
            address: ERASED.into(),
            category: None,
            priority: Default::default(),
            unsubscribe_url: None,
            time_zone: None,
            content: erased_content(),
            sender: None,
            expires_at: None,
            digest: None,
            traceparent: None,
        }
    }
}

/// The addresses of the recipient of a key: those of its entry in the directory, or those that the key itself is made of.
pub fn addresses_of(key: &str, entry: Option<&Recipient>) -> Vec<Address> {
    texts_of(key, entry).into_iter().map(|(channel, text)| Address::new(channel, text)).collect()
}

fn texts_of<'a>(key: &'a str, entry: Option<&'a Recipient>) -> Vec<(Channel, &'a str)> {
    let channels = [Channel::Email, Channel::Sms, Channel::Push, Channel::Webhook, Channel::Chat];
    let by_entry = entry.into_iter().flat_map(|entry| {
        channels.into_iter().filter_map(move |channel| Some((channel, entry.address(channel)?)))
    });
    let direct = key.strip_prefix(DIRECT).map(|addresses| addresses.split('|').collect::<Vec<_>>());
    let by_key = direct.filter(|addresses| addresses.len() == channels.len()).into_iter().flatten();
    let by_key = channels.into_iter().zip(by_key).filter(|(_, address)| !address.is_empty());
    by_entry.chain(by_key).collect()
}

/// The same, and the former spelling of each that had another one: rows may be kept under it.
pub fn spellings_of(key: &str, entry: Option<&Recipient>) -> Vec<Address> {
    texts_of(key, entry).into_iter().flat_map(|(channel, text)| Address::spellings(channel, text)).collect()
}

/// The address in the payload of a notification message, or in an item of a digest, in the same spellings; none if it cannot be read.
pub fn spellings_in(payload: &[u8]) -> Vec<Address> {
    let of_item = |_| serde_json::from_slice::<DigestItem>(payload).map(|item| item.message);
    let message = serde_json::from_slice::<NotificationMessage>(payload).or_else(of_item);
    message.map_or_else(|_| Vec::new(), |message| Address::spellings(message.channel, &message.address))
}

/// The key that a reference to one recipient stands for; the members of a segment are found by their records.
fn key_of(reference: &RecipientReference) -> Option<String> {
    match reference {
        RecipientReference::User { user } => Some(Recipient::user(user).key),
        RecipientReference::Direct(direct) => Some(direct.resolve().key),
        RecipientReference::Segment { .. } => None,
    }
}

fn erased_content() -> Content {
    Content { title: Some(ERASED.into()), ..Content::default() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: &str = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","requester":{"type":"user","id":"u-1"},
        "recipients":[{"user":"u-1"},{"email":"ann@example.com"},{"segment":"vip"}],"memo":"for Ann",
        "channels":["email"],"content":{"title":"Hello Ann"}}"#;

    fn read(json: &str) -> NotificationRequest {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_recipient_leaves_a_place_and_what_others_read_stays() {
        let request = read(TWO);
        let key = "direct:ann@example.com||||";
        let erased = request.without(key).unwrap();
        assert_eq!((erased.recipients.len(), erased.check()), (3, Ok(())));
        assert!(!serde_json::to_string(&erased).unwrap().contains("ann@"));
        assert_eq!((&erased.content, &erased.memo), (&request.content, &request.memo));
        assert_eq!((erased.without(key), request.without("user:u-2")), (None, None));
        assert_eq!(erased.recipients[0], request.recipients[0]);
        let again = erased.without("user:u-1").unwrap();
        assert_eq!([&request, &erased, &again].map(NotificationRequest::erased_places), [0, 1, 2]);
    }

    #[test]
    fn a_recipient_is_lost_to_requests_that_were_taken_in_before_the_erasure_and_to_no_later_ones() {
        let request = read(TWO);
        let [before, at, after] = [1, 2, 3];
        for key in ["user:u-1", "user:of-the-segment"] {
            assert!(request.has_lost(key, before, Some(at)) && request.has_lost(key, at, Some(at)));
            assert!(!request.has_lost(key, after, Some(at)) && !request.has_lost(key, before, None));
        }
        assert_ne!(recipient_hash("user:u-1"), recipient_hash("user:u-2"));
    }

    #[test]
    fn a_user_under_a_key_of_its_directory_is_not_taken_for_an_erased_one() {
        let named = read(&TWO.replace(r#",{"segment":"vip"}"#, ""));
        let erased = named.without("direct:ann@example.com||||").unwrap();
        assert!(!erased.has_lost("account:7", 1, None), "it may be the user that is left");
        assert!(erased.without("user:u-1").unwrap().has_lost("account:7", 1, None));
    }

    proptest! {
        #[test]
        fn an_erasure_that_left_no_trace_but_its_place_is_seen_where_no_other_recipient_could_be_meant(
            users in prop::collection::vec(0_u8..4, 1..6),
            gone in 0_u8..4,
            other in 0_u8..4,
            has_segment: bool,
        ) {
            let user = |n: &u8| RecipientReference::User { user: format!("u-{n}") };
            let mut request = NotificationRequest { recipients: users.iter().map(user).collect(), ..read(TWO) };
            if has_segment {
                request.recipients.push(RecipientReference::Segment { segment: "vip".into() });
            }
            let [gone_key, other_key] = [gone, other].map(|n| Recipient::user(&format!("u-{n}")).key);
            let lost = |request: &NotificationRequest, key: &str| request.has_lost(key, 1, None);
            prop_assert!(!lost(&request, &gone_key), "no recipient was erased");
            if let Some(left) = request.without(&gone_key) {
                prop_assert_eq!(lost(&left, &gone_key), !has_segment);
                let is_named = other != gone && users.contains(&other);
                prop_assert!(!(is_named && lost(&left, &other_key)), "another recipient is written to");
            }
        }
    }

    #[test]
    fn the_addresses_of_a_recipient_are_those_of_its_entry_or_of_its_key() {
        let texts = |all: Vec<Address>| all.iter().map(|one| one.as_str().to_owned()).collect::<Vec<_>>();
        let ann = Recipient {
            email: Some("Ann@example.com".into()),
            chat: Some("C1".into()),
            ..Recipient::user("a")
        };
        assert_eq!(texts(addresses_of("user:a", Some(&ann))), ["ann@example.com", "C1"]);
        assert_eq!(texts(addresses_of("direct:ann@example.com|+49 1|||", None)), ["ann@example.com", "+491"]);
        assert!(addresses_of("user:a", None).is_empty());
    }

    #[test]
    fn nothing_but_the_frame_is_left_of_a_request_to_no_other_recipient() {
        let request = read(&TWO.replace(r#"{"user":"u-1"},"#, "").replace(r#",{"segment":"vip"}"#, ""));
        let erased = request.without("direct:ann@example.com||||").unwrap();
        let text = serde_json::to_string(&erased).unwrap();
        assert!(!text.contains("Ann") && !text.contains("ann@") && !text.contains("u-1"), "{text}");
        assert_eq!((erased.id, &erased.channels, erased.check()), (request.id, &request.channels, Ok(())));
    }
}
