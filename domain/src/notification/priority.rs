use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// How urgent a request is. Requests and messages of each priority have queues of their own, so that none waits behind one of
/// another priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// A person waits for it, such as for a one-time code: it passes everything else and knows no quiet hours.
    High,
    /// Everything that says nothing else.
    #[default]
    Normal,
    /// A campaign.
    Low,
}

/// The queue of the notification requests that are to be fanned out, of those of normal priority; see [`Priority`].
pub const REQUEST_QUEUE: &str = "notification-requests";

/// The queue of the notification messages that are to be handed to a provider, of those of normal priority.
pub const MESSAGE_QUEUE: &str = "notification-messages";

impl Priority {
    /// Every priority.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The priority's name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    /// The queue of the requests that are to be fanned out.
    pub fn request_queue(self) -> &'static str {
        match self {
            Self::High => "notification-requests-high",
            Self::Normal => REQUEST_QUEUE,
            Self::Low => "notification-requests-low",
        }
    }

    /// The queue of the messages that are to be handed to a provider.
    pub fn message_queue(self) -> &'static str {
        match self {
            Self::High => "notification-messages-high",
            Self::Normal => MESSAGE_QUEUE,
            Self::Low => "notification-messages-low",
        }
    }

    /// Whether it is the one of requests that name none; files leave it out.
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Priority {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|priority| priority.name() == name).ok_or_else(|| Invalid::OutOfRange {
            what: "priority",
            given: name.into(),
            allowed: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_priority_has_queues_of_its_own_and_the_normal_ones_keep_their_names() {
        let queues = |priority: Priority| [priority.request_queue(), priority.message_queue()];
        let all: BTreeSet<_> = Priority::ALL.into_iter().flat_map(queues).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(queues(Priority::default()), [REQUEST_QUEUE, MESSAGE_QUEUE]);
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for priority in Priority::ALL {
            assert_eq!(priority.name().parse(), Ok(priority));
            assert_eq!(serde_json::to_string(&priority).unwrap(), format!("{:?}", priority.name()));
        }
        assert!("urgent".parse::<Priority>().unwrap_err().to_string().contains("high, normal, low"));
    }
}
