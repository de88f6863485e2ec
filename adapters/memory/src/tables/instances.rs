use std::collections::BTreeMap;

use claimstream_domain::{InstanceId, InstanceListed, Owner, Timestamp};

use crate::clock::between;

/// The instances that have claimed messages: their labels, and when they noted themselves.
#[derive(Debug, Default)]
pub(crate) struct Instances(BTreeMap<InstanceId, (String, Timestamp)>);

impl Instances {
    /// Notes an instance that is new here.
    pub(crate) fn note(&mut self, owner: &Owner, now: Timestamp) {
        self.0.entry(owner.instance()).or_insert_with(|| (owner.label().to_owned(), now));
    }

    pub(crate) fn list(&self, after: Option<InstanceId>, limit: u32, now: Timestamp) -> Vec<InstanceListed> {
        let behind = self.0.iter().filter(|(id, _)| after.is_none_or(|after| **id > after));
        let listed = behind.map(|(id, (label, at))| InstanceListed {
            id: *id,
            label: label.clone(),
            seen: between(*at, now),
        });
        listed.take(limit as usize).collect()
    }
}
