use std::{collections::HashSet, sync::Arc, time::Duration};

use claimstream_domain::notification::{ERASED, InAppEntry, InAppPage, NewInAppEntry};
use claimstream_ports::StoreError;
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    clock::micros,
    coalescer::WriteCoalescer,
    typed_row::row,
    unit::{Row, rows, run},
};

const IN_APP: &str = "in-app inbox";

/// Inboxes of users inside the application.
pub(crate) struct InApp {
    db: Arc<Database>,
    /// Entries that are put in together.
    entries: Arc<WriteCoalescer<(Uuid, Args)>>,
}

impl InApp {
    /// How many entries one statement marks or names.
    const IDS: usize = 500;

    pub(crate) fn of(db: Arc<Database>) -> Self {
        Self { db, entries: Arc::default() }
    }

    /// Puts entries in, together with those of other calls.
    pub(crate) async fn put(self: &Arc<Self>, entries: &[NewInAppEntry]) -> Result<(), StoreError> {
        let rows = entries.iter().map(entry_row).collect::<Result<Vec<_>, _>>()?;
        self.db.limits.packet.check(IN_APP, self.db.sql.in_app.put.row_bytes(&rows))?;
        let entries: Vec<_> = entries.iter().map(|entry| entry.id).zip(rows).collect();
        let in_app = Arc::clone(self);
        let write = move |entries: Vec<(Uuid, Args)>| {
            let in_app = Arc::clone(&in_app);
            async move { in_app.insert(entries).await }
        };
        self.db.coalesced(IN_APP, &self.entries, entries, write).await
    }

    /// An erasure that comes meanwhile finds the entries, or is found here.
    async fn insert(&self, entries: Vec<(Uuid, Args)>) -> Result<(), StoreError> {
        let sql = &self.db.sql.in_app;
        self.db
            .restarting_beside(IN_APP, || async {
                let transaction = self.db.begin_beside(IN_APP).await?;
                let mut erased = HashSet::new();
                for entries in entries.chunks(Self::IDS) {
                    let args = self.db.args().with("erased", ERASED);
                    let args = args.with_list("ids", entries.iter().map(|(id, _)| bytes(*id)));
                    for row in rows(&transaction, IN_APP, sql.erased.bind(&args)).await? {
                        erased.insert(row.uuid("id")?);
                    }
                }
                let entries = entries.iter().filter(|(id, _)| !erased.contains(id));
                let entries: Vec<Args> = entries.map(|(_, row)| row.clone()).collect();
                for statement in self.db.inserts(&sql.put, &entries) {
                    run(&transaction, IN_APP, statement).await?;
                }
                self.db.commit(IN_APP, transaction).await
            })
            .await
    }

    /// A page of a user's entries, the newest first.
    pub(crate) async fn page(&self, page: &InAppPage) -> Result<Vec<InAppEntry>, StoreError> {
        let sql = &self.db.sql.in_app;
        let args = self.args_of(&page.user).with("most_read", i64::from(!page.only_unread));
        let args = args.with("limit", i64::from(page.limit));
        self.entries(match page.after {
            Some(after) => sql.page_after.bind(&args.with("after", bytes(after))),
            None => sql.page.bind(&args),
        })
        .await
    }

    /// How many entries a user has not read, counted up to a limit.
    pub(crate) async fn unread(&self, user: &str) -> Result<u64, StoreError> {
        let args = self.args_of(user).with("limit", InAppEntry::MOST_UNREAD as i64);
        let found = self.read(self.db.sql.in_app.unread.bind(&args)).await?;
        found.first().map_or(Ok(0), |row| Ok(UnreadRow::read(row)?.unread.max(0).unsigned_abs()))
    }

    /// Notes that a user has read some entries, and answers how many were unread.
    pub(crate) async fn mark_read(&self, user: &str, ids: &[Uuid]) -> Result<u64, StoreError> {
        let mut ids = ids.to_vec();
        // In one order, so that two calls that mark the same entries do not wait for each other.
        ids.sort_unstable();
        let mut marked = 0;
        for ids in ids.chunks(Self::IDS) {
            let args = self.args_of(user).with_list("ids", ids.iter().copied().map(bytes));
            marked += self.write(self.db.sql.in_app.mark_read.bind(&args)).await?;
        }
        Ok(marked)
    }

