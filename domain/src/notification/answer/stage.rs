use std::{fmt, str::FromStr};

use super::judgement::Judgement;
use crate::Invalid;

/// How far an SMTP dialogue had come when its server answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SmtpStage {
    /// The connection, its greeting, its encryption, and EHLO.
    Session,
    /// The login.
    Login,
    /// MAIL FROM.
    Sender,
    /// RCPT TO.
    Recipient,
    /// DATA, before anything of the mail was sent.
    Data,
    /// The end of the mail.
    End,
}

impl SmtpStage {
    /// Every stage, in their order.
    pub const ALL: [Self; 6] =
        [Self::Session, Self::Login, Self::Sender, Self::Recipient, Self::Data, Self::End];

    /// What it means that no reply came, or none that can be read: once the mail was sent, the server may have taken it.
    pub fn unanswered(self) -> Judgement {
        match self {
            Self::Session | Self::Login => Judgement::ServiceDown,
            Self::Sender | Self::Recipient | Self::Data => Judgement::ServiceFailed,
            Self::End => Judgement::Unknown,
        }
    }

    /// The stage's name in a table of answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Login => "login",
            Self::Sender => "mail",
            Self::Recipient => "rcpt",
            Self::Data => "data",
            Self::End => "end",
        }
    }
}

impl fmt::Display for SmtpStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SmtpStage {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::Malformed {
            what: "stage of an SMTP dialogue",
            why: format!("{name:?}; the stages are {}", Self::ALL.map(Self::name).join(", ")),
        };
        Self::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(unknown)
    }
}
