use std::collections::{BTreeMap, BTreeSet};

use claimstream_domain::notification::{
    Channel, DeliveryStatus, NotificationRequest, Recipient, RecipientReference, SegmentPlace,
    consent::Address, message_id,
};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::CompiledTemplate;
use claimstream_ports::notification::{RecipientDirectory, TemplateSource};
use uuid::Uuid;

use crate::{Failure, instance, served::Fate, sink::SinkProvider};

/// Who should be notified, worked out from the requests, the directory and the templates alone, without looking at the
/// database.
#[derive(Default)]
pub(crate) struct Expectation {
    /// Every combination of recipient and channel, by message id; how it should end.
    pub(crate) messages: BTreeMap<Uuid, DeliveryStatus>,
    /// Where mails go, by message id.
    mails: BTreeMap<Uuid, Address>,
    /// Mails that may be skipped because one to their address has bounced, and the reason that is noted then.
    suppressible: BTreeMap<Uuid, String>,
    /// Requests that cannot be fanned out at all.
    pub(crate) impossible: BTreeSet<Uuid>,
}

impl Expectation {
    pub(crate) async fn of(requests: &[NotificationRequest]) -> Result<Self, Failure> {
        let (directory, templates) = (instance::directory()?, instance::templates()?);
        let mut expectation = Self::default();
        for request in requests {
            match recipients(request, &*directory).await? {
                Some(recipients) => expectation.add(request, &recipients, &templates).await?,
                None => {
                    expectation.impossible.insert(request.id);
                }
            }
        }
        Ok(expectation)
    }

    /// How many messages should arrive.
    pub(crate) fn deliverable(&self) -> usize {
        self.messages.values().filter(|outcome| **outcome == DeliveryStatus::Delivered).count()
    }

    /// Mails to addresses that bounce may be skipped, and those of which it is known before must be.
    pub(crate) fn bounce(&mut self, known_before: &[Uuid]) {
        for (id, address) in &self.mails {
            if let Some(reason) = Fate::of(address).suppresses() {
                self.suppressible.insert(*id, format!("suppressed: {reason}"));
            }
        }
        for id in known_before {
            self.messages.insert(*id, DeliveryStatus::Skipped);
        }
    }

    /// The addresses that bounce.
    pub(crate) fn bouncing(&self) -> BTreeSet<&Address> {
        self.mails.values().filter(|address| Fate::of(address).suppresses().is_some()).collect()
    }

    /// Whether a message may have been skipped for this reason.
    pub(crate) fn is_suppressed(&self, id: &Uuid, reason: &str) -> bool {
        self.suppressible.get(id).is_some_and(|known| known == reason)
    }

    async fn add(
        &mut self,
        request: &NotificationRequest,
        recipients: &[Recipient],
        templates: &MemoryTemplates,
    ) -> Result<(), Failure> {
        for recipient in recipients {
            for channel in &request.channels {
                let outcome = outcome(request, recipient, *channel, templates).await?;
                let id = message_id(request.id, *channel, &recipient.key);
                self.messages.entry(id).or_insert(outcome);
                if let (Channel::Email, Some(address)) = (channel, recipient.address(*channel)) {
                    self.mails.insert(id, Address::new(*channel, address));
                }
            }
        }
        Ok(())
    }
}

/// Everybody a request names, as far as the directory knows them; an unknown user has no address at all.
async fn recipients(
    request: &NotificationRequest,
    directory: &dyn RecipientDirectory,
) -> Result<Option<Vec<Recipient>>, Failure> {
    let mut recipients = Vec::new();
    for reference in &request.recipients {
        match reference {
            RecipientReference::User { user } => {
                let unknown = Recipient { user: None, ..Recipient::user(user) };
                let found = directory.users(std::slice::from_ref(user)).await?.users.pop().flatten();
                recipients.push(found.unwrap_or(unknown));
            }
            RecipientReference::Segment { segment } => {
                match directory.members(segment, &SegmentPlace::Start, u32::MAX).await? {
                    Some(page) => recipients.extend(page.members),
                    None => return Ok(None),
                }
            }
            RecipientReference::Direct(direct) => recipients.push(direct.resolve()),
        }
    }
    Ok(Some(recipients).filter(|recipients| !recipients.is_empty()))
}

/// How a message should end: each recipient with an address gets every text that can be written, unless the address always fails.
async fn outcome(
    request: &NotificationRequest,
    recipient: &Recipient,
    channel: Channel,
    templates: &MemoryTemplates,
) -> Result<DeliveryStatus, Failure> {
    Ok(match recipient.address(channel) {
        None => DeliveryStatus::Skipped,
        Some(_) if !can_be_written(request, recipient, channel, templates).await? => DeliveryStatus::Skipped,
        Some(SinkProvider::ALWAYS_FAILS) => DeliveryStatus::Failed,
        Some(_) => DeliveryStatus::Delivered,
    })
}

async fn can_be_written(
    request: &NotificationRequest,
    recipient: &Recipient,
    channel: Channel,
    templates: &MemoryTemplates,
) -> Result<bool, Failure> {
    let Some(call) = &request.template else {
        return Ok(request.content.as_ref().is_some_and(|content| content.fits(channel).is_ok()));
    };
    let Some(version) = templates.published(&call.id).await? else { return Ok(false) };
    let template = CompiledTemplate::of(version)?;
    Ok(template.refuse_surplus(call).is_ok() && template.write(call, recipient, channel, None).is_ok())
}