    /// Notes that a user has read all entries that are no newer than one of theirs, and answers how many were unread.
    pub(crate) async fn mark_read_up_to(&self, user: &str, newest: Uuid) -> Result<u64, StoreError> {
        let found =
            self.read(self.db.sql.in_app.newest.bind(&self.args_of(user).with("id", bytes(newest)))).await?;
        let Some(row) = found.first() else { return Ok(0) };
        let args = self.args_of(user).with("bound", NewestRow::read(row)?.created_at);
        let args = args.with("limit", Self::IDS as i64);
        let mut marked = 0;
        loop {
            let some = self.write(self.db.sql.in_app.mark_read_up_to.bind(&args)).await?;
            marked += some;
            if some < Self::IDS as u64 {
                return Ok(marked);
            }
        }
    }

    /// The entries of some users that were put in within this time, the newest first.
    pub(crate) async fn recent(
        &self,
        users: &[String],
        within: Duration,
        limit: u32,
    ) -> Result<Vec<InAppEntry>, StoreError> {
        let mut recent = Vec::new();
        for users in users.chunks(Self::IDS) {
            let users = users.iter().map(|user| Value::from(user.as_str()));
            let args = self.db.args().with_list("users", users).with("within", micros(within));
            let args = args.with("limit", i64::from(limit));
            recent.extend(self.entries(self.db.sql.in_app.recent.bind(&args)).await?);
        }
        recent.sort_by_key(|one| one.age);
        recent.truncate(limit as usize);
        Ok(recent)
    }

    /// Forgets entries that are older than this, at most so many, and answers how many.
    pub(crate) async fn forget_older(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let args = self.db.args().with("age", micros(age)).with("limit", i64::from(limit));
        self.write(self.db.sql.in_app.forget_older.bind(&args)).await
    }

    /// Forgets entries of a user, at most so many, and answers how many.
    pub(crate) async fn forget_user(&self, user: &str, limit: u32) -> Result<u64, StoreError> {
        let args = self.args_of(user).with("limit", i64::from(limit));
        self.write(self.db.sql.in_app.forget_user.bind(&args)).await
    }

    fn args_of(&self, user: &str) -> Args {
        self.db.args().with("user", user)
    }

    async fn entries(&self, statement: Statement) -> Result<Vec<InAppEntry>, StoreError> {
        self.read(statement).await?.iter().map(entry).collect()
    }

    async fn read(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let read = || rows(self.db.callers(), IN_APP, statement.clone());
        self.db.restarting_beside(IN_APP, read).await
    }

    async fn write(&self, statement: Statement) -> Result<u64, StoreError> {
        let write = || run(self.db.callers(), IN_APP, statement.clone());
        self.db.restarting_beside(IN_APP, write).await
    }
}

fn entry_row(entry: &NewInAppEntry) -> Result<Args, StoreError> {
    let content = serde_json::to_vec(&entry.content).map_err(|e| corrupt(IN_APP, e))?;
    Ok(Args::new()
        .with("id", bytes(entry.id))
        .with("user", entry.user.as_str())
        .with("request_id", bytes(entry.request_id))
        .with("content", content))
}

fn entry(row: &Row) -> Result<InAppEntry, StoreError> {
    let InAppRow { id, user_id, request_id, content, is_read, age } = InAppRow::read(row)?;
    let content = serde_json::from_slice(&content).map_err(|e| corrupt(IN_APP, e))?;
    Ok(InAppEntry {
        entry: NewInAppEntry { id, request_id, user: user_id, content },
        age: Duration::from_micros(age.max(0).unsigned_abs()),
        is_read: is_read != 0,
    })
}

row! {
    struct InAppRow of "in_app/page", "in_app/page_after", "in_app/recent" {
        id: Uuid,
        user_id: String,
        request_id: Uuid,
        content: Vec<u8>,
        is_read: i64,
        age: i64,
    }
}

row! {
    struct UnreadRow of "in_app/unread" { unread: i64 }
}

row! {
    struct NewestRow of "in_app/newest" { created_at: i64 }
}
