use claimstream_domain::{DedupKey, MessageId, QueueName, notification::NewInAppEntry};
use serde::Deserialize;
use uuid::Uuid;

/// What a user looks for, as the form says it.
#[derive(Deserialize, Default)]
pub(crate) struct FindForm {
    by: Option<String>,
    text: Option<String>,
    queue: Option<String>,
}

/// By what something is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Id,
    DedupKey,
    OrderingKey,
    Recipient,
}

/// A question that an index answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// The message, dead letter or request of this id.
    Id(MessageId),
    /// The message that has taken this key of this queue.
    DedupKey(QueueName, DedupKey),
    /// The messages in the inbox of this user inside the application.
    Inbox(String),
}

impl FindForm {
    /// The choice; by id unless another one was made.
    pub(crate) fn by(&self) -> Option<By> {
        let name = self.by.as_deref().unwrap_or(By::Id.name());
        By::ALL.into_iter().find(|by| by.name() == name)
    }

    /// What is looked for, without blanks around it.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default().trim()
    }

    /// The name of the queue, without blanks around it.
    pub(crate) fn queue(&self) -> &str {
        self.queue.as_deref().unwrap_or_default().trim()
    }
}

impl By {
    pub(crate) const ALL: [Self; 4] = [Self::Id, Self::DedupKey, Self::OrderingKey, Self::Recipient];

    /// Its name in the form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::DedupKey => "dedup_key",
            Self::OrderingKey => "ordering_key",
            Self::Recipient => "recipient",
        }
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Id => "Id of a message, a dead letter or a request",
            Self::DedupKey => "Dedup key",
            Self::OrderingKey => "Ordering key",
            Self::Recipient => "Recipient",
        }
    }
}

/// The longest text that is looked for, in bytes: no key is longer.
const LONGEST: usize = 255;

const BY_ORDERING_KEY: &str = "No index leads from an ordering key to its messages: each message would have to write it, and claims would pay for it. Look for \
     the id of a message, or for its dedup key. The page of a message or of a dead letter shows its ordering key.";

const BY_ADDRESS: &str = "No index leads from an address to its messages: each message would have to write it. Look for the request by its id, or in the \
     list of requests by its requester; its page shows the status of each recipient. Only inboxes in the application are found by \
     recipient, by the id of the user, such as user:u-17.";

impl Question {
    /// The question of a form, or why nothing answers it.
    pub(crate) fn of(form: &FindForm) -> Result<Self, String> {
        let text = form.text();
        let by = form.by().ok_or("Choose by what to look.")?;
        if text.is_empty() {
            return Err("Type in what to look for.".into());
        }
        if text.len() > LONGEST {
            return Err(format!("This is too long: ids and keys have at most {LONGEST} bytes."));
        }
        match by {
            By::Id => Uuid::try_parse(text).map(|id| Self::Id(MessageId::new(id))).map_err(|_| {
                "This is no id. An id looks like 01890a5d-ac96-774b-bcce-b302099a8057; a key is looked for by another choice of the list."
                    .into()
            }),
            By::DedupKey => Self::by_dedup_key(form.queue(), text),
            By::OrderingKey => Err(BY_ORDERING_KEY.into()),
            By::Recipient => Self::by_recipient(text),
        }
    }

    fn by_dedup_key(queue: &str, key: &str) -> Result<Self, String> {
        if queue.is_empty() {
            return Err("A dedup key is unique within its queue. Name the queue too.".into());
        }
        let queue = QueueName::new(queue).map_err(|e| e.to_string())?;
        Ok(Self::DedupKey(queue, DedupKey::new(key).map_err(|e| e.to_string())?))
    }

    fn by_recipient(text: &str) -> Result<Self, String> {
        let user = text.strip_prefix("user:").unwrap_or(text);
        if user.is_empty() || user.len() > NewInAppEntry::MAX_USER_BYTES || text.contains('@') {
            return Err(BY_ADDRESS.into());
        }
        Ok(Self::Inbox(user.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(by: &str, text: &str, queue: &str) -> Result<Question, String> {
        let some = |text: &str| Some(text.to_owned());
        Question::of(&FindForm { by: some(by), text: some(text), queue: some(queue) })
    }

    #[test]
    fn what_an_index_serves_is_a_question() {
        let id = Uuid::from_u128(7);
        assert_eq!(asked("id", &format!("  {id}\n"), ""), Ok(Question::Id(MessageId::new(id))));
        let key = asked("dedup_key", " order-7 ", " orders ");
        assert_eq!(key, Ok(Question::DedupKey("orders".parse().unwrap(), "order-7".parse().unwrap())));
        assert_eq!(asked("recipient", "user:u-17", ""), Ok(Question::Inbox("u-17".into())));
    }

    #[test]
    fn what_no_index_serves_is_refused_with_what_would_work() {
        for (by, text) in [("ordering_key", "account-7"), ("recipient", "ann@example.com")] {
            let why = asked(by, text, "orders").unwrap_err();
            assert!(why.starts_with("No index leads from") && why.contains("Look for"), "{why}");
        }
        assert!(asked("dedup_key", "order-7", " ").unwrap_err().contains("Name the queue too"));
        assert!(asked("id", "order-7", "").unwrap_err().starts_with("This is no id."));
        assert!(asked("id", " ", "").unwrap_err().starts_with("Type in"));
        assert!(asked("payload", "x", "").unwrap_err().starts_with("Choose"));
        assert!(asked("dedup_key", &"ü".repeat(128), "orders").unwrap_err().contains("too long"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_question_or_is_refused_with_a_sentence(
            by in 0..4_usize, text in "\\PC*|[\\x00-\\x7f]{0,300}", queue in "\\PC{0,80}",
        ) {
            if let Err(why) = asked(By::ALL[by].name(), &text, &queue) {
                prop_assert!(!why.is_empty());
            }
        }
    }
}
