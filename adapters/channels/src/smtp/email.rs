use std::sync::Arc;

use claimstream_domain::notification::{Content, NotificationMessage, consent::respelled};
use claimstream_ports::notification::DeliveryError;
use lettre::{
    Message,
    message::{
        Mailbox, MessageBuilder, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
};

use super::{
    line_ends::{are_sound, normalised},
    parts::with_files,
};
use crate::attachments::FetchedFile;

/// The mail that carries a message: its text, and its page as an alternative if there is one; or why no mail can carry it.
///
/// The Message-ID is made of the message's id and the domain of the sender that was set up, so that a mail which is sent again
/// is recognised. A picture is shown at the head of the page; where there is no page, the text ends with its address.
pub(super) fn email(
    from: &Mailbox,
    message: &NotificationMessage,
    files: &[Arc<FetchedFile>],
) -> Result<Message, DeliveryError> {
    let to: Mailbox =
        respelled(&message.address).parse().map_err(|e| refuse(format!("the address is not valid: {e}")))?;
    let id = format!("<{}@{}>", message.id, from.email.domain());
    let mail = Message::builder().from(sender(from, message)?).to(to).message_id(Some(id));
    let mail = match &message.content.title {
        Some(title) => mail.subject(title),
        None => mail,
    };
    let mail = unsubscribe(message).into_iter().fold(mail, MessageBuilder::raw_header);
    let mail = mail.raw_header(automatic());
    let text = normalised(&text(&message.content));
    let page = page(&message.content).map(|page| normalised(&page));
    let mail = match (page, files) {
        (Some(page), []) => mail.multipart(MultiPart::alternative_plain_html(text, page)),
        (None, []) => mail.header(ContentType::TEXT_PLAIN).body(text),
        (Some(page), files) => {
            let body = MultiPart::mixed().multipart(MultiPart::alternative_plain_html(text, page));
            mail.multipart(with_files(body, &message.content.attachments, files)?)
        }
        (None, files) => {
            let body = MultiPart::mixed().singlepart(SinglePart::plain(text));
            mail.multipart(with_files(body, &message.content.attachments, files)?)
        }
    };
    let mail = mail.map_err(|e| refuse(format!("the message is no mail: {e}")))?;
    match are_sound(&mail.formatted()) {
        true => Ok(mail),
        false => Err(refuse("the mail would hold a bare CR, a bare LF or a NUL".to_owned())),
    }
}

/// The sender that the request names, as far as it does.
fn sender(from: &Mailbox, message: &NotificationMessage) -> Result<Mailbox, DeliveryError> {
    let Some(sender) = &message.sender else { return Ok(from.clone()) };
    let email = match &sender.address {
        Some(address) => respelled(address)
            .parse()
            .map_err(|e| refuse(format!("the sender's address is not valid: {e}")))?,
        None => from.email.clone(),
    };
    Ok(Mailbox::new(sender.name.clone().or_else(|| from.name.clone()), email))
}

/// The page of a mail, with its picture at the head.
fn page(content: &Content) -> Option<String> {
    let page = content.html.as_ref()?;
    Some(match &content.image_url {
        Some(picture) => {
            let address = picture.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
            format!("<p><img src=\"{address}\" alt=\"\"></p>\r\n{page}")
        }
        None => page.clone(),
    })
}

/// Keeps absence notes from answering (RFC 3834, section 5).
fn automatic() -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned())
}

/// Lets a mail program unsubscribe by one click (RFC 8058). The link stands there as it is: an encoded one would be no link, and a
/// blank or a line break would begin something else, so a link that has one is left out.
fn unsubscribe(message: &NotificationMessage) -> Vec<HeaderValue> {
    let is_link = |url: &&String| url.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte));
    let Some(url) = message.unsubscribe_url.as_ref().filter(is_link) else { return Vec::new() };
    let header = |name, value: String| {
        HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.clone(), value)
    };
    let mut headers = vec![header("List-Unsubscribe", format!("<{url}>"))];
    // One click is for pages that are encrypted on the way.
    if url.starts_with("https://") {
        headers.push(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()));
    }
    headers
}

