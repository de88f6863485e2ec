use std::{fmt, str::FromStr};

use super::recorded::Answer;
use crate::{Invalid, notification::consent::Suppression};

/// What a provider's answer means, from which everything else follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Judgement {
    /// The provider took the message.
    Delivered,
    /// No provider will take this message, for what is in it.
    MessageRefused,
    /// The recipient does not take this message; it may take others.
    RecipientRefused,
    /// Nothing must be sent to this address again.
    AddressRefused(Suppression),
    /// The recipient does not take it now.
    RecipientDeferred,
    /// The provider refuses us, whatever the message: our host name, login, quota, rights or sender.
    ConfigurationRefused,
    /// The provider takes no more messages for a while; it is in order.
    Throttled,
    /// The provider failed, and has not taken the message.
    ServiceFailed,
    /// The provider may have taken the message.
    Unknown,
    /// The provider cannot be reached, or takes nothing at all.
    ServiceDown,
}

/// Whose fault it is that a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// The recipient's.
    Recipient,
    /// The message's.
    Message,
    /// Ours: a setting, an account, a DNS record.
    Configuration,
    /// The provider's.
    Service,
}

impl Judgement {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Delivered,
        Self::MessageRefused,
        Self::RecipientRefused,
        Self::AddressRefused(Suppression::Bounced),
        Self::AddressRefused(Suppression::Unsubscribed),
        Self::AddressRefused(Suppression::Complained),
        Self::RecipientDeferred,
        Self::ConfigurationRefused,
        Self::Throttled,
        Self::ServiceFailed,
        Self::Unknown,
        Self::ServiceDown,
    ];

    /// The word for it in settings and tables of answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::MessageRefused => "permanent",
            Self::RecipientRefused => "recipient",
            Self::AddressRefused(suppression) => suppression.name(),
            Self::RecipientDeferred => "deferred",
            Self::ConfigurationRefused => "configuration",
            Self::Throttled => "throttled",
            Self::ServiceFailed => "transient",
            Self::Unknown => "unknown",
            Self::ServiceDown => "provider_down",
        }
    }

    /// What is recorded of it.
    pub fn answer(self) -> Answer {
        match self {
            Self::Delivered => Answer::DELIVERED,
            Self::MessageRefused | Self::RecipientRefused | Self::AddressRefused(_) => Answer::REFUSED,
            Self::RecipientDeferred | Self::ServiceFailed => Answer::LATER,
            Self::ConfigurationRefused | Self::ServiceDown => Answer::NO_SESSION,
            Self::Throttled => Answer::THROTTLED,
            Self::Unknown => Answer::LOST,
        }
    }

    /// Whose fault it is; none if the message was taken.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Delivered => None,
            Self::MessageRefused => Some(Fault::Message),
            Self::RecipientRefused | Self::AddressRefused(_) | Self::RecipientDeferred => {
                Some(Fault::Recipient)
            }
            Self::ConfigurationRefused => Some(Fault::Configuration),
            Self::Throttled | Self::ServiceFailed | Self::Unknown | Self::ServiceDown => Some(Fault::Service),
        }
    }

    /// Why the address is suppressed, if it is.
    pub fn suppresses(self) -> Option<Suppression> {
        match self {
            Self::AddressRefused(suppression) => Some(suppression),
            _ => None,
        }
    }

    /// Whether the provider's circuit counts it as a failure.
    pub fn speaks_against_provider(self) -> bool {
        self.fault() != Some(Fault::Recipient) && self.answer().speaks_against_provider()
    }
}

impl Fault {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recipient => "the recipient",
            Self::Message => "the message",
            Self::Configuration => "we",
            Self::Service => "the provider",
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Judgement {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::OutOfRange {
            what: "meaning of an answer",
            given: format!("{name:?}"),
            allowed: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        };
        Self::ALL.into_iter().find(|judgement| judgement.name() == name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notification::{Acceptance, AnswerClass};

    #[test]
    fn what_follows_from_a_judgement_fits_together() {
        for judgement in Judgement::ALL {
            let answer = judgement.answer();
            assert_eq!(judgement.name().parse(), Ok(judgement));
            let is_delivered = answer.class == AnswerClass::Delivered;
            assert_eq!(judgement.fault().is_none(), is_delivered, "{judgement}");
            assert_eq!(is_delivered, answer.acceptance == Acceptance::Accepted, "{judgement}");
            if judgement.suppresses().is_some() {
                assert_eq!((answer, judgement.fault()), (Answer::REFUSED, Some(Fault::Recipient)));
            }
            if judgement.fault() == Some(Fault::Configuration) {
                assert!(judgement.speaks_against_provider() && answer == Answer::NO_SESSION);
            }
        }
        assert!("fine".parse::<Judgement>().unwrap_err().to_string().contains("provider_down"));
    }
}
