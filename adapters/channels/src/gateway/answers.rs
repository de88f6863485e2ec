use std::collections::BTreeMap;

use claimstream_domain::{
    Invalid,
    notification::{Answer, AnswerClass},
};

/// What the statuses of a gateway mean.
///
/// As [`Answer::of_http_status`] has it, but 401, 403 and 407 say that the provider lets nobody in, whatever the message: they mean
/// "provider down", so that messages wait, or go to another provider, until somebody has mended the credentials.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answers(BTreeMap<u16, AnswerClass>);

impl Answers {
    /// Gives a status another meaning; refuses what is no status.
    pub fn with(mut self, status: u16, class: AnswerClass) -> Result<Self, Invalid> {
        if !(100..=599).contains(&status) {
            let allowed = "100 to 599".into();
            return Err(Invalid::OutOfRange { what: "HTTP status", given: status.to_string(), allowed });
        }
        self.0.insert(status, class);
        Ok(self)
    }

    pub(super) fn of(&self, status: u16) -> Answer {
        match self.0.get(&status) {
            Some(AnswerClass::Delivered) => Answer::DELIVERED,
            Some(AnswerClass::Permanent) => Answer::REFUSED,
            Some(AnswerClass::Transient) => Answer::LATER,
            Some(AnswerClass::Throttled) => Answer::THROTTLED,
            Some(AnswerClass::ProviderDown) => Answer::NO_SESSION,
            None if [401, 403, 407].contains(&status) => Answer::NO_SESSION,
            None => Answer::of_http_status(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_that_are_refused_are_the_providers_trouble_unless_a_setting_says_otherwise() {
        let usual = Answers::default();
        assert_eq!(usual.of(401), Answer::NO_SESSION);
        assert_eq!(usual.of(400), Answer::REFUSED);
        assert_eq!(usual.of(503), Answer::LATER);
        let own = usual.with(403, AnswerClass::Permanent).unwrap().with(400, AnswerClass::Throttled).unwrap();
        assert_eq!((own.of(403), own.of(400)), (Answer::REFUSED, Answer::THROTTLED));
        assert!(Answers::default().with(99, AnswerClass::Permanent).is_err());
    }
}
