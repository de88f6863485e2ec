use std::collections::{BTreeMap, BTreeSet, HashSet};

use claimstream_domain::{
    Fingerprint,
    notification::{
        ReceiptCounts,
        consent::{Address, Suppression},
    },
};
use claimstream_ports::notification::{NotificationReports, Suppressions};
use claimstream_sea_orm::SeaOrmOutbox;
use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use super::{mail_course::Fate, mailer::Mail};
use crate::Failure;

/// What the database should have kept of what the mailer said, worked out from the mailer's book alone.
pub(crate) struct ReceiptsKept {
    /// The least and the most that each request may say of its messages.
    requests: BTreeMap<Uuid, (ReceiptCounts, ReceiptCounts)>,
    /// Addresses that bounced or complained.
    suppressed: BTreeMap<Address, Suppression>,
    /// Those of which only mails speak whose process was killed.
    doubtful: BTreeSet<Address>,
    addresses: BTreeSet<Address>,
}

impl ReceiptsKept {
    /// A process that is killed may not have noted under which name the mailer took a mail; what is said of it under that name finds
    /// nothing then. So mails of killed processes count as maybe.
    pub(crate) fn of(mails: &[Mail], of_killed: &HashSet<Uuid>) -> Self {
        let mut kept = Self {
            requests: BTreeMap::new(),
            suppressed: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            addresses: mails.iter().map(|mail| mail.address.clone()).collect(),
        };
        let mut certain = BTreeSet::new();
        for mail in mails {
            let is_certain = !of_killed.contains(&mail.message);
            let (least, most) = kept.requests.entry(mail.request).or_default();
            for kind in mail.said {
                most.count(*kind, 1);
                least.count(*kind, u64::from(is_certain));
            }
            if let Some(reason) = Fate::of(&mail.address).suppresses() {
                kept.suppressed.insert(mail.address.clone(), reason);
                if is_certain {
                    certain.insert(&mail.address);
                }
            }
        }
        kept.doubtful = kept.suppressed.keys().filter(|one| !certain.contains(one)).cloned().collect();
        kept
    }

    /// Addresses that bounced or complained, and why they must not be written to.
    pub(crate) fn suppressed(&self) -> &BTreeMap<Address, Suppression> {
        &self.suppressed
    }

    /// Addresses of which it is certain what becomes of the next mail.
    pub(crate) fn certain(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter().filter(|one| !self.doubtful.contains(one))
    }

    /// What the database says of all requests, and where it is not what it should be.
    pub(crate) async fn compare(
        &self,
        outbox: &SeaOrmOutbox,
    ) -> Result<(ReceiptCounts, Vec<String>), Failure> {
        let asked = self.requests.iter().map(|(request, bounds)| async move {
            let progress = outbox.progress(*request).await?;
            let progress = progress.ok_or_else(|| format!("request {request} is not in the database"))?;
            Ok::<_, Failure>((*request, *bounds, progress.receipts))
        });
        let counted: Vec<_> = futures::stream::iter(asked).buffer_unordered(8).try_collect().await?;
        let (mut total, mut wrong) = (ReceiptCounts::default(), Vec::new());
        for (request, (least, most), counts) in counted {
            counts.iter().for_each(|(kind, messages)| total.count(kind, messages));
            let fits = |(kind, messages)| (least.of(kind)..=most.of(kind)).contains(&messages);
            if !counts.iter().all(fits) {
                wrong.push(format!(
                    "receipts of request {request} are {}, and should be {}",
                    text(&counts),
                    text(&most)
                ));
            }
        }
        Ok((total, wrong))
    }

    /// How many of the addresses are suppressed, and which are not as they should be.
    pub(crate) async fn compare_suppressed(
        &self,
        outbox: &SeaOrmOutbox,
    ) -> Result<(usize, Vec<String>), Failure> {
        let listed = listed(outbox).await?;
        let (mut count, mut wrong) = (0, Vec::new());
        for address in &self.addresses {
            let (is, should) = (listed.get(&key(address)), self.suppressed.get(address));
            count += usize::from(is.is_some());
            if is != should && !(is.is_none() && self.doubtful.contains(address)) {
                let text = |reason: Option<&Suppression>| {
                    reason.map_or("not suppressed".into(), ToString::to_string)
                };
                wrong.push(format!("{} is {}, and should be {}", address.as_str(), text(is), text(should)));
            }
        }
        Ok((count, wrong))
    }
}

/// All suppressed addresses, by their keys.
async fn listed(outbox: &SeaOrmOutbox) -> Result<BTreeMap<[u8; 32], Suppression>, Failure> {
    let (mut all, mut after): (BTreeMap<_, _>, Option<Fingerprint>) = (BTreeMap::new(), None);
    loop {
        let page = outbox.suppressed(after, 500).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.key);
        all.extend(page.into_iter().map(|one| (*one.key.as_bytes(), one.reason)));
    }
}

fn key(address: &Address) -> [u8; 32] {
    *address.fingerprint().as_bytes()
}

/// Counts as a reader expects them: `3 delivered, 1 bounced`.
pub(crate) fn text(counts: &ReceiptCounts) -> String {
    let said: Vec<String> = counts
        .iter()
        .filter(|(_, messages)| *messages > 0)
        .map(|(kind, messages)| format!("{messages} {kind}"))
        .collect();
    if said.is_empty() { "none".into() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::notification::{Channel, ReceiptKind};

    use super::*;

    fn mail(n: u128, address: &str, said: &'static [ReceiptKind]) -> Mail {
        let address = Address::new(Channel::Email, address);
        Mail { message: Uuid::from_u128(n), request: Uuid::from_u128(9), address, said }
    }

    #[test]
    fn what_was_said_of_mails_of_killed_processes_is_kept_or_not() {
        use ReceiptKind::{Bounced, Delivered};
        let all = (0..100).map(|n| format!("{n}@example.com"));
        let bounces = |text: &String| Fate::of(&Address::new(Channel::Email, text)) == Fate::Bounces;
        let bouncing: Vec<String> = all.filter(bounces).take(2).collect();
        let mails = [mail(1, &bouncing[0], &[Bounced]), mail(2, &bouncing[1], &[Bounced, Delivered])];
        let kept = ReceiptsKept::of(&mails, &HashSet::from([Uuid::from_u128(2)]));
        let (least, most) = kept.requests[&Uuid::from_u128(9)];
        assert_eq!((text(&least), text(&most)), ("1 bounced".into(), "1 delivered, 2 bounced".into()));
        assert_eq!(kept.suppressed.len(), 2);
        assert_eq!(kept.certain().collect::<Vec<_>>(), [&mails[0].address]);
        assert_eq!(text(&ReceiptCounts::default()), "none");
    }
}
