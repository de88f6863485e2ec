use serde::{Deserialize, Serialize};

use super::{
    Attributes, Channel,
    consent::{Address, TimeZone},
};
use crate::Invalid;

/// Whom a request names: exactly one of a user, a segment and a person given by address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a recipient: either user, or segment, or addresses (email, phone, device_token, webhook, chat)"
)]
pub enum RecipientReference {
    /// A user that the directory knows.
    User {
        /// The user's id.
        user: String,
    },
    /// A named group of users that the directory knows.
    Segment {
        /// The group's name.
        segment: String,
    },
    /// A person given by address.
    Direct(DirectRecipient),
}

/// What the key of a recipient begins with that was given by address.
pub(super) const DIRECT: &str = "direct:";

/// A person given by address; at least one address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DirectRecipient {
    /// An e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// A phone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// A push token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_token: Option<String>,
    /// A URL that takes HTTP POSTs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// A chat address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The language to write in, such as `de`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

impl RecipientReference {
    /// Refuses names without text and direct recipients without an address.
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::User { user } => Invalid::unless_length("user", user, 128),
            Self::Segment { segment } => Invalid::unless_length("segment", segment, 128),
            Self::Direct(direct) => direct.check(),
        }
    }
}

impl DirectRecipient {
    fn check(&self) -> Result<(), Invalid> {
        let addresses = [&self.email, &self.phone, &self.device_token, &self.webhook, &self.chat];
        let given: Vec<&String> = addresses.into_iter().flatten().collect();
        if given.is_empty() {
            return Err(Invalid::Empty { what: "recipient (user, segment or an address)" });
        }
        given.into_iter().try_for_each(|address| Invalid::unless_length("address", address, 2048))?;
        check_spelling(self.email.as_deref(), self.phone.as_deref())
    }

    /// The recipient that these addresses make up.
    pub fn resolve(&self) -> Recipient {
        let addresses = [&self.email, &self.phone, &self.device_token, &self.webhook, &self.chat];
        let key: Vec<&str> = addresses.into_iter().map(|a| a.as_deref().unwrap_or_default()).collect();
        Recipient {
            key: format!("{DIRECT}{}", key.join("|")),
            email: self.email.clone(),
            phone: self.phone.clone(),
            device_token: self.device_token.clone(),
            webhook: self.webhook.clone(),
            chat: self.chat.clone(),
            language: self.language.clone(),
            ..Recipient::default()
        }
    }
}

/// Refuses a mail address and a phone number that nothing can be sent to.
pub(super) fn check_spelling(email: Option<&str>, phone: Option<&str>) -> Result<(), Invalid> {
    let check = |channel, text: Option<&str>| text.map_or(Ok(()), |text| Address::check(channel, text));
    check(Channel::Email, email)?;
    check(Channel::Sms, phone)
}

/// One person or system, with the addresses that are known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipient {
    /// The identity of the recipient within a request, which never changes.
    pub key: String,
    /// The user's id, where it is a user; the address of the in-app channel.
    pub user: Option<String>,
    /// An e-mail address.
    pub email: Option<String>,
    /// A phone number.
    pub phone: Option<String>,
    /// A push token.
    pub device_token: Option<String>,
    /// A URL that takes HTTP POSTs.
    pub webhook: Option<String>,
    /// A chat address.
    pub chat: Option<String>,
    /// The language to write in; the template source's own default if none.
    pub language: Option<String>,
    /// The zone of its quiet hours, unless its preferences name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    /// What else the directory knows; templates read it.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

impl Recipient {
    /// A user without any address.
    pub fn user(id: &str) -> Self {
        Self { key: format!("user:{id}"), user: Some(id.into()), ..Self::default() }
    }

    /// The user whose key this is, unless the directory gives users keys of another form.
    pub fn user_of_key(key: &str) -> Option<&str> {
        key.strip_prefix("user:")
    }

    /// Where a channel reaches the recipient, if it does.
    pub fn address(&self, channel: Channel) -> Option<&str> {
        let address = match channel {
            Channel::Email => &self.email,
            Channel::Sms => &self.phone,
            Channel::Push => &self.device_token,
            Channel::Webhook => &self.webhook,
            Channel::Chat => &self.chat,
            Channel::InApp => &self.user,
        };
        address.as_deref().filter(|address| !address.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<RecipientReference, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn a_reference_names_one_of_the_three_and_nothing_else() {
        assert_eq!(read(r#"{"user":"u-1"}"#), Ok(RecipientReference::User { user: "u-1".into() }));
        assert_eq!(read(r#"{"segment":"vip"}"#), Ok(RecipientReference::Segment { segment: "vip".into() }));
        for two in [
            r#"{"user":"u-1","segment":"vip"}"#,
            r#"{"user":"u-1","email":"a@example.com"}"#,
            r#"{"segment":"vip","language":"de"}"#,
            r#"{"email":"a@example.com","nick":"a"}"#,
        ] {
            let refused = read(two).unwrap_err();
            assert!(refused.contains("either user, or segment, or addresses"), "{refused}");
        }
    }

    /// Guard: an address of a direct recipient is one that can be written to | domain/src/notification/recipient.rs `check`: no
    /// `check_spelling`
    #[test]
    fn a_direct_recipient_has_an_address_that_can_be_written_to() {
        let check = |json: &str| read(json).unwrap().check().map_err(|e| e.to_string());
        for fine in [
            r#"{"email":"ann@example.com"}"#,
            r#"{"phone":"+49 170 1234567","language":"de"}"#,
            r#"{"device_token":"t"}"#,
            r#"{"chat":"not a mail address"}"#,
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        let long = format!(r#"{{"webhook":"https://example.com/{}"}}"#, "x".repeat(2_048));
        for (refused, what) in [
            (r#"{"language":"de"}"#, "recipient (user, segment or an address) is empty"),
            (r#"{"email":""}"#, "address is empty"),
            (long.as_str(), "address"),
            (r#"{"email":"ann@"}"#, "email"),
            (r#"{"email":"ann@example.com","phone":"ann@example.com"}"#, "phone"),
        ] {
            let refusal = check(refused).unwrap_err();
            assert!(refusal.contains(what), "{refused}: {refusal}");
        }
    }
}
