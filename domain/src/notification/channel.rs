use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A way to reach a recipient.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A mail to an e-mail address.
    Email,
    /// A text message to a phone number.
    Sms,
    /// A push notification to a device token.
    Push,
    /// An HTTP POST to the recipient's URL.
    Webhook,
    /// A chat message to a chat address.
    Chat,
    /// An entry in the application's own inbox of a user.
    InApp,
}

impl Channel {
    /// Every channel.
    pub const ALL: [Self; 6] = [Self::Email, Self::Sms, Self::Push, Self::Webhook, Self::Chat, Self::InApp];

    /// The channel's name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Push => "push",
            Self::Webhook => "webhook",
            Self::Chat => "chat",
            Self::InApp => "in_app",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Channel {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|channel| channel.name() == name).ok_or_else(|| Invalid::OutOfRange {
            what: "channel",
            given: name.into(),
            allowed: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}
