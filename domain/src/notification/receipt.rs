use std::{fmt, str::FromStr, time::Duration};

use uuid::Uuid;

use super::{
    Channel,
    consent::{Address, Suppression},
    provider::ProviderName,
};
use crate::Invalid;

/// What a provider says of a message after it has taken it. The order is that of strength: of several, the strongest is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReceiptKind {
    /// The provider has handed it on.
    Sent,
    /// It was not taken this time; the provider tries again.
    SoftBounced,
    /// It has arrived.
    Delivered,
    /// Its recipient has looked at it.
    Opened,
    /// Its recipient wants no more of them.
    Unsubscribed,
    /// There is no such address; a mail may bounce after it was said to have arrived.
    Bounced,
    /// Its recipient reported it as spam.
    Complained,
}

/// What a provider says of one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryReceipt {
    /// The provider.
    pub provider: ProviderName,
    /// The message.
    pub of: ReceiptOf,
    /// What became of it.
    pub kind: ReceiptKind,
    /// The channel of the address, if the provider serves one channel alone. The message's own channel holds where the message is known.
    pub channel: Option<Channel>,
    /// The address it is about, if the provider names one.
    pub address: Option<String>,
    /// When that was, in the provider's own words.
    pub said_at: Option<String>,
    /// Why, in the provider's own words.
    pub note: Option<String>,
}

/// The message that a receipt is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReceiptOf {
    /// By our own id, which the provider repeats.
    Message(Uuid),
    /// By the provider's name for the delivery.
    Reference(String),
}

/// What is kept of a receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptFact {
    /// What became of the message.
    pub kind: ReceiptKind,
    /// How long ago it was said for the first time, by the store's clock.
    pub ago: Duration,
    /// When it was so, in the provider's own words.
    pub said_at: Option<String>,
}

/// What became of a receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiptTaken {
    /// It is kept with its message.
    New,
    /// It was kept before, and nothing has changed.
    Known,
    /// Its reference is that of no delivery that was noted yet; it waits for that.
    Waiting,
    /// There is no message of this id.
    Unknown,
}

impl ReceiptKind {
    /// Every kind, the strongest last.
    pub const ALL: [Self; 7] = [
        Self::Sent,
        Self::SoftBounced,
        Self::Delivered,
        Self::Opened,
        Self::Unsubscribed,
        Self::Bounced,
        Self::Complained,
    ];

    /// The kind's name in tables and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::SoftBounced => "soft_bounced",
            Self::Delivered => "delivered",
            Self::Opened => "opened",
            Self::Unsubscribed => "unsubscribed",
            Self::Bounced => "bounced",
            Self::Complained => "complained",
        }
    }

    /// What is shown of a message of which all this was said: the strongest, in whatever order and however often it came.
    pub fn standing(said: impl IntoIterator<Item = Self>) -> Option<Self> {
        said.into_iter().max()
    }

    /// Why the address of such a message must not be written to any more.
    pub fn suppresses(self) -> Option<Suppression> {
        match self {
            Self::Unsubscribed => Some(Suppression::Unsubscribed),
            Self::Bounced => Some(Suppression::Bounced),
            Self::Complained => Some(Suppression::Complained),
            Self::Sent | Self::SoftBounced | Self::Delivered | Self::Opened => None,
        }
    }
}

impl DeliveryReceipt {
    /// The longest reference, in bytes; longer ones are cut where they are noted and where they are looked for.
    pub const MAX_REFERENCE_BYTES: usize = 255;
    /// The longest address, in bytes; a receipt with a longer one is refused.
    pub const MAX_ADDRESS_BYTES: usize = 2_048;
    /// How much of the provider's words for the moment is kept, in bytes.
    pub const MAX_SAID_AT_BYTES: usize = 64;
    /// How much of the provider's words for the reason is kept, in bytes.
    pub const MAX_NOTE_BYTES: usize = 1_000;

