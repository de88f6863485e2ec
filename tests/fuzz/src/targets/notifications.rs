use std::sync::LazyLock;

use claimstream_domain::notification::{
    AddressRule, Channel, DirectRecipient, InboxKeys, InboxToken, Network, NotificationRequest,
    RecipientReference,
    consent::{Address, Unsubscribe, UnsubscribeKeys},
};

use crate::{
    Target,
    head::{split, text},
};

/// A line of `claimstream notify`: a request in JSON.
pub(super) const REQUEST_LINE: Target = Target {
    name: "request_line",
    run: |data| {
        let Ok(request) = serde_json::from_slice::<NotificationRequest>(data) else { return false };
        request.due();
        if request.check().is_err() {
            return false;
        }
        let written = serde_json::to_vec(&request).expect("a request in JSON");
        let read: NotificationRequest = serde_json::from_slice(&written).expect("a request that was written");
        assert_eq!(read, request);
        assert_eq!(read.fingerprint(), request.fingerprint());
        for recipient in &request.recipients {
            let json = serde_json::to_string(recipient).expect("a recipient in JSON");
            let again: RecipientReference = serde_json::from_str(&json).expect("a recipient that was written");
            assert_eq!(again, *recipient);
        }
        true
    },
    seeds: &[
        br#"{"id":"019ac0de-0000-7000-8000-000000000001","requester":{"type":"service","id":"shop"},"recipients":[{"email":"ann@example.com"},{"user":"7"},{"segment":"all"}],"channels":["email","sms"],"content":{"title":"Paid","body":"Order 7 is paid"},"priority":"high","category":"orders","scheduled_at":"2026-11-28T10:00:00Z"}"#,
        br#"{"id":"019ac0de-0000-7000-8000-000000000002","requester":{"type":"user","id":"ann"},"recipients":[{"phone":"+49 170 1234567","language":"de"}],"channels":["push","webhook","chat","in_app"],"template":{"id":"welcome","params":{"name":"Ann"}},"headers":{"region":"eu"}}"#,
    ],
};

/// An address of each channel, and a rule with an address of the network.
pub(super) const ADDRESS: Target = Target {
    name: "address",
    run: |data| {
        let (rule, address) = split(data, b'\n');
        let (Some(rule), Some(address)) = (text(rule), text(address)) else { return false };
        for channel in Channel::ALL {
            let one = Address::new(channel, address);
            assert_eq!(
                Address::new(channel, one.as_str()).as_str(),
                one.as_str(),
                "an address changes again"
            );
        }
        let (email, phone) = (Some(address.to_owned()), Some(address.to_owned()));
        DirectRecipient { email, phone, ..DirectRecipient::default() }.resolve();
        let network = rule.parse::<Network>();
        if let Ok(network) = &network {
            assert_eq!(network.to_string().parse().as_ref(), Ok(network));
        }
        let Ok(rule) = rule.parse::<AddressRule>() else { return false };
        assert_eq!(rule.to_string().parse().as_ref(), Ok(&rule));
        address.parse().map(|address| rule.judge(address)).ok();
        true
    },
    seeds: &[
        b"10.0.0.0/8, fd00::/8\n::ffff:10.0.0.7",
        b"true\nAnn.B+tag@Example.COM",
        b"169.254.169.254/32\n+49 (170) 123-4567",
        b"64:ff9b::/96\nhttps://hooks.example.com/a?b",
    ],
};

/// A token of an unsubscribe link or of an inbox: only what was signed is taken.
pub(super) const TOKEN: Target = Target {
    name: "signed_token",
    run: |data| {
        let Some(token) = text(data) else { return false };
        if let Ok(unsubscribe) = KEYS.0.verify(token) {
            assert_eq!(KEYS.0.sign(&unsubscribe), token, "another token than ours is taken");
        }
        if let Some(pass) = KEYS.1.verify(token, 1) {
            assert_eq!(KEYS.1.sign(&pass), token, "another token than ours is taken");
        }
        // What is signed says what it said, whatever characters it has.
        let pass = InboxToken { user: token.to_owned(), until: 7 };
        assert_eq!(KEYS.1.verify(&KEYS.1.sign(&pass), 6), Some(pass));
        if let Ok(category) = "news".parse() {
            let unsubscribe = Unsubscribe { recipient: token.to_owned(), channel: Channel::Email, category };
            assert_eq!(KEYS.0.verify(&KEYS.0.sign(&unsubscribe)).ok(), Some(unsubscribe));
        }
        true
    },
    seeds: &[
        b"aW5ib3gtMQo3CmFubg.BmXl5VwEUJmN0Hh2y1yJxVb0hJ8f8nZ0aVxq3sT6p1o",
        b"inbox-1\n7\nann",
        b"1\nemail\nnews\nuser:7",
    ],
};

static KEYS: LazyLock<(UnsubscribeKeys, InboxKeys)> = LazyLock::new(|| {
    let unsubscribe = UnsubscribeKeys::new([&[7; 32][..]]).expect("keys");
    (unsubscribe, InboxKeys::new([&[8; 32][..]]).expect("keys"))
});
