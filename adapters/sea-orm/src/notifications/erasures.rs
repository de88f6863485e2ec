use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use claimstream_domain::{Fingerprint, notification::recipient_hash};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        Database,
        args::Args,
        classify::corrupt,
        typed_row::row,
        unit::{rows, run},
    },
    notifications::suppressions::hash,
};

const ERASURE: &str = "erasure";

/// Which recipients were erased, and when: hashes of their keys.
pub(crate) struct Erasures {
    pub(crate) db: Arc<Database>,
}

/// When those were erased that were, in microseconds.
pub(crate) type ErasedAt = HashMap<Fingerprint, i64>;

impl Erasures {
    /// How many recipients one statement names.
    const HASHES: usize = 500;

    /// Notes that a recipient is erased from now on. It waits for transactions that hold the recipient, so whatever they have restored is there
    /// afterwards.
    pub(crate) async fn note(&self, recipient: &str) -> Result<(), StoreError> {
        // A microsecond: a row that stays as it is would be met by nothing on another node of a cluster.
        let args = self.db.args().with("hash", hash(&recipient_hash(recipient))).with("moment", 1);
        let note = || run(self.db.callers(), ERASURE, self.db.sql.erasures.note.bind(&args));
        self.db.restarting_beside(ERASURE, note).await.map(|_| ())
    }

    /// Holds recipients for the transaction, in one order, and answers when they were erased: none of them is erased before it ends.
    ///
    /// It writes a row for each, because nothing else makes an erasure on another node of a cluster wait or fail as well. The row of one that
    /// was erased before is only locked here; [`release`](Self::release) writes it.
    pub(crate) async fn hold(
        &self,
        on: &impl ConnectionTrait,
        recipients: &BTreeSet<Fingerprint>,
    ) -> Result<ErasedAt, StoreError> {
        let held: Vec<Args> = recipients.iter().map(|one| self.db.args().with("hash", hash(one))).collect();
        let sql = &self.db.sql.erasures;
        for statement in self.db.inserts(&sql.hold, &held) {
            run(on, ERASURE, statement).await?;
        }
        let mut erased_at = ErasedAt::new();
        for args in self.pages(recipients.iter()) {
            for row in rows(on, ERASURE, sql.held.bind(&args)).await? {
                let HeldRow { recipient_hash, erased_at: at } = HeldRow::read(&row)?;
                let recipient = Fingerprint::from_slice(&recipient_hash).map_err(|e| corrupt(ERASURE, e))?;
                erased_at.insert(recipient, at);
            }
        }
        Ok(erased_at)
    }

    /// Leaves no trace of recipients that the transaction holds and that were not erased, and writes the rows of the others anew: another node
    /// of a cluster meets what was written, and not what was locked.
    pub(crate) async fn release(
        &self,
        on: &impl ConnectionTrait,
        recipients: &BTreeSet<Fingerprint>,
        erased_at: &ErasedAt,
    ) -> Result<(), StoreError> {
        let sql = &self.db.sql.erasures;
        for args in self.pages(recipients.iter()) {
            run(on, ERASURE, sql.release.bind(&args)).await?;
        }
        let erased = recipients.iter().filter_map(|one| Some((one, *erased_at.get(one)?)));
        let row = |(one, at)| self.db.args().with("hash", hash(one)).with("erased_at", at);
        let kept: Vec<Args> = erased.map(row).collect();
        for statement in self.db.inserts(&sql.keep, &kept) {
            run(on, ERASURE, statement).await?;
        }
        Ok(())
    }

    fn pages<'a>(&self, recipients: impl Iterator<Item = &'a Fingerprint>) -> Vec<Args> {
        let all: Vec<&Fingerprint> = recipients.collect();
        let page =
            |page: &[&Fingerprint]| self.db.args().with_list("hashes", page.iter().map(|one| hash(one)));
        all.chunks(Self::HASHES).map(page).collect()
    }
}

row! {
    struct HeldRow of "erasures/held" { recipient_hash: Vec<u8>, erased_at: i64 }
}