fn text(content: &Content) -> String {
    let body = content.body.as_ref().or(content.title.as_ref());
    let parts = [body, content.redirect_url.as_ref(), content.image_url.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join("\n\n")
}

fn refuse(reason: String) -> DeliveryError {
    DeliveryError::Permanent { reason }
}

#[cfg(test)]
mod tests {
    //! Promise: mail programs can opt out by one click
    use claimstream_domain::notification::{Channel, Sender};
    use uuid::Uuid;

    use super::*;

    fn message(address: &str, content: Content) -> NotificationMessage {
        NotificationMessage {
            id: Uuid::from_u128(9),
            request_id: Uuid::from_u128(7),
            channel: Channel::Email,
            recipient: "user:a".into(),
            address: address.into(),
            category: None,
            priority: Default::default(),
            unsubscribe_url: None,
            time_zone: None,
            content,
            sender: None,
            expires_at: None,
            digest: None,
            traceparent: None,
        }
    }

    fn written(address: &str, content: Content) -> Result<String, DeliveryError> {
        to(address, None, content)
    }

    fn to(address: &str, unsubscribe_url: Option<String>, content: Content) -> Result<String, DeliveryError> {
        let message = NotificationMessage { unsubscribe_url, ..message(address, content) };
        let from = "Shop <no-reply@shop.example>".parse().unwrap();
        email(&from, &message, &[]).map(|mail| String::from_utf8(mail.formatted()).unwrap())
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

    /// A server that takes a bare CR for the end of a line would find a second mail in it.
    ///
    /// Guard: no mail holds a bare CR, a bare LF or a NUL | src/smtp/line_ends.rs: `normalised` and `are_sound` do nothing
    #[test]
    fn no_text_holds_a_bare_end_of_a_line() {
        let body = "a\r.\r\nMAIL FROM:<x@y.example>\r\nb\n.\nc\0";
        let html = Some(format!("<p>{body}</p>"));
        let title = "Hi\rBcc: eve@example.com\n.\r\n";
        for content in [content(title, body), Content { html, ..content(title, body) }] {
            let mail = written("Ann <ann@example.com>", content).unwrap();
            assert!(are_sound(mail.as_bytes()), "{mail:?}");
            assert!(mail.contains("a\r\n.\r\nMAIL FROM:<x@y.example>\r\nb\r\n.\r\nc"), "{mail:?}");
            assert!(!mail.contains("\nBcc"), "{mail:?}");
        }
    }

    /// So a server without SMTPUTF8 takes it.
    ///
    /// Guard: the domain of a mail address is sent in A-labels | src/smtp/email.rs `email`: `message.address.trim()`
    #[test]
    fn a_domain_in_other_letters_is_sent_in_a_labels() {
        let mail = written("Ann <\"Ann\"@b\u{fc}cher\u{200b}.example>", content("Hi", "Hello")).unwrap();
        assert!(mail.contains("To: Ann <Ann@xn--bcher-kva.example>\r\n"), "{mail}");
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
    fn a_page_accompanies_the_text_with_its_picture_and_a_text_names_the_picture() {
        let picture = Some("https://shop.example/1.png?a=1&b=2".to_owned());
        let html = Some("<p>Hello</p>".to_owned());
        let mail = written(
            "ann@example.com",
            Content { html, image_url: picture.clone(), ..content("Hi", "Hello") },
        );
        let mail = mail.unwrap();
        assert!(mail.contains("multipart/alternative") && mail.contains("<p>Hello</p>"), "{mail}");
        assert!(mail.contains("a=1&amp;b=2") || mail.contains("a=3D1&amp;b=3D2"), "{mail}");
        let mail =
            written("ann@example.com", Content { image_url: picture, ..content("Hi", "Hello") }).unwrap();
        assert!(mail.contains("Hello\r\n\r\nhttps://shop.example/1.png"), "{mail}");
    }

    #[test]
    fn a_request_names_its_sender_and_the_id_keeps_its_domain() {
        let mut message = message("ann@example.com", content("Hi", "Hello"));
        message.sender =
            Some(Sender { address: Some("billing@shop.example".into()), name: Some("Billing".into()) });
        let from = "Shop <no-reply@mail.example>".parse().unwrap();
        let mail = String::from_utf8(email(&from, &message, &[]).unwrap().formatted()).unwrap();
        assert!(mail.contains("From: Billing <billing@shop.example>\r\n"), "{mail}");
        assert!(mail.contains("@mail.example>\r\n"), "{mail}");
        message.sender = Some(Sender { address: None, name: Some("Billing".into()) });
        let mail = String::from_utf8(email(&from, &message, &[]).unwrap().formatted()).unwrap();
        assert!(mail.contains("From: Billing <no-reply@mail.example>\r\n"), "{mail}");
        message.sender = Some(Sender { address: Some("no address".into()), name: None });
        assert!(matches!(email(&from, &message, &[]), Err(DeliveryError::Permanent { .. })));
    }

    #[test]
    fn a_mail_program_can_unsubscribe_by_one_click() {
        let url = format!("https://shop.example/unsubscribe/{}.{}", "x".repeat(300), "y".repeat(43));
        let mail = to("ann@example.com", Some(url.clone()), content("Hi", "Hello")).unwrap();
        assert!(mail.contains(&format!("List-Unsubscribe: <{url}>\r\n")), "{mail}");
        assert!(mail.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"), "{mail}");
        let plain = to("ann@example.com", Some("http://localhost/u".into()), content("Hi", "Hello")).unwrap();
        assert!(
            plain.contains("List-Unsubscribe: <http://localhost/u>") && !plain.contains("-Post"),
            "{plain}"
        );
        for none in [None, Some("https://shop.example/\r\nBcc: eve@example.com".to_owned())] {
            let mail = to("ann@example.com", none, content("Hi", "Hello")).unwrap();
            assert!(!mail.contains("List-") && !mail.contains("Bcc"), "{mail}");
        }
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
