use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Channel, Content, DeliveryStatus, NotificationMessage, NotificationRequest, Recipient, SegmentPlace,
};
use crate::Reason;

/// How far the fan-out of a request has come; the payload of its outbox message, and its only checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FanOut {
    /// The request.
    pub request: Uuid,
    /// Which of its recipient references is next.
    #[serde(default)]
    pub reference: usize,
    /// The version of the request's template, fixed by the first step so that all recipients read the same one; `None` before that,
    /// and where the source has no versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<u32>,
    /// Where the next members are, if that is a segment.
    #[serde(default, rename = "after", skip_serializing_if = "SegmentPlace::is_start")]
    pub place: SegmentPlace,
    /// How many members an older process had behind it, which counted them. The segment is begun again then: its members before that
    /// have their records, so none gets a second message. It stays in the checkpoints of the segment, and so in the ids of the steps
    /// that follow, which differ from those of steps that were finished before.
    #[serde(default, skip_serializing_if = "is_none")]
    offset: u64,
    /// Which repair it belongs to, if it repeats a fan-out of which something was lost. It stays in all checkpoints of the repeated fan-out,
    /// and so in the ids of their steps: these are new, while the steps before are known as long as their messages are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repair: Option<Uuid>,
}

fn is_none(offset: &u64) -> bool {
    *offset == 0
}

impl FanOut {
    /// The fan-out of a request that has not begun.
    pub fn begin(request: Uuid) -> Self {
        Self { request, reference: 0, template: None, place: SegmentPlace::Start, offset: 0, repair: None }
    }

    /// The fan-out of a request from its beginning once more, by a repair. The messages of recipients have the ids that they had.
    pub fn repeat(request: Uuid, repair: Uuid) -> Self {
        Self { repair: Some(repair), ..Self::begin(request) }
    }

    /// Whether nothing of the request is behind it.
    pub fn is_beginning(&self) -> bool {
        *self == Self { repair: self.repair, ..Self::begin(self.request) }
    }

    /// The same place, with the version of the template that its first step has found, unless it has one.
    pub fn with_template(self, version: Option<u32>) -> Self {
        Self { template: self.template.or(version), ..self }
    }

    /// The place after the member of this key, in the same segment.
    pub fn after(self, key: String) -> Self {
        Self { place: SegmentPlace::After(key), ..self }
    }

    /// The start of the reference after the next `references`.
    pub fn past(self, references: usize) -> Self {
        Self { reference: self.reference + references, place: SegmentPlace::Start, offset: 0, ..self }
    }

    /// Identifies the place within the request; the same on every run.
    pub(super) fn place_id(&self) -> String {
        let Self { reference, offset, .. } = self;
        let chain = match self.repair {
            None => "fan-out".to_owned(),
            Some(repair) => format!("fan-out of {repair}"),
        };
        match &self.place {
            SegmentPlace::Start => format!("{chain}\n{reference}\n{offset}"),
            SegmentPlace::After(key) => format!("{chain}\n{reference}\n{offset}\n{key}"),
        }
    }
}

/// One combination of recipient and channel, as it is kept and can be queried for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotificationRecord {
    /// See [`message_id`].
    pub id: Uuid,
    /// The request it came from.
    pub request_id: Uuid,
    /// How it is sent.
    pub channel: Channel,
    /// Whom it is for.
    pub recipient: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// Why it was skipped, given up or taken back.
    pub reason: Option<Reason>,
    /// The provider's own name for the delivery.
    pub reference: Option<String>,
}

/// The id of the message that a request sends to a recipient on a channel: the same on every run.
///
/// It is the UUIDv5 of the channel and the recipient's key in the namespace of the request's id.
pub fn message_id(request: Uuid, channel: Channel, recipient: &str) -> Uuid {
    Uuid::new_v5(&request, format!("{channel}\n{recipient}").as_bytes())
}

