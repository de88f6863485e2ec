use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use claimstream_domain::{
    Timestamp,
    notification::{
        Channel, Content, DirectRecipient, NotificationRequest, Recipient, RecipientReference, Requester,
        RequesterKind, message_id,
    },
};
use claimstream_memory::MemoryDirectory;
use uuid::Uuid;

use crate::{sim::Sim, worlds::handler::id};

/// A request, and what is to become of it.
pub(super) struct Asked {
    n: u64,
    pub(super) request: NotificationRequest,
    is_over: AtomicBool,
}

/// What is to become of a combination of recipient and channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    /// It is sent.
    Sent,
    /// The provider refuses it.
    Refused,
    /// It is skipped.
    Skipped,
    /// It names an unknown segment.
    Failed,
}

const SEGMENT: &str = "vip";
const UNKNOWN_SEGMENT: &str = "ghosts";
/// What the addresses begin with that every provider refuses.
const REFUSED: &str = "refused";

/// The users that the directory knows, all of one segment.
fn users() -> [Recipient; 3] {
    let email = |address: &str| Some(format!("{address}@example.com"));
    [
        Recipient { email: email("ann"), phone: Some("+491".into()), ..Recipient::user("ann") },
        Recipient { email: email("bob"), ..Recipient::user("bob") },
        Recipient { email: email(REFUSED), phone: Some("+492".into()), ..Recipient::user("eve") },
    ]
}

pub(super) fn directory() -> MemoryDirectory {
    let directory = users().into_iter().try_fold(MemoryDirectory::new(), MemoryDirectory::with_user);
    directory.and_then(|it| it.with_segment(SEGMENT, &["ann", "bob", "eve"])).expect("a directory")
}

/// Whether every provider refuses what is sent there.
pub(super) fn is_refused(address: &str) -> bool {
    address.starts_with(REFUSED)
}

impl Asked {
    /// The `n`-th request of a schedule.
    pub(super) fn draw(sim: &Sim, n: u64) -> Self {
        let user = |user: &str| RecipientReference::User { user: user.into() };
        let segment = |segment: &str| RecipientReference::Segment { segment: segment.into() };
        let direct = DirectRecipient { email: Some("dan@example.com".into()), ..DirectRecipient::default() };
        let mut all = vec![
            user("ann"),
            user("bob"),
            user("unknown"),
            segment(SEGMENT),
            segment(UNKNOWN_SEGMENT),
            RecipientReference::Direct(direct),
        ];
        let count = 1 + sim.below(3);
        let recipients = (0..count).map(|_| all.swap_remove(sim.below(all.len() as u64) as usize)).collect();
        let channels = [&[Channel::Email][..], &[Channel::Sms], &[Channel::Email, Channel::Sms]];
        let expires_at = sim.chance(200).then(|| {
            let after = sim.time_below(Duration::from_secs(60)).as_micros() as i64;
            Timestamp::from_micros(sim.store_now().as_micros() + after).expect("a moment")
        });
        let request = NotificationRequest {
            id: id(n).uuid(),
            requester: Requester { kind: RequesterKind::Service, id: "shop".into() },
            recipients,
            channels: channels[sim.below(3) as usize].to_vec(),
            content: Some(Content { title: Some("Paid".into()), ..Content::default() }),
            template: None,
            scheduled_at: None,
            delay_ms: sim.chance(300).then(|| sim.below(20_000)),
            expires_at,
            sender: BTreeMap::default(),
            category: None,
            priority: Default::default(),
            memo: None,
            headers: Default::default(),
        };
        Self { n, request, is_over: AtomicBool::new(false) }
    }

    pub(super) fn name(&self) -> String {
        format!("request {}", self.n)
    }

    /// Nothing more is asked for by this request's owner.
    pub(super) fn has_ended(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether an unknown segment is all that it names, so that it fails as a whole.
    pub(super) fn names_unknown_alone(&self) -> bool {
        let is_unknown = |reference: &RecipientReference| matches!(reference, RecipientReference::Segment { segment } if segment == UNKNOWN_SEGMENT);
        self.request.recipients.iter().all(is_unknown)
    }

    /// What is to become of each combination of recipient and channel, by the ids of their records.
    pub(super) fn expected(&self) -> BTreeMap<Uuid, Expected> {
        let mut all = BTreeMap::new();
        for reference in &self.request.recipients {
            for channel in &self.request.channels {
                let mut expect = |key: &str, expected| {
                    all.insert(message_id(self.request.id, *channel, key), expected);
                };
                match reference {
                    RecipientReference::Segment { segment } if segment == SEGMENT => {
                        users().iter().for_each(|user| expect(&user.key, reached(user, *channel)));
                    }
                    RecipientReference::Segment { segment } => {
                        expect(&format!("segment:{segment}"), Expected::Failed);
                    }
                    RecipientReference::User { user } => {
                        let known = users().into_iter().find(|known| known.user.as_ref() == Some(user));
                        let expected = known.map_or(Expected::Skipped, |user| reached(&user, *channel));
                        expect(&Recipient::user(user).key, expected);
                    }
                    RecipientReference::Direct(direct) => {
                        let recipient = direct.resolve();
                        expect(&recipient.key, reached(&recipient, *channel));
                    }
                }
            }
        }
        all
    }
}

fn reached(recipient: &Recipient, channel: Channel) -> Expected {
    match recipient.address(channel) {
        None => Expected::Skipped,
        Some(address) if is_refused(address) => Expected::Refused,
        Some(_) => Expected::Sent,
    }
}
