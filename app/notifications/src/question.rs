use claimstream_domain::{
    Timestamp,
    notification::{
        NotificationMessage, Priority,
        consent::{Address, Asked, Category, TimeZone, preference_key},
    },
};

/// What has to be known before a message may be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    /// The key of the recipient's preferences.
    pub(super) recipient: String,
    pub(super) address: Address,
    /// The key and the address as they were spelled formerly, where that was otherwise.
    pub(super) former: Option<(String, Address)>,
    category: Option<Category>,
    priority: Priority,
    expires_at: Option<Timestamp>,
    time_zone: Option<TimeZone>,
}

impl Question {
    pub(super) fn of(message: &NotificationMessage) -> Self {
        let address = Address::new(message.channel, &message.address);
        let former = Address::former(message.channel, &message.address);
        Self {
            recipient: preference_key(&message.recipient, &address),
            address,
            former: former.map(|former| (preference_key(&message.recipient, &former), former)),
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
