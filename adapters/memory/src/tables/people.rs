use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use claimstream_domain::notification::{DirectoryEntry, Recipient, SegmentPlace};
use claimstream_ports::notification::SegmentPage;

/// The segment of all users, unless it is defined otherwise.
const ALL: &str = "all";

/// Users by their ids, and the ids in each segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct People {
    users: BTreeMap<String, Recipient>,
    segments: BTreeMap<String, BTreeSet<String>>,
}

impl People {
    pub(crate) fn user(&self, id: &str) -> Option<&Recipient> {
        self.users.get(id)
    }

    /// Puts a user in, in place of the one that has its id.
    pub(crate) fn put(&mut self, id: String, user: Recipient) {
        self.users.insert(id, user);
    }

    /// The ids in a segment, which is made if it is new.
    pub(crate) fn segment(&mut self, name: &str) -> &mut BTreeSet<String> {
        self.segments.entry(name.to_owned()).or_default()
    }

    pub(crate) fn remove_members(&mut self, segment: &str, users: &[String]) -> u64 {
        let Some(members) = self.segments.get_mut(segment) else { return 0 };
        users.iter().filter(|id| members.remove(*id)).count() as u64
    }

    /// Removes a user, from all segments too.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.segments.values_mut().for_each(|members| {
            members.remove(id);
        });
        self.users.remove(id).is_some()
    }

    pub(crate) fn entry(&self, id: &str) -> Option<DirectoryEntry> {
        let user = self.users.get(id)?.clone();
        let segments = self.segments.iter().filter(|(_, members)| members.contains(id));
        let segments = segments.map(|(name, _)| name.clone());
        Some(DirectoryEntry {
            user,
            segments: segments.take(DirectoryEntry::MOST_SEGMENTS as usize).collect(),
        })
    }

    /// Users after an id, by id.
    pub(crate) fn page(&self, from: &SegmentPlace, limit: u32) -> SegmentPage {
        let ids = self.users.range::<str, _>((behind(from.key()), Bound::Unbounded));
        self.page_of(ids.map(|(id, _)| id), limit)
    }

    /// A page of a segment; its key is the id of the last member.
    pub(crate) fn members(&self, segment: &str, from: &SegmentPlace, limit: u32) -> Option<SegmentPage> {
        let range = (behind(from.key()), Bound::Unbounded);
        match self.segments.get(segment) {
            Some(members) => Some(self.page_of(members.range::<str, _>(range), limit)),
            None => (segment == ALL).then(|| self.page(from, limit)),
        }
    }

    fn page_of<'a>(&self, mut ids: impl Iterator<Item = &'a String>, limit: u32) -> SegmentPage {
        let page: Vec<&String> = ids.by_ref().take(limit as usize).collect();
        let next = ids.next().and(page.last()).map(|last| (*last).clone());
        let members = page.into_iter().filter_map(|id| self.users.get(id)).cloned().collect();
        SegmentPage { members, next, ..SegmentPage::default() }
    }
}

fn behind(key: Option<&str>) -> Bound<&str> {
    key.map_or(Bound::Unbounded, Bound::Excluded)
}