/// Whom of `recipients` a request reaches on which channel.
///
/// `write` makes the content for a recipient on a channel and the link by which it can unsubscribe, or says why there is none. Every combination gives a record;
/// those that can be sent give a message as well.
pub fn fan_out(
    request: &NotificationRequest,
    recipients: &[Recipient],
    mut write: impl FnMut(&Recipient, Channel) -> Result<(Content, Option<String>), Reason>,
) -> Vec<(NotificationRecord, Option<NotificationMessage>)> {
    let pairs = recipients.iter().flat_map(|r| request.channels.iter().map(move |channel| (r, *channel)));
    pairs
        .map(|(recipient, channel)| {
            let id = message_id(request.id, channel, &recipient.key);
            let content = match recipient.address(channel) {
                Some(address) => write(recipient, channel)
                    .and_then(|written| written.0.fits(channel).map(|()| (address, written))),
                None => Err(Reason::new(format_args!("the recipient has no address for {channel}"))),
            };
            let (status, reason, message) = match content {
                Ok((address, (content, unsubscribe_url))) => {
                    let message = NotificationMessage {
                        id,
                        request_id: request.id,
                        channel,
                        recipient: recipient.key.clone(),
                        address: address.into(),
                        category: request.category.clone(),
                        priority: request.priority,
                        unsubscribe_url,
                        time_zone: recipient.time_zone.clone(),
                        content,
                        sender: request.sender.get(&channel).cloned(),
                        expires_at: request.expires_at,
                        digest: None,
                        traceparent: None,
                    };
                    (DeliveryStatus::Pending, None, Some(message))
                }
                Err(reason) => (DeliveryStatus::Skipped, Some(reason), None),
            };
            let recipient = recipient.key.clone();
            let request_id = request.id;
            let record =
                NotificationRecord { id, request_id, channel, recipient, status, reason, reference: None };
            (record, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Requester, RequesterKind};
    use super::*;

    fn request(channels: &[Channel]) -> NotificationRequest {
        NotificationRequest {
            id: Uuid::from_u128(7),
            requester: Requester { kind: RequesterKind::Service, id: "shop".into() },
            recipients: vec![],
            channels: channels.to_vec(),
            content: None,
            template: None,
            scheduled_at: None,
            delay_ms: None,
            expires_at: None,
            sender: Default::default(),
            category: None,
            priority: Default::default(),
            memo: None,
            headers: Default::default(),
        }
    }

    fn hello(_: &Recipient, _: Channel) -> Result<(Content, Option<String>), Reason> {
        Ok((Content { title: Some("hello".into()), ..Content::default() }, None))
    }

    #[test]
    fn a1_6_two_users_and_two_directs_on_two_channels_are_six_messages_and_two_skips() {
        let reachable = |id: &str| Recipient {
            email: Some(format!("{id}@example.com")),
            device_token: Some(id.into()),
            ..Recipient::user(id)
        };
        let mail = Recipient { key: "m".into(), email: Some("m@example.com".into()), ..Recipient::default() };
        let push = Recipient { key: "p".into(), device_token: Some("p".into()), ..Recipient::default() };
        let all = [reachable("a"), reachable("b"), mail, push];
        let out = fan_out(&request(&[Channel::Email, Channel::Push]), &all, hello);
        assert_eq!(out.len(), 8);
        assert_eq!(out.iter().filter(|(_, message)| message.is_some()).count(), 6);
        let skipped: Vec<_> = out.iter().filter(|(r, _)| r.status == DeliveryStatus::Skipped).collect();
        assert_eq!(skipped.len(), 2);
        assert!(skipped.iter().all(|(r, m)| r.reason.is_some() && m.is_none()));
    }

    #[test]
    fn a_checkpoint_of_an_older_process_begins_its_segment_again_and_its_steps_have_ids_of_their_own() {
        let older = r#"{"request":"00000000-0000-0000-0000-000000000007","reference":2,"offset":500}"#;
        let older: FanOut = serde_json::from_str(older).unwrap();
        let new = FanOut::begin(Uuid::from_u128(7)).past(2);
        assert_eq!((older.reference, &older.place), (2, &SegmentPlace::Start));
        assert_ne!(older.clone().after("u-1".into()).place_id(), new.clone().after("u-1".into()).place_id());
        assert_eq!(older.past(1), new.past(1));
    }

    #[test]
    fn a_checkpoint_reads_back_and_an_older_process_reads_the_start_of_its_segment() {
        #[derive(Deserialize, PartialEq, Debug)]
        struct Older {
            reference: usize,
            #[serde(default)]
            offset: u64,
        }
        let checkpoint = FanOut::begin(Uuid::from_u128(7)).past(3).after("u-9".into());
        let json = serde_json::to_string(&checkpoint).unwrap();
        assert_eq!(serde_json::from_str::<FanOut>(&json).unwrap(), checkpoint);
        assert_eq!(serde_json::from_str::<Older>(&json).unwrap(), Older { reference: 3, offset: 0 });
    }

    proptest! {
        /// Steps before a repair, of the repair, and of the next one: none has the id of another, and each has the same one each time.
        /// Guard: steps of a repair have ids of their own | `place_id`: without the repair
        #[test]
        fn the_steps_of_a_repair_have_ids_of_their_own(moves in prop::collection::vec(step(), 0..8), repairs: [u128; 2]) {
            let request = Uuid::from_u128(7);
            let chains = || {
                let repaired = repairs.map(|repair| FanOut::repeat(request, Uuid::from_u128(repair)));
                let begun = [FanOut::begin(request)].into_iter().chain(repaired);
                begun.map(|from| moves.iter().fold(from, |at, (past, key)| match key {
                    Some(key) => at.with_template(Some(3)).after(key.clone()),
                    None => at.past(*past),
                }))
            };
            let ids: Vec<String> = chains().map(|at| at.place_id()).collect();
            prop_assert_eq!(&ids, &chains().map(|at| at.place_id()).collect::<Vec<_>>());
            prop_assert_ne!(&ids[0], &ids[1]);
            prop_assert_eq!(ids[1] == ids[2], repairs[0] == repairs[1]);
            for at in chains() {
                let read: FanOut = serde_json::from_str(&serde_json::to_string(&at).unwrap()).unwrap();
                prop_assert_eq!(&read, &at);
                prop_assert_eq!(at.is_beginning(), moves.iter().all(|(past, key)| key.is_none() && *past == 0));
            }
        }
    }

    /// So many references are passed, or a member of a segment.
    fn step() -> impl Strategy<Value = (usize, Option<String>)> {
        (0_usize..3, prop::option::of("[a-z\n]{0,4}"))
    }

    #[test]
    fn ids_are_the_same_on_every_run_and_differ_by_channel_and_recipient() {
        let of = |n, channel, who| message_id(Uuid::from_u128(n), channel, who);
        assert_eq!(of(1, Channel::Email, "a"), of(1, Channel::Email, "a"));
        let all = [
            of(1, Channel::Email, "a"),
            of(2, Channel::Email, "a"),
            of(1, Channel::Push, "a"),
            of(1, Channel::Email, "b"),
        ];
        assert!((1..4).all(|n| !all[..n].contains(&all[n])));
    }

    #[test]
    fn content_that_cannot_be_written_is_a_recorded_skip() {
        let who = Recipient { email: Some("m@example.com".into()), ..Recipient::user("a") };
        let out = fan_out(&request(&[Channel::Email]), &[who], |_, _| Err(Reason::new("no template")));
        assert_eq!(out[0].0.reason, Some(Reason::new("no template")));
        assert_eq!(out[0].1, None);
    }

    #[test]
    fn a_part_that_a_channel_cannot_carry_is_a_recorded_skip_there_and_sent_elsewhere() {
        let who = Recipient {
            email: Some("m@example.com".into()),
            phone: Some("+491".into()),
            ..Recipient::user("a")
        };
        let picture = |_: &Recipient, _: Channel| {
            let picture = Some("https://example.com/i.png".into());
            Ok((Content { body: Some("text".into()), image_url: picture, ..Content::default() }, None))
        };
        let out = fan_out(&request(&[Channel::Email, Channel::Sms]), &[who], picture);
        assert!(out[0].1.is_some());
        assert_eq!(out[1].0.status, DeliveryStatus::Skipped);
        assert_eq!(out[1].0.reason, Some(Reason::new("sms cannot carry image_url")));
    }
}
