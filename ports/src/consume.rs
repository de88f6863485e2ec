use async_trait::async_trait;
use claimstream_domain::{HoldLimit, Reason, Received};

/// A broker that messages are read from.
///
/// Implementors owe: a message is given again, here or to another consumer, until its [`Delivery`] was finished. The messages of
/// one key come in the order in which the broker keeps them. A lost connection is an error once; the next call connects again.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Consume: Send + Sync {
    /// Waits for the next message. A future that is dropped loses none.
    async fn next(&self) -> Result<Delivery, ConsumeError>;
}

/// A message in the hands of this consumer, until it is finished or given back.
///
/// A delivery that is dropped is given again when the broker sees fit.
pub struct Delivery {
    /// The message.
    pub received: Received,
    /// How often the broker says that it has given it, this time included; 0 where it does not count.
    pub times: u64,
    hold: Box<dyn Hold>,
}

impl Delivery {
    /// A delivery that `hold` ends.
    pub fn new(received: Received, times: u64, hold: Box<dyn Hold>) -> Self {
        Self { received, times, hold }
    }

    /// How long the broker lets this consumer hold it.
    pub fn limit(&self) -> HoldLimit {
        self.hold.limit()
    }

    /// Has the broker hold it for longer, and what this consumer has read ahead behind it.
    pub async fn extend(&self) -> Result<Extended, ConsumeError> {
        self.hold.extend().await
    }

    /// Reports to the broker that the message is done and need not come again; an error if this consumer has lost it meanwhile.
    pub async fn finish(self) -> Result<(), ConsumeError> {
        self.hold.finish().await
    }

    /// Asks the broker to give the message again.
    pub async fn give_back(self) -> Result<(), ConsumeError> {
        self.hold.give_back().await
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("received", &self.received).field("times", &self.times).finish()
    }
}

/// Whether a hold goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extended {
    /// The message is held for its whole time again.
    Held,
    /// The broker has given the message to another consumer, or gives it again.
    Lost,
}

/// The broker's hold on a delivery; each broker has its own.
#[async_trait]
pub trait Hold: Send + Sync {
    /// How long the broker lets this consumer hold the message, as it stands now.
    fn limit(&self) -> HoldLimit {
        HoldLimit::None
    }

    /// Begins the time of a hold again whose limit is [`Extendable`](HoldLimit::Extendable). An error says nothing of the hold.
    async fn extend(&self) -> Result<Extended, ConsumeError> {
        Ok(Extended::Held)
    }

    /// The message is done.
    async fn finish(self: Box<Self>) -> Result<(), ConsumeError>;

    /// The message is to come again.
    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError>;
}

/// Why a broker gave no message, or took no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConsumeError {
    /// The broker cannot be reached, or broke off; it can be asked again.
    #[error("the broker is away: {0}")]
    Away(Reason),
    /// The broker refused, and will go on refusing until an operator changes something.
    #[error("the broker refuses: {0}")]
    Refused(Reason),
}
