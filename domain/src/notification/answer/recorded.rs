use std::{fmt, str::FromStr};

use crate::Invalid;

/// What is recorded of a provider's answer to a message: its class, and whether the provider has the message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Answer {
    /// What can be done next.
    pub class: AnswerClass,
    /// Whether the provider has the message.
    pub acceptance: Acceptance,
}

/// Answers by what can be done next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AnswerClass {
    /// The provider took the message.
    Delivered,
    /// No attempt will ever deliver this message.
    Permanent,
    /// Another attempt at this message may deliver it.
    Transient,
    /// The provider takes no more messages for a while; it is in order.
    Throttled,
    /// The provider cannot be reached, or takes nothing from us.
    ProviderDown,
}

/// Whether a provider has a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Acceptance {
    /// It has said so.
    Accepted,
    /// It cannot have it, or has said that it has not.
    NotAccepted,
    /// Unknown, as when only its answer was lost. Another provider that gets the message may double it.
    Unknown,
}

impl Answer {
    /// The provider took the message.
    pub const DELIVERED: Self = Self::new(AnswerClass::Delivered, Acceptance::Accepted);
    /// Nothing of the message has left: no connection, no name, no greeting, no login.
    pub const NO_SESSION: Self = Self::new(AnswerClass::ProviderDown, Acceptance::NotAccepted);
    /// The message has left, and no answer came.
    pub const LOST: Self = Self::new(AnswerClass::Transient, Acceptance::Unknown);
    /// It was refused for good.
    pub const REFUSED: Self = Self::new(AnswerClass::Permanent, Acceptance::NotAccepted);
    /// It was refused for the time being.
    pub const LATER: Self = Self::new(AnswerClass::Transient, Acceptance::NotAccepted);
    /// It was refused because there were too many.
    pub const THROTTLED: Self = Self::new(AnswerClass::Throttled, Acceptance::NotAccepted);

    const fn new(class: AnswerClass, acceptance: Acceptance) -> Self {
        Self { class, acceptance }
    }

    /// What the status of an HTTP answer means where no [`AnswerTable`](super::AnswerTable) says more (RFC 9110, section 15; RFC 6585), as
    /// [`AnswerTable::gateway`](super::AnswerTable::gateway) judges it.
    ///
    /// | status | class | acceptance |
    /// |---|---|---|
    /// | 2xx | delivered | accepted |
    /// | 3xx, 401, 402, 403, 404, 405, 407: what is refused is how we ask | provider down | not accepted |
    /// | 408, 425, 503 | transient | not accepted |
    /// | 429 | throttled | not accepted |
    /// | other 5xx: the server, or one behind it, broke off | transient | unknown |
    /// | all others | permanent | not accepted |
    pub const fn of_http_status(status: u16) -> Self {
        match status {
            200..=299 => Self::DELIVERED,
            300..=399 | 401..=405 | 407 => Self::NO_SESSION,
            408 | 425 | 503 => Self::LATER,
            429 => Self::THROTTLED,
            500..=599 => Self::LOST,
            _ => Self::REFUSED,
        }
    }

    /// Whether it speaks against the provider, and not only against the message: it was out of reach, it failed, or it gave
    /// no answer.
    pub fn speaks_against_provider(self) -> bool {
        matches!(self.class, AnswerClass::ProviderDown | AnswerClass::Transient)
    }
}

impl AnswerClass {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::Delivered, Self::Permanent, Self::Transient, Self::Throttled, Self::ProviderDown];

    /// The class's name in tables, settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "DELIVERED",
            Self::Permanent => "PERMANENT",
            Self::Transient => "TRANSIENT",
            Self::Throttled => "THROTTLED",
            Self::ProviderDown => "PROVIDER_DOWN",
        }
    }
}

impl Acceptance {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Accepted, Self::NotAccepted, Self::Unknown];

    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::NotAccepted => "NOT_ACCEPTED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl fmt::Display for AnswerClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AnswerClass {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::Malformed { what: "class of an answer", why: name.into() };
        Self::ALL.into_iter().find(|class| class.name() == name).ok_or_else(unknown)
    }
}

impl FromStr for Acceptance {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        let unknown = || Invalid::Malformed { what: "acceptance", why: name.into() };
        Self::ALL.into_iter().find(|acceptance| acceptance.name() == name).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_status_says_what_can_be_done_and_whether_the_message_was_taken() {
        for (status, expected) in [
            (200, Answer::DELIVERED),
            (204, Answer::DELIVERED),
            (302, Answer::NO_SESSION),
            (400, Answer::REFUSED),
            (404, Answer::NO_SESSION),
            (410, Answer::REFUSED),
            (408, Answer::LATER),
            (429, Answer::THROTTLED),
            (500, Answer::LOST),
            (502, Answer::LOST),
            (503, Answer::LATER),
            (504, Answer::LOST),
        ] {
            assert_eq!(Answer::of_http_status(status), expected, "{status}");
        }
    }

    proptest! {
        #[test]
        fn only_a_delivery_is_accepted_and_only_a_passing_failure_is_in_doubt(code in any::<u16>()) {
            let answer = Answer::of_http_status(code);
            let is_delivered = answer.class == AnswerClass::Delivered;
            prop_assert_eq!(is_delivered, answer.acceptance == Acceptance::Accepted);
            if answer.acceptance == Acceptance::Unknown {
                prop_assert_eq!(answer.class, AnswerClass::Transient);
            }
        }
    }

    #[test]
    fn names_come_back() {
        for class in AnswerClass::ALL {
            assert_eq!(class.name().parse(), Ok(class));
        }
        for acceptance in Acceptance::ALL {
            assert_eq!(acceptance.name().parse(), Ok(acceptance));
        }
        assert!("".parse::<AnswerClass>().is_err() && "".parse::<Acceptance>().is_err());
    }
}
