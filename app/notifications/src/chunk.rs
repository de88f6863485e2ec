use std::collections::HashSet;

use claimstream_domain::{
    Reason,
    notification::{
        Channel, Content, DeliveryStatus, FanOut, NotificationRecord, NotificationRequest, Recipient,
        RecipientReference, message_id,
    },
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{FoundUsers, RecipientDirectory, SegmentPage},
};

/// The recipients of one step of a fan-out, each once, and where the next step begins.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Whom the directory knows.
    pub(super) known: Vec<Recipient>,
    /// The key of each user it does not know.
    pub(super) unknown: Vec<String>,
    /// The key of each user whose entry it cannot read.
    unreadable: Vec<String>,
    /// The segments it does not know.
    pub(super) unknown_segments: Vec<String>,
    /// Where the next step begins; `None` if this is the last one.
    pub(super) next: Option<FanOut>,
    keys: HashSet<String>,
    /// How many recipients were taken, those that came twice included.
    taken: u32,
}

impl Chunk {
    /// So long are the texts of a step's messages together at most, about: they are written, held and enqueued together.
    const MOST_BYTES: usize = 16 * 1024 * 1024;
    /// A message without the texts that its request brings; what a template adds is not known before.
    const FRAME: usize = 2 * 1024;

    /// How many recipients one step of a request takes: the configured number, or fewer if their messages would be too long together.
    pub(super) fn limit(request: &NotificationRequest, configured: u32) -> u32 {
        let content = request.content.as_ref().map_or(0, Content::bytes);
        let params = request.template.iter().flat_map(|call| call.params.values()).map(String::len);
        let one =
            (Self::FRAME + content + params.sum::<usize>()).saturating_mul(request.channels.len().max(1));
        let fitting = u32::try_from(Self::MOST_BYTES / one).unwrap_or(u32::MAX);
        fitting.clamp(1, configured.max(1))
    }

    /// Resolves references from a checkpoint on, until `limit` recipients are found or there are no more.
    pub(super) async fn gather(
        directory: &dyn RecipientDirectory,
        references: &[RecipientReference],
        from: &FanOut,
        limit: u32,
    ) -> Result<Self, StoreError> {
        let (mut chunk, mut at) = (Self::default(), from.clone());
        while let Some(reference) = references.get(at.reference) {
            let room = limit.saturating_sub(chunk.taken);
            if room == 0 {
                chunk.next = Some(at);
                break;
            }
            at = match reference {
                RecipientReference::Segment { segment } => {
                    let page = directory.members(segment, &at.place, room).await?;
                    chunk.take_members(segment, page, at)?
                }
                RecipientReference::User { .. } => {
                    let ids = users(&references[at.reference..], room);
                    let found = directory.users(&ids).await?;
                    chunk.take_users(&ids, found, at)?
                }
                RecipientReference::Direct(direct) => {
                    chunk.keep(direct.resolve());
                    at.past(1)
                }
            };
        }
        Ok(chunk)
    }

    /// What of the request could not be carried out here.
    pub(super) fn flaw(&self) -> Option<Reason> {
        let names: Vec<String> = self.unknown_segments.iter().map(|name| format!("{name:?}")).collect();
        let segments = match names.as_slice() {
            [] => None,
            [name] => Some(format!("unknown segment {name}")),
            names => Some(format!("unknown segments {}", names.join(", "))),
        };
        let unreadable = (!self.unreadable.is_empty()).then(|| UNREADABLE.to_owned());
        let flaws: Vec<String> = segments.into_iter().chain(unreadable).collect();
        (!flaws.is_empty()).then(|| Reason::new(flaws.join("; ")))
    }

    /// A record for each channel of each member whose entry the directory cannot read.
    pub(super) fn unreadable_to(
        &self,
        request: &NotificationRequest,
    ) -> impl Iterator<Item = NotificationRecord> {
        let pairs = self
            .unreadable
            .iter()
            .flat_map(|key| request.channels.iter().map(move |channel| (*channel, key)));
        pairs.map(|(channel, key)| {
            unreached(request, channel, key, DeliveryStatus::Failed, Reason::new(UNREADABLE))
        })
    }

    /// A record for each channel of each segment that the directory does not know: no user was notified there.
    pub(super) fn unknown_segments_to(
        &self,
        request: &NotificationRequest,
    ) -> impl Iterator<Item = NotificationRecord> {
        let pairs = self.unknown_segments.iter().flat_map(|segment| {
            request.channels.iter().map(move |channel| (*channel, format!("segment:{segment}")))
        });
        pairs.map(|(channel, key)| {
            let reason = Reason::new("unknown segment");
            unreached(request, channel, &key, DeliveryStatus::Failed, reason)
        })
    }

    /// Whether no recipient was found, known or not.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A record for each channel of those that the directory does not know.
    pub(super) fn unknown_to(
        &self,
        request: &NotificationRequest,
    ) -> impl Iterator<Item = NotificationRecord> {
        let pairs =
            self.unknown.iter().flat_map(|key| request.channels.iter().map(move |channel| (*channel, key)));
        pairs.map(|(channel, key)| {
            unreached(request, channel, key, DeliveryStatus::Skipped, Reason::new("unknown user"))
        })
    }

