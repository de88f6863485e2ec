use claimstream_domain::{
    Invalid,
    notification::{Channel, DeliveryReceipt, ReceiptOf, provider::ProviderName},
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ReceiptKinds;

/// Where in a body what stands, as JSON pointers (RFC 6901). A form is read as an object of its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptMapping {
    /// The text that holds JSON, in which everything else stands; without one that is the body itself.
    pub body: Option<String>,
    /// The list of events; without one the body is the event, or a list of them.
    pub events: Option<String>,
    /// The words that say what happened, within an event.
    pub kind: Vec<String>,
    /// What these words mean.
    pub kinds: ReceiptKinds,
    /// Our id of the message, which the provider repeats: a UUID, or the Message-ID of a mail.
    pub message: Option<String>,
    /// The provider's name for the delivery.
    pub reference: Option<String>,
    /// The channel of the addresses, if the provider serves one channel alone: no pointer. A receipt whose message is no longer kept
    /// suppresses its address on this channel.
    pub channel: Option<Channel>,
    /// The address.
    pub address: Option<String>,
    /// When it happened.
    pub at: Option<String>,
    /// Why it happened.
    pub note: Option<String>,
}

/// What a body says.
#[derive(Debug, Default)]
pub(crate) struct Mapped {
    pub(crate) receipts: Vec<DeliveryReceipt>,
    /// Events of kinds that no rule names.
    pub(crate) ignored: u64,
    /// Events that name no message, and one for a body without what `body` or `events` leads to.
    pub(crate) faulty: u64,
}

impl ReceiptMapping {
    /// The most events of one body.
    pub(crate) const MOST: usize = 20_000;

    /// Refuses pointers that are none, and a mapping that finds no message or no kind.
    pub fn check(&self) -> Result<(), Invalid> {
        let places = [&self.body, &self.events, &self.message, &self.reference];
        let optional = places.into_iter().chain([&self.address, &self.at, &self.note]);
        let pointers = optional.flatten().chain(&self.kind);
        if let Some(wrong) = pointers.into_iter().find(|pointer| !pointer.starts_with('/')) {
            let why = format!("{wrong:?}; a JSON pointer begins with /, such as /data/id");
            return Err(Invalid::Malformed { what: "receipts mapping", why });
        }
        if self.kind.is_empty() || self.kinds.longest() > self.kind.len() {
            let why = format!(
                "kinds has {} words, and kind has {} pointers",
                self.kinds.longest(),
                self.kind.len()
            );
            return Err(Invalid::Malformed { what: "receipts mapping", why });
        }
        match self.message.is_none() && self.reference.is_none() {
            true => Err(Invalid::Contradiction(
                "receipts need a pointer to the reference, or to our message id".into(),
            )),
            false => Ok(()),
        }
    }

    /// What a body says; a body that is no JSON and no form, or has too many events, is refused.
    pub(crate) fn read(&self, provider: &ProviderName, is_form: bool, body: &[u8]) -> Result<Mapped, String> {
        let body = match is_form {
            true => form(body),
            false => serde_json::from_slice(body).map_err(|e| format!("the body is no JSON: {e}"))?,
        };
        let inner = match &self.body {
            Some(pointer) => json_in_text(&body, pointer),
            None => Some(body),
        };
        let events = inner.as_ref().and_then(|inner| match &self.events {
            Some(pointer) => inner.pointer(pointer),
            None => Some(inner),
        });
        let Some(events) = events else {
            return Ok(Mapped { faulty: 1, ..Mapped::default() });
        };
        let events = match events {
            Value::Array(events) => events.as_slice(),
            Value::Null => &[],
            one => std::slice::from_ref(one),
        };
        if events.len() > Self::MOST {
            return Err(format!("the body has {} events, and {} are the most", events.len(), Self::MOST));
        }
        let mut mapped = Mapped::default();
        for event in events {
            self.add(provider, event, &mut mapped);
        }
        Ok(mapped)
    }