    /// The receipt as it is kept: what is too long is cut, and empty texts are none. Refuses an empty reference, and an address that is
    /// too long to be one.
    pub fn checked(self) -> Result<Self, Invalid> {
        let of = match self.of {
            ReceiptOf::Reference(text) if text.is_empty() => {
                return Err(Invalid::Empty { what: "reference" });
            }
            ReceiptOf::Reference(text) => ReceiptOf::Reference(cut(text, Self::MAX_REFERENCE_BYTES)),
            by_id @ ReceiptOf::Message(_) => by_id,
        };
        let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let address = some(self.address);
        if let Some(address) = &address {
            Invalid::unless_length("address", address, Self::MAX_ADDRESS_BYTES)?;
        }
        Ok(Self {
            of,
            address,
            said_at: some(self.said_at).map(|text| cut(text, Self::MAX_SAID_AT_BYTES)),
            note: some(self.note).map(|text| cut(text, Self::MAX_NOTE_BYTES)),
            ..self
        })
    }

    /// The address that it suppresses without its message, and why; `None` if it does not name both the address and the channel.
    pub fn suppresses_alone(&self) -> Option<(Address, Suppression)> {
        let reason = self.kind.suppresses()?;
        Some((Address::new(self.channel?, self.address.as_deref()?), reason))
    }
}

fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

impl fmt::Display for ReceiptKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ReceiptKind {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Invalid::OutOfRange {
            what: "receipt",
            given: name.into(),
            allowed: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    //! Promise: receipts of providers show the same result in any order
    use proptest::prelude::*;

    use super::*;

    fn receipt(reference: &str) -> DeliveryReceipt {
        DeliveryReceipt {
            provider: ProviderName::new("postmark").unwrap(),
            of: ReceiptOf::Reference(reference.into()),
            kind: ReceiptKind::Delivered,
            channel: None,
            address: Some(" ".into()),
            said_at: Some("2".repeat(99)),
            note: Some("ü".repeat(999)),
        }
    }

    #[test]
    fn the_strongest_is_shown() {
        use ReceiptKind::{Bounced, Complained, Delivered, Opened, Sent, SoftBounced};
        assert_eq!(ReceiptKind::standing([]), None);
        assert_eq!(ReceiptKind::standing([SoftBounced, Sent, Delivered]), Some(Delivered));
        assert_eq!(ReceiptKind::standing([Delivered, SoftBounced]), Some(Delivered), "it came late");
        assert_eq!(ReceiptKind::standing([Delivered, Bounced]), Some(Bounced), "it bounced after all");
        assert_eq!(ReceiptKind::standing([Complained, Opened]), Some(Complained));
        assert!(ReceiptKind::ALL.iter().all(|kind| kind.name().parse() == Ok(*kind)));
        assert!(ReceiptKind::ALL.is_sorted());
    }

    #[test]
    fn what_is_too_long_is_cut_and_what_is_nothing_is_refused() {
        let kept = receipt(&"ü".repeat(200)).checked().unwrap();
        let ReceiptOf::Reference(reference) = &kept.of else { panic!("{kept:?}") };
        assert_eq!((reference.len(), kept.address.as_deref()), (254, None));
        assert_eq!((kept.said_at.unwrap().len(), kept.note.unwrap().len()), (64, 1_000));
        assert!(receipt("").checked().is_err());
        let long = DeliveryReceipt { address: Some("x".repeat(3_000)), ..receipt("r") };
        assert!(long.checked().is_err());
    }

    proptest! {
        #[test]
        fn any_order_and_repetition_of_receipts_shows_the_same(
            said in prop::collection::vec(prop::sample::select(&ReceiptKind::ALL[..]), 1..9),
            again in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
            seed in any::<u64>(),
        ) {
            let mut other: Vec<_> = said.iter().chain(again.iter().map(|at| at.get(&said))).copied().collect();
            for at in (1..other.len()).rev() {
                other.swap(at, (seed as usize).wrapping_mul(at) % (at + 1));
            }
            // One after another, as they come in: each look shows no less than the one before.
            let mut shown = None;
            for at in 0..other.len() {
                let now = ReceiptKind::standing(other[..=at].iter().copied());
                prop_assert!(now >= shown);
                shown = now;
            }
            prop_assert_eq!(shown, ReceiptKind::standing(said));
        }
    }
}
