use std::borrow::Cow;

use super::{
    NotificationMessage,
    consent::{Address, preference_key},
    recipient::DIRECT,
};

impl NotificationMessage {
    /// The message as it leaves for others: a person given by several addresses is named by the one that it goes to, such as
    /// `email:ann@example.com`, so that the others are not shown.
    pub fn shown(&self) -> Cow<'_, Self> {
        match self.recipient.starts_with(DIRECT) {
            true => {
                let recipient = preference_key(&self.recipient, &Address::new(self.channel, &self.address));
                Cow::Owned(Self { recipient, ..self.clone() })
            }
            false => Cow::Borrowed(self),
        }
    }
}
