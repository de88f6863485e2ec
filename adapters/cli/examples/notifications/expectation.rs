use std::collections::{BTreeMap, BTreeSet};

use claimstream_domain::notification::{NotificationRequest, Recipient, RecipientReference, message_id};
use claimstream_ports::RecipientDirectory;
use uuid::Uuid;

use crate::{Failure, instance};

/// Who should be told, worked out from the requests and the directory alone, without looking at the database.
pub(crate) struct Expectation {
    /// Every combination of recipient and channel, by message id; whether the recipient can be reached there.
    pub(crate) messages: BTreeMap<Uuid, bool>,
    /// Requests that cannot be fanned out at all.
    pub(crate) impossible: BTreeSet<Uuid>,
}

impl Expectation {
    pub(crate) async fn of(requests: &[NotificationRequest]) -> Result<Self, Failure> {
        let directory = instance::directory()?;
        let mut expectation = Self { messages: BTreeMap::new(), impossible: BTreeSet::new() };
        for request in requests {
            let mut recipients = Vec::new();
            for reference in &request.recipients {
                match directory.resolve(reference, 0, u32::MAX).await? {
                    Some(found) => recipients.extend(found.into_iter().map(|recipient| (recipient, true))),
                    None => match reference {
                        RecipientReference::User { user } => recipients.push((Recipient::user(user), false)),
                        _ => {
                            expectation.impossible.insert(request.id);
                        }
                    },
                }
            }
            if !expectation.impossible.contains(&request.id) {
                expectation.add(request, &recipients);
            }
        }
        Ok(expectation)
    }

    fn add(&mut self, request: &NotificationRequest, recipients: &[(Recipient, bool)]) {
        for (recipient, known) in recipients {
            for channel in &request.channels {
                let reachable = *known && recipient.address(*channel).is_some();
                self.messages.insert(message_id(request.id, *channel, &recipient.key), reachable);
            }
        }
    }
}
