use claimstream_domain::{AuditEntry, AuditListed, Timestamp};

use crate::clock::between;

/// What operators have done, the oldest first; the number of an entry is its place, from 1 on.
#[derive(Debug, Default)]
pub(crate) struct Audit(Vec<(Timestamp, AuditEntry)>);

impl Audit {
    pub(crate) fn add(&mut self, entry: &AuditEntry, now: Timestamp) {
        self.0.push((now, entry.clone()));
    }

    /// The newest entries before a number, the newest first.
    pub(crate) fn list(&self, before: Option<u64>, limit: u32, now: Timestamp) -> Vec<AuditListed> {
        let numbered =
            (1_u64..).zip(&self.0).filter(|(number, _)| before.is_none_or(|before| *number < before));
        let listed = |(number, (noted_at, entry)): (u64, &(Timestamp, AuditEntry))| AuditListed {
            number,
            age: between(*noted_at, now),
            actor: entry.actor().to_owned(),
            action: entry.action().word().to_owned(),
            subject: entry.subject().to_owned(),
            count: entry.count(),
        };
        let mut all: Vec<_> = numbered.collect();
        all.reverse();
        all.into_iter().take(limit as usize).map(listed).collect()
    }
}
