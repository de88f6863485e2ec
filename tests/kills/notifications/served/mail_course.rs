use claimstream_domain::notification::{
    ReceiptKind::{self, Bounced, Complained, Delivered, Opened, Sent, SoftBounced},
    consent::{Address, Suppression},
};
use uuid::Uuid;

/// What becomes of all mails to an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives,
    /// There is no such address.
    Bounces,
    /// Its owner reports each as spam.
    Complains,
}

impl Fate {
    /// One address in eight bounces, one in 32 complains.
    pub(crate) fn of(address: &Address) -> Self {
        match Uuid::new_v5(&Uuid::NAMESPACE_OID, address.as_str().as_bytes()).as_u128() % 32 {
            0..=3 => Self::Bounces,
            4 => Self::Complains,
            _ => Self::Arrives,
        }
    }

    /// Why the address must not be written to once this is known.
    pub(crate) fn suppresses(self) -> Option<Suppression> {
        match self {
            Self::Arrives => None,
            Self::Bounces => Some(Suppression::Bounced),
            Self::Complains => Some(Suppression::Complained),
        }
    }
}

/// What the provider says of one mail, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MailCourse {
    /// What it says, in the order in which it sends it; that is not the order in which it came to pass.
    pub(crate) said: &'static [ReceiptKind],
    /// It says so before it answers that it has taken the mail.
    pub(crate) is_early: bool,
    /// It says everything twice.
    pub(crate) is_repeated: bool,
    /// It says everything in one call.
    pub(crate) is_together: bool,
    /// It repeats our id instead of its own name for the delivery.
    pub(crate) names_our_id: bool,
}

impl MailCourse {
    /// The course of a mail; the same whenever it is taken again.
    pub(crate) fn of(message: Uuid, fate: Fate) -> Self {
        let number = message.as_u128();
        let said: &[ReceiptKind] = match (fate, number % 4) {
            (Fate::Bounces, 0 | 1) => &[Bounced, Delivered],
            (Fate::Bounces, _) => &[Bounced],
            (Fate::Complains, _) => &[Complained, Opened, Delivered],
            (Fate::Arrives, 0) => &[Delivered, Sent],
            (Fate::Arrives, 1) => &[Sent, SoftBounced, Delivered],
            (Fate::Arrives, 2) => &[Opened, Delivered],
            (Fate::Arrives, _) => &[Delivered],
        };
        Self {
            said,
            is_early: (number >> 8).is_multiple_of(4),
            is_repeated: (number >> 16).is_multiple_of(3),
            is_together: (number >> 24).is_multiple_of(2),
            names_our_id: (number >> 32).is_multiple_of(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::Channel;

    use super::*;

    #[test]
    fn a_mail_suppresses_its_address_if_and_only_if_that_is_its_fate() {
        let mut met = [0; 3];
        for number in 0..1_000 {
            let fate = Fate::of(&Address::new(Channel::Email, &format!("{number}@example.com")));
            met[fate as usize] += 1;
            let course = MailCourse::of(Uuid::new_v5(&Uuid::NAMESPACE_OID, &[number as u8]), fate);
            let suppresses = course.said.iter().filter_map(|kind| kind.suppresses()).max();
            assert_eq!(suppresses, fate.suppresses());
            assert_eq!(Fate::of(&Address::new(Channel::Email, &format!("{number}@EXAMPLE.com"))), fate);
        }
        assert!(met.iter().all(|addresses| *addresses > 10), "{met:?}");
    }
}