    /// Takes a page of a segment.
    fn take_members(
        &mut self,
        segment: &str,
        page: Option<SegmentPage>,
        at: FanOut,
    ) -> Result<FanOut, StoreError> {
        let Some(page) = page else {
            self.keep_unknown_segment(segment);
            return Ok(at.past(1));
        };
        if page.next.is_some() && page.next.as_deref() == at.place.key() {
            return Err(unusable("a page of a segment that names itself as the next one"));
        }
        page.members.into_iter().for_each(|member| self.keep(member));
        page.unreadable.iter().for_each(|id| self.keep_unreadable(Recipient::user(id).key));
        Ok(match page.next {
            Some(key) => at.after(key),
            None => at.past(1),
        })
    }

    /// Takes users that stand one after another, known or not.
    fn take_users(
        &mut self,
        ids: &[String],
        FoundUsers { users, unreadable }: FoundUsers,
        at: FanOut,
    ) -> Result<FanOut, StoreError> {
        if users.len() != ids.len() {
            return Err(unusable("users that do not fit those that were asked for"));
        }
        for (id, user) in ids.iter().zip(users) {
            match user {
                Some(user) => self.keep(user),
                None if unreadable.contains(id) => self.keep_unreadable(Recipient::user(id).key),
                None => self.keep_unknown(Recipient::user(id).key),
            }
        }
        Ok(at.past(ids.len()))
    }

    fn keep(&mut self, recipient: Recipient) {
        self.taken = self.taken.saturating_add(1);
        if self.keys.insert(recipient.key.clone()) {
            self.known.push(recipient);
        }
    }

    fn keep_unknown(&mut self, key: String) {
        self.taken = self.taken.saturating_add(1);
        if self.keys.insert(key.clone()) {
            self.unknown.push(key);
        }
    }

    fn keep_unreadable(&mut self, key: String) {
        self.taken = self.taken.saturating_add(1);
        if self.keys.insert(key.clone()) {
            self.unreadable.push(key);
        }
    }

    fn keep_unknown_segment(&mut self, name: &str) {
        self.taken = self.taken.saturating_add(1);
        if !self.unknown_segments.iter().any(|known| known == name) {
            self.unknown_segments.push(name.to_owned());
        }
    }
}

const UNREADABLE: &str = "the entry in the directory cannot be read";

/// The ids of the users that these references begin with, at most so many.
fn users(references: &[RecipientReference], most: u32) -> Vec<String> {
    let ids = references.iter().map_while(|reference| match reference {
        RecipientReference::User { user } => Some(user.clone()),
        RecipientReference::Segment { .. } | RecipientReference::Direct(_) => None,
    });
    ids.take(most as usize).collect()
}

fn unusable(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "fan out", format!("the directory answers {what}"))
}

