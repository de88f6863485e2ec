use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Due, Invalid, NewMessage,
    notification::{Content, NotificationMessage, Sender, consent::Address, delivery_message},
};

/// A message that waits for its digest, and what a template sees of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DigestItem {
    /// The message as it would be delivered by itself.
    pub message: NotificationMessage,
    /// The parameters of its request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// The recipient's language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// An item that is to join the open digest of its recipient, or to open one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewDigestItem {
    /// The item.
    pub item: DigestItem,
    /// How long a digest that it opens waits for others.
    pub window: Duration,
}

impl DigestItem {
    /// The room of a digest, about: an item that comes when it is used up opens another.
    pub const MOST: u32 = 200;
    /// So many bytes of text take as much room as an item without a text.
    const BYTES: usize = 8 * 1024;

    /// How much room it takes in a digest: one, and one more for each 8 KiB of its text, because all items are read together.
    pub fn room(&self) -> u32 {
        let Content { title, body, html, .. } = &self.message.content;
        let texts = [title, body, html].into_iter().flatten().chain(self.params.values());
        let bytes: usize = texts.map(String::len).sum();
        1 + u32::try_from(bytes / Self::BYTES).unwrap_or(Self::MOST)
    }

    /// The key that items of one digest share: that of recipient, channel, address and category, and of the sender where one is named.
    pub fn key(&self) -> Uuid {
        let message = &self.message;
        let address = Address::new(message.channel, &message.address);
        let category = message.category.as_ref().map(|category| category.as_str());
        let sender = message.sender.as_ref().map(|Sender { address, name }| [address, name]);
        let sender = sender.into_iter().flatten().map(|part| part.as_deref().unwrap_or_default());
        let parts =
            [message.channel.name(), category.unwrap_or_default(), address.as_str(), &message.recipient];
        let parts = parts.into_iter().chain(sender);
        let name: String = parts.map(|part| format!("{}\n{part}\n", part.len())).collect();
        Uuid::new_v5(&KEYS, name.as_bytes())
    }

    /// What a digest says without a template: one item says what it said by itself; of several, the titles and texts stand one below the
    /// other, as far as they fit, under the title of the first and the number of the others. `None` if there is no item.
    pub fn list(items: &[Self]) -> Option<Content> {
        let contents = || items.iter().map(|item| &item.message.content);
        let first = contents().next()?;
        if items.len() == 1 {
            return Some(first.clone());
        }
        let more = format!(" (+{})", items.len() - 1);
        let title = contents().find_map(|content| content.title.as_deref()).unwrap_or_default();
        let title = format!("{}{more}", cut(title, Content::MAX_TITLE_BYTES - more.len()));
        let text = |content: &Content| {
            let parts = [&content.title, &content.body, &content.redirect_url];
            parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
        };
        let body = contents().map(text).collect::<Vec<_>>().join("\n\n");
        let body = cut(&body, Content::MAX_BODY_BYTES).to_owned();
        Some(Content { title: Some(title.trim_start().to_owned()), body: Some(body), ..Content::default() })
    }

    /// The outbox message of the digest that this item opens, due when the window is over.
    ///
    /// It bears the item's own id, which no other digest can have, and no text: that is written of all items when it is delivered.
    pub fn opening(&self, window: Duration) -> Result<NewMessage, Invalid> {
        let opening = NotificationMessage {
            content: Content::default(),
            digest: Some(self.key()),
            expires_at: None,
            ..self.message.clone()
        };
        Ok(NewMessage { due: Due::After(window), ..delivery_message(&opening)? })
    }
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The namespace of the keys; they are compared with stored ones, so it never changes.
const KEYS: Uuid = Uuid::from_u128(0x6b0f_5e0c_2c53_4c6e_9d43_5a1d_f0a7_1e21);

#[cfg(test)]
mod tests {
    //! Promise: a digest without a template shows all titles and texts, as far as they fit
    use super::*;
    use crate::notification::{Channel, Priority};

    fn item() -> DigestItem {
        let json = r#"{"id":"018f6b2e-0000-7000-8000-000000000001","request_id":"018f6b2e-0000-7000-8000-000000000002",
            "channel":"email","recipient":"user:a","address":"a@example.com","category":"news","priority":"low",
            "content":{"title":"Hello"},"expires_at":"2026-01-01T00:00:00Z"}"#;
        DigestItem { message: serde_json::from_str(json).unwrap(), params: [].into(), language: None }
    }

    /// Guard: a digest speaks for one sender | domain/src/notification/digest/item.rs `key`: no `sender`
    #[test]
    fn items_of_one_recipient_channel_address_category_and_sender_share_a_key() {
        let key = |edit: fn(&mut NotificationMessage)| {
            let mut item = item();
            edit(&mut item.message);
            item.key()
        };
        let same: [fn(&mut NotificationMessage); 4] = [
            |_| (),
            |m| m.id = Uuid::nil(),
            |m| m.address = "A@Example.com".into(),
            |m| m.priority = Priority::Normal,
        ];
        let others: [fn(&mut NotificationMessage); 7] = [
            |m| m.recipient = "user:b".into(),
            |m| m.channel = Channel::Push,
            |m| m.address = "b@example.com".into(),
            |m| m.category = None,
            |m| (m.address, m.recipient) = ("a@example.com\n".into(), "user:a\n".into()),
            |m| m.sender = Some(Sender { name: Some("Shop".into()), address: None }),
            |m| m.sender = Some(Sender { name: None, address: Some("Shop".into()) }),
        ];
        assert!(same.iter().all(|edit| key(*edit) == item().key()));
        assert!(others.iter().all(|edit| key(*edit) != item().key()));
        let [.., by_name, by_address] = others;
        assert_eq!(key(by_name), key(by_name));
        assert_ne!(key(by_name), key(by_address));
        // Digests that are open while a process is replaced are found by it.
        assert_eq!(item().key().to_string(), "c68e3207-6447-52d2-b628-c74bc039f9ea");
    }

    #[test]
    fn without_a_template_one_item_says_what_it_said_and_several_stand_below_each_other() {
        let of = |title: &str, body: &str| {
            let mut item = item();
            item.message.content = Content {
                title: Some(title.into()),
                body: (!body.is_empty()).then(|| body.into()),
                ..Content::default()
            };
            item
        };
        assert_eq!(DigestItem::list(&[]), None);
        assert_eq!(DigestItem::list(&[of("A", "a")]), Some(of("A", "a").message.content));
        let listed = DigestItem::list(&[of("A", "a"), of("B", ""), of("C", "c")]).unwrap();
        assert_eq!(listed, of("A (+2)", "A\na\n\nB\n\nC\nc").message.content);
        let (title, body) = ("ü".repeat(512), "b".repeat(Content::MAX_BODY_BYTES));
        let long = DigestItem::list(&[of(&title, &body), of(&title, &body)]).unwrap();
        assert_eq!(long.check(), Ok(()));
        assert!(long.title.unwrap().ends_with(" (+1)"));
    }

    #[test]
    fn the_first_item_opens_the_digest_under_its_own_id_and_says_nothing() {
        let opening = item().opening(Duration::from_secs(60)).unwrap();
        assert_eq!(
            (opening.id.uuid(), opening.due),
            (item().message.id, Due::After(Duration::from_secs(60)))
        );
        assert_eq!(opening.queue.as_str(), Priority::Low.message_queue());
        let message: NotificationMessage = serde_json::from_slice(opening.payload.bytes()).unwrap();
        assert_eq!((message.digest, message.expires_at), (Some(item().key()), None));
        assert_eq!(message.content, Content::default());
        assert_eq!(message.address, "a@example.com");
    }
}
