use std::time::Duration;

use claimstream_domain::{
    Reason,
    notification::{Answer, provider::ProviderName},
};
use claimstream_ports::notification::{Delivered, DeliveryError};

/// One attempt at a message: the providers that were asked, in order, and how it ended.
#[derive(Debug)]
pub(crate) struct RoutedDelivery {
    pub(crate) calls: Vec<ProviderCall>,
    pub(crate) end: DeliveryEnd,
}

/// One provider that was asked.
#[derive(Clone, Debug)]
pub(crate) struct ProviderCall {
    pub(crate) provider: ProviderName,
    /// How long its answer took; nothing for a provider without a timer.
    pub(crate) took: Duration,
    pub(crate) answer: Answer,
    /// Why it did not take the message.
    pub(crate) reason: Option<Reason>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum DeliveryEnd {
    /// A provider took the message.
    Delivered(Delivered),
    /// None did.
    Failed(DeliveryError),
    /// None was asked, because the one whose turn it is has no room; there may be some after this time.
    NoRoom { after: Duration, reason: Reason },
}

impl ProviderCall {
    /// A call and its answer.
    pub(super) fn of(
        provider: &ProviderName,
        took: Duration,
        answered: &Result<Delivered, DeliveryError>,
    ) -> Self {
        let (answer, reason) = match answered {
            Ok(_) => (Answer::DELIVERED, None),
            Err(error) => (error.answer(), Some(Reason::new(error))),
        };
        Self { provider: provider.clone(), took, answer, reason }
    }
}
