use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{
    Acceptance, Answer, AnswerClass, Judgement, NotificationMessage, consent::Suppression,
};

use super::prepared::Prepared;

/// Hands a notification to the outside world.
///
/// Implementors owe: an end in bounded time; the message's id passed on as idempotency key where the other side knows
/// such a thing; an error that says whether trying again can help, and whether the message may have been taken all the same.
#[async_trait]
pub trait ChannelProvider: Send + Sync {
    /// Whether it can deliver a message like this one at all, which depends on the message alone. A route leaves out those of its
    /// providers that cannot, if another can.
    fn carries(&self, _message: &NotificationMessage) -> bool {
        true
    }

    /// Makes ready what a message needs of others than the provider's own service, such as files of another server. It is asked before each
    /// delivery, and neither takes a place nor counts as time that the service is silent; what it answers lasts until the delivery has ended. Implementors owe: an error is
    /// [`NotReady`](DeliveryError::NotReady) or one for good.
    async fn prepare(&self, _message: &NotificationMessage) -> Result<Prepared, DeliveryError> {
        Ok(Prepared::default())
    }

    /// Delivers one message, which may not have been prepared.
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError>;
}

/// What a provider said when it took a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// The provider's own name for the delivery.
    pub reference: Option<String>,
}

/// Why a provider did not take a message, or is not known to have taken it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// It never will.
    #[error("{reason}")]
    Permanent {
        /// Why, without secrets.
        reason: String,
    },
    /// It never will, and nothing must be sent to this address again.
    #[error("{reason}")]
    AddressRefused {
        /// Why, without secrets.
        reason: String,
        /// Why the address is suppressed.
        suppression: Suppression,
    },
    /// It may later.
    #[error("{reason}")]
    Transient {
        /// Why, without secrets.
        reason: String,
        /// How long the provider asked us to wait.
        retry_after: Option<Duration>,
        /// [`Unknown`](Acceptance::Unknown) if it may have taken the message all the same, as when only its answer was lost;
        /// else [`NotAccepted`](Acceptance::NotAccepted).
        acceptance: Acceptance,
    },
    /// It may later: it was refused for what is in it, such as its recipient, and others may fare better. The provider is in order, and has
    /// not taken it.
    #[error("{reason}")]
    Deferred {
        /// Why, without secrets.
        reason: String,
        /// How long we were asked to wait.
        retry_after: Option<Duration>,
    },
    /// It takes no more messages for a while. It has not taken this one.
    #[error("{reason}")]
    Throttled {
        /// Why, without secrets.
        reason: String,
        /// How long the provider asked us to wait.
        retry_after: Option<Duration>,
    },
    /// The message lacks something that is out of reach for a while, such as a file on another server. The provider was not asked,
    /// and nothing is said against it.
    #[error("{reason}")]
    NotReady {
        /// Why, without secrets.
        reason: String,
        /// How long to wait at least.
        retry_after: Option<Duration>,
    },
    /// It cannot be reached, or takes nothing from us. It cannot have taken the message.
    #[error("{reason}")]
    ProviderDown {
        /// Why, without secrets.
        reason: String,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
}

impl DeliveryError {
    /// It never will.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Self::Permanent { reason: reason.into() }
    }

    /// It may later; it has not taken the message.
    pub fn transient(reason: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), retry_after: None, acceptance: Acceptance::NotAccepted }
    }

    /// It may later, and others may now.
    pub fn deferred(reason: impl Into<String>) -> Self {
        Self::Deferred { reason: reason.into(), retry_after: None }
    }

    /// No answer came to a message that had left: whether it was taken is unknown.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Transient { reason: reason.into(), retry_after: None, acceptance: Acceptance::Unknown }
    }

    /// It cannot be reached, or refuses our login.
    pub fn down(reason: impl Into<String>) -> Self {
        Self::ProviderDown { reason: reason.into(), retry_after: None }
    }

    /// What an answer means that is not a delivery.
    ///
    /// An answer that says "delivered" is no error; as one it is in doubt.
    pub fn of(answer: Answer, reason: impl Into<String>, retry_after: Option<Duration>) -> Self {
        let (reason, acceptance) = (reason.into(), answer.acceptance);
        match answer.class {
            AnswerClass::Permanent => Self::Permanent { reason },
            AnswerClass::Transient => Self::Transient { reason, retry_after, acceptance },
            AnswerClass::Throttled => Self::Throttled { reason, retry_after },
            AnswerClass::ProviderDown => Self::ProviderDown { reason, retry_after },
            AnswerClass::Delivered => {
                Self::Transient { reason, retry_after, acceptance: Acceptance::Unknown }
            }
        }
    }

    /// What a judgement of an answer means that is not a delivery.
    pub fn judged(judgement: Judgement, reason: impl Into<String>, retry_after: Option<Duration>) -> Self {
        let reason = reason.into();
        match judgement {
            Judgement::AddressRefused(suppression) => Self::AddressRefused { reason, suppression },
            Judgement::RecipientDeferred => Self::Deferred { reason, retry_after },
            _ => Self::of(judgement.answer(), reason, retry_after),
        }
    }

    /// Why the address must not be written to again, if that is so.
    pub fn suppresses(&self) -> Option<Suppression> {
        match self {
            Self::AddressRefused { suppression, .. } => Some(*suppression),
            _ => None,
        }
    }

    /// Whether the provider was asked at all.
    pub fn was_asked(&self) -> bool {
        !matches!(self, Self::NotReady { .. })
    }

    /// Its class, and whether the message may have been taken.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Permanent { .. } | Self::AddressRefused { .. } => Answer::REFUSED,
            Self::Transient { acceptance: Acceptance::NotAccepted, .. }
            | Self::Deferred { .. }
            | Self::NotReady { .. } => Answer::LATER,
            Self::Transient { .. } => Answer::LOST,
            Self::Throttled { .. } => Answer::THROTTLED,
            Self::ProviderDown { .. } => Answer::NO_SESSION,
        }
    }

    /// Whether it speaks against the provider, and not only against the message.
    pub fn speaks_against_provider(&self) -> bool {
        !matches!(self, Self::Deferred { .. }) && self.answer().speaks_against_provider()
    }

    /// The same error with the shorter wait of the two: another provider, or the same one, may take the message then.
    pub fn no_later_than(mut self, other: &Self) -> Self {
        if let Self::Transient { retry_after, .. }
        | Self::Deferred { retry_after, .. }
        | Self::Throttled { retry_after, .. }
        | Self::NotReady { retry_after, .. }
        | Self::ProviderDown { retry_after, .. } = &mut self
        {
            *retry_after = (*retry_after).min(other.retry_after());
        }
        self
    }

    /// How long the provider asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. }
            | Self::Deferred { retry_after, .. }
            | Self::Throttled { retry_after, .. }
            | Self::NotReady { retry_after, .. }
            | Self::ProviderDown { retry_after, .. } => *retry_after,
            Self::Permanent { .. } | Self::AddressRefused { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_sent_later_waits_as_long_as_the_provider_asked() {
        let asked = Some(Duration::from_secs(90));
        for answer in [Answer::LATER, Answer::LOST, Answer::THROTTLED, Answer::NO_SESSION] {
            assert_eq!(DeliveryError::of(answer, "busy", asked).retry_after(), asked, "{answer:?}");
        }
        assert_eq!(DeliveryError::of(Answer::REFUSED, "no", asked).retry_after(), None);
    }
}
