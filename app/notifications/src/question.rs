use claimstream_domain::{
    Timestamp,
    notification::{
        Channel, NotificationMessage, Priority,
        consent::{Address, Asked, Category, TimeZone, address_key, preference_key},
    },
};

/// What has to be known before a message may be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    /// The key of the recipient's preferences.
    pub(super) recipient: String,
    pub(super) address: Address,
    /// Under which keys and spellings of the address more may be kept: what the address opted out of where no user was named, and what was
    /// kept under a former spelling.
    pub(super) others: Vec<(String, Address)>,
    category: Option<Category>,
    priority: Priority,
    expires_at: Option<Timestamp>,
    time_zone: Option<TimeZone>,
}

impl Question {
    pub(super) fn of(message: &NotificationMessage) -> Self {
        let address = Address::new(message.channel, &message.address);
        let recipient = preference_key(&message.recipient, &address);
        let former = Address::former(message.channel, &message.address);
        let spellings = [Some(&address), former.as_ref()].into_iter().flatten();
        let others = spellings
            .flat_map(|address| {
                [preference_key(&message.recipient, address), address_key(address)]
                    .map(|key| (key, address.clone()))
            })
            .filter(|(key, spelled)| {
                (key, spelled) != (&recipient, &address) && message.channel != Channel::InApp
            });
        Self {
            others: unique(others),
            recipient,
            address,
            category: message.category.clone(),
            priority: message.priority,
            expires_at: message.expires_at,
            time_zone: message.time_zone.clone(),
        }
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            channel: self.address.channel(),
            category: self.category.as_ref(),
            priority: self.priority,
            expires_at: self.expires_at,
            time_zone: self.time_zone.as_ref(),
        }
    }
}

/// Each of them once, in their order.
fn unique(all: impl Iterator<Item = (String, Address)>) -> Vec<(String, Address)> {
    let mut unique = Vec::new();
    for one in all {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}
