use claimstream_domain::notification::{Content, NotificationMessage};
use claimstream_ports::notification::DeliveryError;
use lettre::{
    Message,
    message::{
        Mailbox,
        header::{ContentType, HeaderName, HeaderValue},
    },
};

/// The mail that carries a message, as plain text; or why it can never be one.
///
/// The Message-ID is made of the message's id and the sender's domain, so that a mail which is sent again is
/// recognised.
pub(super) fn letter(from: &Mailbox, message: &NotificationMessage) -> Result<Message, DeliveryError> {
    let to: Mailbox =
        message.address.trim().parse().map_err(|e| refuse(format!("the address is not valid: {e}")))?;
    let id = format!("<{}@{}>", message.id, from.email.domain());
    let mail = Message::builder().from(from.clone()).to(to).message_id(Some(id));
    let mail = match &message.content.title {
        Some(title) => mail.subject(title),
        None => mail,
    };
    let mail = mail.raw_header(automatic()).header(ContentType::TEXT_PLAIN);
    mail.body(text(&message.content)).map_err(|e| refuse(format!("the message is no mail: {e}")))
}

/// Keeps absence notes from answering (RFC 3834, section 5).
fn automatic() -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned())
}

fn text(content: &Content) -> String {
    let body = content.body.as_ref().or(content.title.as_ref());
    let parts = [body, content.redirect_url.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join("\n\n")
}

fn refuse(reason: String) -> DeliveryError {
    DeliveryError::Permanent { reason }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::Channel;
    use uuid::Uuid;

    use super::*;

    fn written(address: &str, content: Content) -> Result<String, DeliveryError> {
        let message = NotificationMessage {
            id: Uuid::from_u128(9),
            request_id: Uuid::from_u128(7),
            channel: Channel::Email,
            recipient: "user:a".into(),
            address: address.into(),
            content,
        };
        let from = "Shop <no-reply@shop.example>".parse().unwrap();
        letter(&from, &message).map(|mail| String::from_utf8(mail.formatted()).unwrap())
    }

    fn content(title: &str, body: &str) -> Content {
        Content { title: Some(title.into()), body: Some(body.into()), ..Content::default() }
    }

    #[test]
    fn a_letter_bears_the_messages_id_and_the_same_one_each_time() {
        let id = "Message-ID: <00000000-0000-0000-0000-000000000009@shop.example>\r\n";
        for _ in 0..2 {
            let mail = written("Ann <ann@example.com>", content("Hi", "Hello")).unwrap();
            assert!(mail.contains(id) && mail.contains("Auto-Submitted: auto-generated\r\n"), "{mail}");
            assert!(
                mail.contains("To: Ann <ann@example.com>\r\n") && mail.contains("Subject: Hi\r\n"),
                "{mail}"
            );
            assert!(
                mail.contains("Content-Type: text/plain; charset=utf-8\r\n")
                    && mail.contains("\r\n\r\nHello")
            );
        }
    }

    #[test]
    fn a_link_follows_the_text_and_a_title_stands_in_for_it() {
        let link = Some("https://shop.example/1".to_owned());
        let mail =
            written("ann@example.com", Content { redirect_url: link, body: None, ..content("Hi", "") })
                .unwrap();
        assert!(mail.contains("\r\n\r\nHi\r\n\r\nhttps://shop.example/1"), "{mail}");
    }

    #[test]
    fn other_letters_than_ascii_are_encoded_and_a_title_cannot_add_a_header() {
        let mail =
            written("ann@example.com", content("Grüße\r\nBcc: eve@example.com", "Schöne Grüße")).unwrap();
        assert!(mail.is_ascii(), "{mail}");
        assert!(!mail.contains("\nBcc:"), "{mail}");
    }

    #[test]
    fn an_address_that_is_none_is_refused_for_good() {
        for address in
            ["", "ann", "ann@", "a@example.com, b@example.com", "ann@example.com\r\nBcc: eve@example.com"]
        {
            let refused = written(address, content("Hi", "Hello"));
            assert!(matches!(refused, Err(DeliveryError::Permanent { .. })), "{address}: {refused:?}");
        }
    }
}
