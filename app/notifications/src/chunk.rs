use std::collections::HashSet;

use claimstream_domain::{
    Reason,
    notification::{
        Channel, DeliveryStatus, FanOut, NotificationRecord, NotificationRequest, Recipient,
        RecipientReference, message_id,
    },
};
use claimstream_ports::{StoreError, notification::RecipientDirectory};

/// The recipients of one step of a fan-out, each once, and where the next step begins.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Whom the directory knows.
    pub(super) known: Vec<Recipient>,
    /// The key of each recipient it does not know, and what to say of it.
    pub(super) unknown: Vec<(String, &'static str)>,
    /// The segments it does not know.
    pub(super) unknown_segments: Vec<String>,
    /// Where the next step begins; `None` if this is the last one.
    pub(super) next: Option<FanOut>,
    keys: HashSet<String>,
    /// How many recipients were taken, those that came twice included.
    taken: u32,
}

impl Chunk {
    /// Resolves references from a checkpoint on, until `limit` recipients are found or there are no more.
    pub(super) async fn gather(
        directory: &dyn RecipientDirectory,
        references: &[RecipientReference],
        from: FanOut,
        limit: u32,
    ) -> Result<Self, StoreError> {
        let (mut chunk, mut at) = (Self::default(), from);
        while let Some(reference) = references.get(at.reference) {
            let room = limit.saturating_sub(chunk.taken);
            if room == 0 {
                chunk.next = Some(at);
                break;
            }
            let found = directory.resolve(reference, at.offset, room).await?;
            at = match (reference, found) {
                (RecipientReference::Segment { segment }, None) => {
                    chunk.keep_unknown_segment(segment);
                    at.next_reference()
                }
                (RecipientReference::Segment { .. }, Some(members)) => chunk.take_members(members, at),
                (RecipientReference::User { user }, found) => {
                    chunk.take_one(found, || (Recipient::user(user).key, "unknown user"), at)
                }
                (RecipientReference::Direct(direct), found) => {
                    chunk.take_one(found, || (direct.resolve().key, "unknown recipient"), at)
                }
            };
        }
        Ok(chunk)
    }

    /// What of the request could not be carried out here.
    pub(super) fn flaw(&self) -> Option<Reason> {
        let names: Vec<String> = self.unknown_segments.iter().map(|name| format!("{name:?}")).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(Reason::new(format_args!("unknown segment {name}"))),
            names => Some(Reason::new(format_args!("unknown segments {}", names.join(", ")))),
        }
    }

    /// A record for each channel of each segment that the directory does not know: nobody was told there.
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

    /// Whether nobody was found, known or not.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A record for each channel of those that the directory does not know.
    pub(super) fn unknown_to(
        &self,
        request: &NotificationRequest,
    ) -> impl Iterator<Item = NotificationRecord> {
        let pairs = self.unknown.iter().flat_map(|(key, why)| {
            request.channels.iter().map(move |channel| (*channel, key.as_str(), *why))
        });
        pairs.map(|(channel, key, why)| {
            unreached(request, channel, key, DeliveryStatus::Skipped, Reason::new(why))
        })
    }

    /// Takes members of a segment; it ends with an empty answer and not before.
    fn take_members(&mut self, members: Vec<Recipient>, at: FanOut) -> FanOut {
        match members.len() {
            0 => at.next_reference(),
            count => {
                self.keep(members);
                at.advance(count as u64)
            }
        }
    }

    /// Takes the one recipient that a user or an address stands for, known or not.
    fn take_one(
        &mut self,
        found: Option<Vec<Recipient>>,
        unknown: impl FnOnce() -> (String, &'static str),
        at: FanOut,
    ) -> FanOut {
        match found.filter(|found| !found.is_empty()) {
            Some(found) => self.keep(found),
            None => self.keep_unknown(unknown()),
        }
        at.next_reference()
    }

    fn keep(&mut self, found: Vec<Recipient>) {
        self.taken = self.taken.saturating_add(u32::try_from(found.len()).unwrap_or(u32::MAX));
        self.known.extend(found.into_iter().filter(|recipient| self.keys.insert(recipient.key.clone())));
    }

    fn keep_unknown(&mut self, (key, why): (String, &'static str)) {
        self.taken = self.taken.saturating_add(1);
        if self.keys.insert(key.clone()) {
            self.unknown.push((key, why));
        }
    }

    fn keep_unknown_segment(&mut self, name: &str) {
        self.taken = self.taken.saturating_add(1);
        if !self.unknown_segments.iter().any(|known| known == name) {
            self.unknown_segments.push(name.to_owned());
        }
    }
}

/// The record of somebody to whom nothing is sent.
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

    /// Knows the user `a`, the segment `all` of five members, the empty segment `none` and every direct recipient.
    fn directory() -> MockRecipientDirectory {
        let mut directory = MockRecipientDirectory::new();
        directory.expect_resolve().returning(|reference, offset, limit| {
            Ok(match reference {
                RecipientReference::User { user } if user == "a" => Some(vec![Recipient::user("a")]),
                RecipientReference::Segment { segment } if segment == "none" => Some(vec![]),
                RecipientReference::Segment { segment } if segment == "all" => Some(
                    ["a", "b", "c", "d", "e"]
                        .iter()
                        .skip(offset as usize)
                        .take(limit as usize)
                        .map(|id| Recipient::user(id))
                        .collect(),
                ),
                RecipientReference::Direct(direct) => Some(vec![direct.resolve()]),
                _ => None,
            })
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
        finish(Chunk::gather(&directory(), references, from, limit)).unwrap()
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
        assert_eq!(first.next, Some(begin().next_reference().advance(2)));
        let second = gather(&references, first.next.unwrap(), 100);
        assert_eq!(known(&second), ["user:c", "user:d", "user:e"]);
        assert_eq!(second.unknown, [("user:z".to_owned(), "unknown user")]);
        assert_eq!(second.next, None);
    }

    #[test]
    fn a_recipient_that_comes_twice_is_kept_once_and_the_place_still_counts_it() {
        let chunk = gather(&[user("a"), segment("all"), user("z"), user("z")], begin(), 4);
        assert_eq!(known(&chunk), ["user:a", "user:b", "user:c"]);
        assert_eq!(chunk.next, Some(begin().next_reference().advance(3)));
        let rest = gather(&[user("z"), user("z")], begin(), 4);
        assert_eq!(rest.unknown.len(), 1);
    }

    #[test]
    fn an_empty_segment_is_nobody_and_an_unknown_one_is_named() {
        assert!(gather(&[segment("none")], begin(), 4).is_empty());
        let chunk =
            gather(&[user("a"), segment("vip"), user("z"), segment("old"), segment("vip")], begin(), 9);
        assert_eq!((known(&chunk), chunk.unknown.len()), (vec!["user:a"], 1));
        assert_eq!(chunk.flaw(), Some(Reason::new("unknown segments \"vip\", \"old\"")));
        assert_eq!(gather(&[user("a")], begin(), 4).flaw(), None);
    }

    #[test]
    fn a_directory_that_fails_ends_the_chunk() {
        let mut directory = MockRecipientDirectory::new();
        directory
            .expect_resolve()
            .returning(|_, _, _| Err(StoreError::new(StoreErrorKind::Unavailable, "resolve", "down")));
        assert!(finish(Chunk::gather(&directory, &[user("a")], begin(), 4)).is_err());
    }
}