/// The record of a recipient to whom nothing is sent.
fn unreached(
    request: &NotificationRequest,
    channel: Channel,
    key: &str,
    status: DeliveryStatus,
    reason: Reason,
) -> NotificationRecord {
    NotificationRecord {
        id: message_id(request.id, channel, key),
        request_id: request.id,
        channel,
        recipient: key.to_owned(),
        status,
        reason: Some(reason),
        reference: None,
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::DirectRecipient;
    use claimstream_ports::{StoreErrorKind, mock::MockRecipientDirectory};
    use uuid::Uuid;

    use super::*;
    use crate::tests::finish;

    /// Knows the user `a`, the segment `all` of five members and the empty segment `none`.
    fn directory() -> MockRecipientDirectory {
        let mut directory = MockRecipientDirectory::new();
        let known = |id: &String| (id == "a").then(|| Recipient::user("a"));
        directory.expect_users().returning(move |ids| Ok(ids.iter().map(known).collect::<Vec<_>>().into()));
        directory.expect_members().returning(|segment, from, limit| {
            let members = match segment {
                "none" => vec![],
                "all" => vec!["a", "b", "c", "d", "e"],
                _ => return Ok(None),
            };
            let from = from.key().unwrap_or_default();
            let mut rest = members.into_iter().filter(|id| *id > from).peekable();
            let page: Vec<_> = rest.by_ref().take(limit as usize).collect();
            let next = rest.peek().and(page.last()).map(|last| (*last).to_owned());
            let members = page.into_iter().map(Recipient::user).collect();
            Ok(Some(SegmentPage { members, next, ..SegmentPage::default() }))
        });
        directory
    }

    fn user(id: &str) -> RecipientReference {
        RecipientReference::User { user: id.into() }
    }

    fn segment(name: &str) -> RecipientReference {
        RecipientReference::Segment { segment: name.into() }
    }

    fn begin() -> FanOut {
        FanOut::begin(Uuid::from_u128(7))
    }

    fn gather(references: &[RecipientReference], from: FanOut, limit: u32) -> Chunk {
        finish(Chunk::gather(&directory(), references, &from, limit)).unwrap()
    }

    fn known(chunk: &Chunk) -> Vec<&str> {
        chunk.known.iter().map(|recipient| recipient.key.as_str()).collect()
    }

    #[test]
    fn a_chunk_reaches_over_references_and_stops_when_it_is_full() {
        let mail = DirectRecipient { email: Some("m@example.com".into()), ..DirectRecipient::default() };
        let references = [RecipientReference::Direct(mail), segment("all"), user("z")];
        let first = gather(&references, begin(), 3);
        assert_eq!(known(&first), ["direct:m@example.com||||", "user:a", "user:b"]);
        assert_eq!(first.next, Some(begin().past(1).after("b".into())));
        let second = gather(&references, first.next.unwrap(), 100);
        assert_eq!(known(&second), ["user:c", "user:d", "user:e"]);
        assert_eq!(second.unknown, ["user:z"]);
        assert_eq!(second.next, None);
    }

    #[test]
    fn a_recipient_that_comes_twice_is_kept_once_and_the_place_still_counts_it() {
        let chunk = gather(&[user("a"), segment("all"), user("z"), user("z")], begin(), 4);
        assert_eq!(known(&chunk), ["user:a", "user:b", "user:c"]);
        assert_eq!(chunk.next, Some(begin().past(1).after("c".into())));
        let rest = gather(&[user("z"), user("z")], begin(), 4);
        assert_eq!(rest.unknown.len(), 1);
    }

    #[test]
    fn users_that_stand_one_after_another_are_asked_for_together() {
        let mut directory = MockRecipientDirectory::new();
        let expected = |ids: &[String]| ids == ["a", "b"];
        directory.expect_users().times(1).withf(expected).returning(|ids| Ok(vec![None; ids.len()].into()));
        let references = [user("a"), user("b"), user("c")];
        let chunk = finish(Chunk::gather(&directory, &references, &begin(), 2)).unwrap();
        assert_eq!((chunk.unknown.len(), chunk.next), (2, Some(begin().past(2))));
    }

    #[test]
    fn an_empty_segment_has_no_recipients_and_an_unknown_one_is_named() {
        assert!(gather(&[segment("none")], begin(), 4).is_empty());
        let chunk =
            gather(&[user("a"), segment("vip"), user("z"), segment("old"), segment("vip")], begin(), 9);
        assert_eq!((known(&chunk), chunk.unknown.len()), (vec!["user:a"], 1));
        assert_eq!(chunk.flaw(), Some(Reason::new("unknown segments \"vip\", \"old\"")));
        assert_eq!(gather(&[user("a")], begin(), 4).flaw(), None);
    }

    #[test]
    fn a_user_that_cannot_be_read_takes_a_place_and_stops_no_other() {
        let mut directory = MockRecipientDirectory::new();
        directory.expect_users().returning(|_| {
            let users = vec![Some(Recipient::user("a")), None, None];
            Ok(FoundUsers { users, unreadable: vec!["b".into()] })
        });
        let chunk =
            finish(Chunk::gather(&directory, &[user("a"), user("b"), user("c")], &begin(), 3)).unwrap();
        assert_eq!(
            (known(&chunk), chunk.unreadable.as_slice()),
            (vec!["user:a"], ["user:b".into()].as_slice())
        );
        assert_eq!((chunk.unknown.len(), chunk.flaw()), (1, Some(Reason::new(UNREADABLE))));
    }

    #[test]
    fn a_member_that_cannot_be_read_takes_a_place_and_stops_no_other() {
        let mut directory = MockRecipientDirectory::new();
        directory.expect_members().returning(|_, _, _| {
            let members = vec![Recipient::user("a"), Recipient::user("c")];
            Ok(Some(SegmentPage { members, unreadable: vec!["b".into()], next: None }))
        });
        let chunk = finish(Chunk::gather(&directory, &[segment("all")], &begin(), 3)).unwrap();
        assert_eq!(
            (known(&chunk), chunk.unreadable.clone()),
            (vec!["user:a", "user:c"], vec!["user:b".to_owned()])
        );
        assert_eq!((chunk.flaw(), chunk.next), (Some(Reason::new(UNREADABLE)), None));
    }

    #[test]
    fn a_directory_that_fails_ends_the_chunk() {
        let mut directory = MockRecipientDirectory::new();
        directory
            .expect_users()
            .returning(|_| Err(StoreError::new(StoreErrorKind::Unavailable, "resolve", "down")));
        assert!(finish(Chunk::gather(&directory, &[user("a")], &begin(), 4)).is_err());
    }

    #[test]
    fn a_directory_that_breaks_its_word_ends_the_chunk_and_not_the_relay() {
        let mut directory = MockRecipientDirectory::new();
        directory.expect_users().returning(|_| Ok(FoundUsers::default()));
        let again = || Ok(Some(SegmentPage { next: Some("k".into()), ..SegmentPage::default() }));
        directory.expect_members().returning(move |_, _, _| again());
        for reference in [user("a"), segment("all")] {
            let refused = finish(Chunk::gather(&directory, &[reference], &begin(), 4)).unwrap_err();
            assert_eq!(refused.kind(), StoreErrorKind::Corrupt);
        }
    }
}
