use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid, MessageId,
    notification::{
        Acceptance, Answer, AnswerClass, NotificationMessage,
        provider::{AfterUnknown, ProviderName, Selection},
    },
};
use claimstream_ports::notification::DeliveryError;

use super::{
    attempt::{DeliveryEnd, ProviderCall, RoutedDelivery},
    named_provider::{NamedProvider, ProviderAnswer},
};

/// The providers of a channel, and how one of them is chosen for a message.
///
/// Within one attempt the next provider is asked when the one before is out of service, takes no more messages, or has failed and
/// surely not accepted the message. One that refuses for good ends the attempt, and one that cannot carry such a message is not asked if
/// another can. After an answer that leaves open whether the
/// message was accepted, only the same provider is asked again, at a later attempt, unless
/// [`after_unknown`](Self::after_unknown) says otherwise.
///
/// Limits do not fail over: a message that finds no room is put off, and no attempt is counted.
#[derive(Clone, Debug, Default)]
pub struct Route {
    providers: Vec<(Arc<NamedProvider>, u32)>,
    selection: Selection,
    after_unknown: AfterUnknown,
}

impl Route {
    /// Providers that are asked in the order in which they are added.
    pub fn in_order() -> Self {
        Self::default()
    }

    /// Providers that are drawn by their weights. A message that comes again is drawn the same.
    pub fn by_weight() -> Self {
        Self { selection: Selection::ByWeight, ..Self::default() }
    }

    /// What follows when a provider may have accepted a message and has not said so.
    pub fn after_unknown(mut self, after_unknown: AfterUnknown) -> Self {
        self.after_unknown = after_unknown;
        self
    }

    /// Adds a provider of weight 1; refuses a name that is there.
    pub fn with(self, provider: Arc<NamedProvider>) -> Result<Self, Invalid> {
        self.with_weight(provider, 1)
    }

    /// Adds a provider. One of weight 0 is asked after all others; in a route that is in order, weights mean nothing.
    pub fn with_weight(mut self, provider: Arc<NamedProvider>, weight: u32) -> Result<Self, Invalid> {
        if self.providers.iter().any(|(known, _)| known.name() == provider.name()) {
            let why =
                format!("the provider {} is listed twice on one channel; list it once", provider.name());
            return Err(Invalid::Contradiction(why));
        }
        self.providers.push((provider, weight));
        Ok(self)
    }

    /// Its providers.
    pub fn providers(&self) -> impl Iterator<Item = &Arc<NamedProvider>> {
        self.providers.iter().map(|(provider, _)| provider)
    }

    /// One attempt. `in_doubt` names providers that may have accepted the message at an earlier one.
    pub(super) async fn deliver(
        &self,
        message: &NotificationMessage,
        in_doubt: &[ProviderName],
    ) -> RoutedDelivery {
        // One that is in doubt since an earlier attempt may have been passed over then, and no other been asked.
        let mut doubted = self.providers().map(|one| &**one).find(|one| in_doubt.contains(one.name()));
        let mut attempt = RouteAttempt::default();
        for provider in self.choose(message, in_doubt) {
            match provider.ask(message).await {
                ProviderAnswer::Called(call, answered) => {
                    let answer = call.answer;
                    attempt.calls.push(call);
                    let has_had_it = in_doubt.contains(provider.name());
                    if let Some(doubted) = doubted.take_if(|one| one.name() != provider.name() && !has_had_it)
                    {
                        note_possible_double(doubted, message);
                    }
                    match answered {
                        Ok(delivered) => return attempt.end(DeliveryEnd::Delivered(delivered)),
                        Err(error) if self.ends(answer) => return attempt.failed(error),
                        Err(error) => {
                            if answer.acceptance == Acceptance::Unknown {
                                doubted = Some(provider);
                            }
                            attempt.passing = Some(match attempt.passing.take() {
                                Some(first) => first.no_later_than(&error),
                                None => error,
                            });
                        }
                    }
                }
                ProviderAnswer::Open(left) => {
                    attempt.soonest = Some(attempt.soonest.map_or(left, |known| known.min(left)));
                }
                ProviderAnswer::NoRoom(after, reason) if attempt.calls.is_empty() => {
                    return attempt.end(DeliveryEnd::NoRoom { after, reason });
                }
                ProviderAnswer::NoRoom(..) => break,
            }
        }
        attempt.over(message)
    }

    /// The providers that may be asked, in order; those that hang come last.
    fn choose(&self, message: &NotificationMessage, in_doubt: &[ProviderName]) -> Vec<&NamedProvider> {
        let weights: Vec<u32> = self.providers.iter().map(|(_, weight)| *weight).collect();
        let order = self.selection.order(&weights, MessageId::new(message.id).seed(0));
        let mut all: Vec<&NamedProvider> = order.into_iter().map(|at| &*self.providers[at].0).collect();
        if all.iter().any(|one| one.carries(message)) {
            all.retain(|one| one.carries(message) || in_doubt.contains(one.name()));
        }
        let doubted: Vec<_> = all.iter().copied().filter(|one| in_doubt.contains(one.name())).collect();
        match self.after_unknown {
            AfterUnknown::RetrySame if !doubted.is_empty() => doubted,
            _ => {
                all.sort_by_key(|one| one.is_hanging());
                all
            }
        }
    }

    /// Whether no other provider is asked after this answer.
    fn ends(&self, answer: Answer) -> bool {
        let is_in_doubt = answer.acceptance == Acceptance::Unknown;
        answer.class == AnswerClass::Permanent || is_in_doubt && self.after_unknown == AfterUnknown::RetrySame
    }
}

/// Counts and logs that a message was given to another provider although this one may have accepted it.
fn note_possible_double(doubted: &NamedProvider, message: &NotificationMessage) {
    doubted.count_possible_double();
    tracing::warn!(
        message_id = %message.id, provider = %doubted.name(),
        "notification.provider.failed_over_in_doubt"
    );
}

/// What has happened so far.
#[derive(Default)]
struct RouteAttempt {
    calls: Vec<ProviderCall>,
    passing: Option<DeliveryError>,
    /// When the first of the open circuits lets a trial pass.
    soonest: Option<Duration>,
}

impl RouteAttempt {
    fn end(self, end: DeliveryEnd) -> RoutedDelivery {
        RoutedDelivery { calls: self.calls, end }
    }

    /// What one provider may still deliver is not refused for good, whatever those after it say; and a message that may have
    /// been accepted is in doubt, whatever those before said.
    fn failed(mut self, error: DeliveryError) -> RoutedDelivery {
        let error = match error.answer().class {
            AnswerClass::Permanent => self.passing.take().unwrap_or(error),
            _ => error,
        };
        self.end(DeliveryEnd::Failed(error))
    }

    /// No provider is left.
    fn over(mut self, message: &NotificationMessage) -> RoutedDelivery {
        let channel = message.channel;
        let error = match (self.passing.take(), self.soonest) {
            (Some(passing), _) => passing,
            (None, Some(left)) => DeliveryError::Transient {
                reason: format!(
                    "every provider of the channel {channel} that can carry it is out of service; a trial follows"
                ),
                retry_after: Some(left),
                acceptance: Acceptance::NotAccepted,
            },
            (None, None) => DeliveryError::permanent(format!(
                "no provider is set for the channel {channel}; add one to the message handler's providers"
            )),
        };
        self.end(DeliveryEnd::Failed(error))
    }
}