    fn add(&self, provider: &ProviderName, event: &Value, mapped: &mut Mapped) {
        let words: Vec<_> = self.kind.iter().map(|pointer| word(event, pointer)).collect();
        let Some(kind) = self.kinds.of(&words) else {
            mapped.ignored += 1;
            return;
        };
        let at = |pointer: &Option<String>| pointer.as_deref().and_then(|pointer| word(event, pointer));
        let message = at(&self.message).and_then(|text| message_id(&text)).map(ReceiptOf::Message);
        let of = message.or_else(|| at(&self.reference).map(ReceiptOf::Reference));
        let receipt = of.and_then(|of| {
            let (address, said_at, note) = (at(&self.address), at(&self.at), at(&self.note));
            let (provider, channel) = (provider.clone(), self.channel);
            DeliveryReceipt { provider, of, kind, channel, address, said_at, note }.checked().ok()
        });
        match receipt {
            Some(receipt) => mapped.receipts.push(receipt),
            None => mapped.faulty += 1,
        }
    }
}

fn json_in_text(body: &Value, pointer: &str) -> Option<Value> {
    serde_json::from_str(body.pointer(pointer)?.as_str()?).ok()
}

/// A text, a number or a truth value as text.
fn word(event: &Value, pointer: &str) -> Option<String> {
    match event.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Our id in a text: the id itself, or what stands before the `@` of a Message-ID.
fn message_id(text: &str) -> Option<Uuid> {
    let text = text.trim().trim_start_matches('<');
    text.split('@').next()?.trim_end_matches('>').parse().ok()
}

fn form(body: &[u8]) -> Value {
    let fields = form_urlencoded::parse(body)
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())));
    Value::Object(fields.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::ReceiptKind;

    use super::*;

    fn mapping() -> ReceiptMapping {
        ReceiptMapping {
            body: None,
            events: None,
            kind: vec!["/event".into(), "/severity".into()],
            kinds: "delivered=delivered, failed/permanent=bounced, failed=soft_bounced".parse().unwrap(),
            message: Some("/headers/message-id".into()),
            reference: Some("/sid".into()),
            channel: None,
            address: Some("/to".into()),
            at: Some("/timestamp".into()),
            note: Some("/reason".into()),
        }
    }

    fn read(mapping: &ReceiptMapping, body: &str) -> Mapped {
        mapping.check().unwrap();
        mapping.read(&ProviderName::new("mail").unwrap(), false, body.as_bytes()).unwrap()
    }

    #[test]
    fn an_event_becomes_a_receipt() {
        let body = r#"{"event": "failed", "severity": "permanent", "sid": 17, "to": "a@b.c", "timestamp": 1.5, "reason": "gone"}"#;
        let receipts = read(&mapping(), body).receipts;
        let [receipt] = &receipts[..] else { panic!("{receipts:?}") };
        assert_eq!((receipt.kind, &receipt.of), (ReceiptKind::Bounced, &ReceiptOf::Reference("17".into())));
        assert_eq!(receipt.address.as_deref(), Some("a@b.c"));
        assert_eq!((receipt.said_at.as_deref(), receipt.note.as_deref()), (Some("1.5"), Some("gone")));
    }

    #[test]
    fn our_id_stands_before_a_reference_and_may_be_that_of_a_mail() {
        let id = Uuid::from_u128(9);
        for text in [format!("{id}"), format!("<{id}@shop.example>"), format!("{id}@shop.example")] {
            let body =
                format!(r#"{{"event": "delivered", "sid": "x", "headers": {{"message-id": "{text}"}}}}"#);
            assert_eq!(read(&mapping(), &body).receipts[0].of, ReceiptOf::Message(id), "{text}");
        }
        let foreign = r#"{"event": "delivered", "sid": "x", "headers": {"message-id": "<a@b>"}}"#;
        assert_eq!(read(&mapping(), foreign).receipts[0].of, ReceiptOf::Reference("x".into()));
    }

    #[test]
    fn a_body_has_one_event_or_a_list_of_them_somewhere() {
        let events = r#"[{"event": "delivered", "sid": "1"}, {"event": "opened"}, {"event": "delivered"}, 7,
            {"event": "failed", "sid": "2", "to": 5}]"#;
        let wrapped = ReceiptMapping { events: Some("/data/all".into()), ..mapping() };
        for mapped in
            [read(&mapping(), events), read(&wrapped, &format!(r#"{{"data": {{"all": {events}}}}}"#))]
        {
            assert_eq!((mapped.receipts.len(), mapped.ignored, mapped.faulty), (2, 2, 1), "{mapped:?}");
            assert_eq!(mapped.receipts[1].kind, ReceiptKind::SoftBounced);
        }
        let provider = ProviderName::new("mail").unwrap();
        assert!(mapping().read(&provider, false, b"{").unwrap_err().contains("no JSON"));
        let many = serde_json::to_vec(&vec![0; 20_001]).unwrap();
        assert!(mapping().read(&provider, false, &many).unwrap_err().contains("20001 events"));
    }

    /// Guard: a body without the list of events is no body without events | src/receipts/mapping.rs `read`: a list that is
    /// missing counts as an empty one
    #[test]
    fn a_body_without_the_list_is_faulty() {
        let wrapped = ReceiptMapping { events: Some("/data/all".into()), ..mapping() };
        for (body, faulty) in [
            ("{}", 1),
            (r#"{"data": {"event": "delivered", "sid": "1"}}"#, 1),
            (r#"{"data": {"all": []}}"#, 0),
            (r#"{"data": {"all": null}}"#, 0),
        ] {
            let mapped = read(&wrapped, body);
            assert_eq!((mapped.receipts.len(), mapped.ignored, mapped.faulty), (0, 0, faulty), "{body}");
        }
    }

    /// In the shapes of Amazon SNS and of Mandrill.
    ///
    /// Guard: the JSON in a text of the body is read | src/receipts/mapping.rs `read`: `inner` is the body
    #[test]
    fn events_may_stand_in_a_text_of_the_body() {
        let message = Some("/Message".to_owned());
        let wrapped = ReceiptMapping { body: message.clone(), ..mapping() };
        let listed = ReceiptMapping { body: message, events: Some("/all".into()), ..mapping() };
        let events = r#"[{"event": "delivered", "sid": "1"}, {"event": "opened"}]"#;
        let inside = |text: &str| serde_json::json!({"Type": "Notification", "Message": text}).to_string();
        for mapped in
            [read(&wrapped, &inside(events)), read(&listed, &inside(&format!(r#"{{"all": {events}}}"#)))]
        {
            assert_eq!((mapped.receipts.len(), mapped.ignored, mapped.faulty), (1, 1, 0), "{mapped:?}");
        }
        for body in [inside("Successfully validated SNS topic."), events.to_owned(), "{}".to_owned()] {
            let mapped = read(&wrapped, &body);
            assert_eq!((mapped.receipts.len(), mapped.ignored, mapped.faulty), (0, 0, 1), "{body}");
        }
        let fields = ReceiptMapping { body: Some("/events".into()), ..mapping() };
        let form = b"events=%5B%7B%22event%22%3A%22delivered%22%2C%22sid%22%3A%221%22%7D%5D";
        let mapped = fields.read(&ProviderName::new("mail").unwrap(), true, form).unwrap();
        assert_eq!(mapped.receipts.len(), 1);
    }

    #[test]
    fn a_form_is_an_object_of_its_fields() {
        let mapped =
            mapping().read(&ProviderName::new("sms").unwrap(), true, b"event=delivered&sid=SM+1&to=%2B49");
        let receipt = &mapped.unwrap().receipts[0];
        assert_eq!(
            (&receipt.of, receipt.address.as_deref()),
            (&ReceiptOf::Reference("SM 1".into()), Some("+49"))
        );
    }

    #[test]
    fn a_mapping_that_finds_nothing_is_refused() {
        let why = |edit: fn(&mut ReceiptMapping)| {
            let mut mapping = mapping();
            edit(&mut mapping);
            mapping.check().unwrap_err().to_string()
        };
        assert!(why(|m| m.at = Some("timestamp".into())).contains("begins with /"));
        assert!(why(|m| m.body = Some("Message".into())).contains("begins with /"));
        assert!(why(|m| m.kind.truncate(1)).contains("2 words, and kind has 1 pointers"));
        assert!(why(|m| (m.message, m.reference) = (None, None)).contains("reference"));
    }
}
