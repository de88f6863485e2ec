use std::{collections::HashMap, sync::Arc};

use claimstream_domain::{
    Invalid,
    notification::{DirectoryEntry, Recipient, SegmentPlace},
};
use claimstream_ports::{
    StoreError,
    notification::{FoundUsers, SegmentPage},
};
use sea_orm::{ConnectionTrait, Statement, Value};

use crate::database::{
    Database,
    args::Args,
    classify::corrupt,
    coalescer::WriteCoalescer,
    typed_row::row,
    unit::{Row, maybe, rows, run},
};

const DIRECTORY: &str = "directory";

/// The segment of all users, unless it is defined otherwise.
const ALL: &str = "all";

/// A user, or those of its addresses that can be read, and why the rest cannot.
type Entry = Result<Recipient, (Recipient, String)>;

/// Users by their ids.
type Found = Arc<HashMap<String, Entry>>;

/// Users and segments that are kept in the database.
///
/// Every transaction here locks a user before its places in segments, and users by id.
pub(crate) struct People {
    pub(crate) db: Arc<Database>,
    /// Look-ups of the requests of a batch share statements.
    lookups: Arc<WriteCoalescer<String, Found>>,
}

impl People {
    /// How many ids one statement names.
    const IDS: usize = 500;

    pub(crate) fn of(db: Arc<Database>) -> Self {
        Self { db, lookups: Arc::default() }
    }

    /// Users by their ids, in order.
    pub(crate) async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let found = self.found(ids).await?;
        let users = ids.iter().map(|id| found.get(id)?.as_ref().ok().cloned()).collect();
        let unreadable = in_order(ids).into_iter().filter(|id| matches!(found.get(*id), Some(Err(_))));
        let unreadable: Vec<String> = unreadable.map(str::to_owned).collect();
        unreadable.iter().for_each(|id| warn_of(id));
        Ok(FoundUsers { users, unreadable })
    }

    /// A user, or what of it can be read: those addresses are erased all the same.
    pub(crate) async fn addresses(&self, id: &str) -> Result<Option<Recipient>, StoreError> {
        let found = self.found(&[id.to_owned()]).await?;
        Ok(found.get(id).map(|entry| entry.as_ref().unwrap_or_else(|(user, _)| user).clone()))
    }

    /// Calls that arrive while a statement is under way share the next one.
    async fn found(&self, ids: &[String]) -> Result<Found, StoreError> {
        let db = Arc::clone(&self.db);
        let read = move |ids: Vec<String>| {
            let db = Arc::clone(&db);
            async move { read_users(&db, ids).await }
        };
        self.db.coalesced(DIRECTORY, &self.lookups, ids.to_vec(), read).await
    }

    /// A page of a segment. Its ids are one statement and its users another, so neither sorts.
    pub(crate) async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let args = self.db.args().with("segment", segment).with("after", from.key().unwrap_or_default());
        // One more says whether a page follows.
        let args = args.with("limit", i64::from(limit) + 1);
        let found = self.read(self.db.sql.directory.members.bind(&args)).await?;
        if found.is_empty() && !self.knows(segment).await? {
            return match segment {
                ALL => self.page(from, limit).await.map(Some),
                _ => Ok(None),
            };
        }
        let mut ids = found.iter().map(|row| row.text("user_id")).collect::<Result<Vec<_>, _>>()?;
        let follows = ids.len() > limit as usize;
        ids.truncate(limit as usize);
        let found = self.found(&ids).await?;
        let entries = ids.iter().filter_map(|id| Some((id.clone(), found.get(id)?.clone())));
        let page = page_of(entries);
        let next = ids.pop().filter(|_| follows);
        Ok(Some(SegmentPage { next, ..page }))
    }

    /// A page of all users.
    pub(crate) async fn page(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError> {
        let args = self.db.args().with("after", from.key().unwrap_or_default());
        // One more says whether a page follows.
        let args = args.with("limit", i64::from(limit) + 1);
        let found = self.read(self.db.sql.directory.page.bind(&args)).await?;
        let mut entries = found.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        let follows = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        let next = entries.last().map(|(id, _)| id.clone()).filter(|_| follows);
        Ok(SegmentPage { next, ..page_of(entries) })
    }

    /// A user and its segments.
    pub(crate) async fn entry(&self, id: &str) -> Result<Option<DirectoryEntry>, StoreError> {
        let found = self.found(&[id.to_owned()]).await?;
        let Some(user) = found.get(id).cloned() else { return Ok(None) };
        let user = user.map_err(|(_, why)| corrupt(DIRECTORY, why))?;
        let args = self.db.args().with("user", id).with("limit", i64::from(DirectoryEntry::MOST_SEGMENTS));
        let segments = self.read(self.db.sql.directory.segments.bind(&args)).await?;
        let segments = segments.iter().map(|row| row.text("segment")).collect::<Result<_, _>>()?;
        Ok(Some(DirectoryEntry { user, segments }))
    }

    /// Puts users in, and into a segment if one is named, in one transaction.
    pub(crate) async fn put(&self, users: &[Recipient], segment: Option<&str>) -> Result<(), StoreError> {
        users.iter().try_for_each(DirectoryEntry::check_user).map_err(refused)?;
        segment.map_or(Ok(()), DirectoryEntry::check_segment).map_err(refused)?;
        let mut entries = users.iter().map(user_row).collect::<Result<Vec<_>, _>>()?;
        // By id, so that two calls that put the same users do not wait for each other; of two entries of one id the later one stays.
        entries.sort_by_key(|(one, _)| *one);
        let (ids, entries): (Vec<&str>, Vec<Args>) = entries.into_iter().unzip();
        let sql = &self.db.sql.directory;
        self.db
            .restarting_beside(DIRECTORY, || async {
                let transaction = self.db.begin_beside(DIRECTORY).await?;
                for statement in self.db.inserts(&sql.put_user, &entries) {
                    run(&transaction, DIRECTORY, statement).await?;
                }
                if let Some(segment) = segment {
                    self.join(&transaction, segment, &ids).await?;
                }
                self.db.commit(DIRECTORY, transaction).await
            })
            .await
    }

    /// Puts known users into a segment: all, or none if one is unknown. Answers which are.
    pub(crate) async fn put_members(
        &self,
        segment: &str,
        users: &[String],
    ) -> Result<Vec<String>, StoreError> {
        DirectoryEntry::check_segment(segment).map_err(refused)?;
        let ids = in_order(users);
        self.db
            .restarting_beside(DIRECTORY, || async {
                let transaction = self.db.begin_beside(DIRECTORY).await?;
                let mut known = Vec::new();
                for ids in ids.chunks(Self::IDS) {
                    let share = self.db.sql.directory.share.bind(&self.of_users(ids));
                    for row in rows(&transaction, DIRECTORY, share).await? {
                        known.push(row.text("user_id")?);
                    }
                }
                let is_known = |id: &&&str| known.iter().any(|known| known == **id);
                let unknown: Vec<String> =
                    ids.iter().filter(|id| !is_known(id)).map(|id| (*id).to_owned()).collect();
                if !unknown.is_empty() {
                    self.db.roll_back(DIRECTORY, transaction).await?;
                    return Ok(unknown);
                }
                self.join(&transaction, segment, &ids).await?;
                self.db.commit(DIRECTORY, transaction).await?;
                Ok(unknown)
            })
            .await
    }

    /// Takes users out of a segment; answers how many were in it.
    pub(crate) async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError> {
        let mut removed = 0;
        for ids in in_order(users).chunks(Self::IDS) {
            let args = self.of_users(ids).with("segment", segment);
            let remove = || {
                let statement = self.db.sql.directory.remove_members.bind(&args);
                run(self.db.callers(), DIRECTORY, statement)
            };
            removed += self.db.restarting_beside(DIRECTORY, remove).await?;
        }
        Ok(removed)
    }

    /// Removes a user, and from all segments, in one transaction.
    pub(crate) async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        self.db
            .restarting_beside(DIRECTORY, || async {
                let transaction = self.db.begin_beside(DIRECTORY).await?;
                let removed = self.leave(&transaction, id).await?;
                self.db.commit(DIRECTORY, transaction).await?;
                Ok(removed)
            })
            .await
    }

    /// Removes a user and then its places in segments, in a transaction of the caller's; says whether it was there.
    pub(crate) async fn leave(&self, on: &impl ConnectionTrait, id: &str) -> Result<bool, StoreError> {
        let (args, sql) = (self.db.args().with("user", id), &self.db.sql.directory);
        let removed = run(on, DIRECTORY, sql.remove_user.bind(&args)).await?;
        run(on, DIRECTORY, sql.leave_segments.bind(&args)).await?;
        Ok(removed > 0)
    }

    /// Puts users whose rows are locked into a segment, which is made if it is new.
    async fn join(&self, on: &impl ConnectionTrait, segment: &str, ids: &[&str]) -> Result<(), StoreError> {
        let (sql, args) = (&self.db.sql.directory, self.db.args().with("segment", segment));
        if rows(on, DIRECTORY, sql.segment.bind(&args)).await?.is_empty() {
            run(on, DIRECTORY, sql.put_segment.bind(&args)).await?;
        }
        let members: Vec<Args> =
            ids.iter().map(|id| Args::new().with("segment", segment).with("user", *id)).collect();
        for statement in self.db.inserts(&sql.put_member, &members) {
            run(on, DIRECTORY, statement).await?;
        }
        Ok(())
    }

    async fn knows(&self, segment: &str) -> Result<bool, StoreError> {
        let args = self.db.args().with("segment", segment);
        Ok(!self.read(self.db.sql.directory.segment.bind(&args)).await?.is_empty())
    }

    fn of_users(&self, ids: &[&str]) -> Args {
        self.db.args().with_list("users", ids.iter().map(|id| Value::from(*id)))
    }

    async fn read(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let read = || rows(self.db.callers(), DIRECTORY, statement.clone());
        self.db.restarting_beside(DIRECTORY, read).await
    }
}

/// Users by their ids; one that cannot be read is nobody's business but of the call that asked for it.
async fn read_users(db: &Database, ids: Vec<String>) -> Result<Found, StoreError> {
    let mut found = HashMap::new();
    for ids in in_order(&ids).chunks(People::IDS) {
        let args = db.args().with_list("users", ids.iter().map(|id| Value::from(*id)));
        let read = || rows(db.callers(), DIRECTORY, db.sql.directory.users.bind(&args));
        for row in db.restarting_beside(DIRECTORY, read).await? {
            let (id, user) = entry(&row)?;
            found.insert(id, user);
        }
    }
    Ok(Arc::new(found))
}

/// The id of a row and its user.
fn entry(row: &Row) -> Result<(String, Entry), StoreError> {
    let id = row.text("user_id")?;
    let user = UserRow::read(row).and_then(UserRow::user);
    let user = user.map_err(|e| (addresses_of(row, &id), e.get_ref().to_string()));
    Ok((id, user))
}

/// The addresses of a row that can be read.
fn addresses_of(row: &Row, id: &str) -> Recipient {
    let text = |column| row.maybe_text(column).ok().flatten();
    Recipient {
        email: text("email"),
        phone: text("phone"),
        device_token: text("device_token"),
        webhook: text("webhook"),
        chat: text("chat"),
        ..Recipient::user(id)
    }
}

fn page_of(entries: impl IntoIterator<Item = (String, Entry)>) -> SegmentPage {
    let mut page = SegmentPage::default();
    for (id, user) in entries {
        match user {
            Ok(user) => page.members.push(user),
            Err(_) => {
                warn_of(&id);
                page.unreadable.push(id);
            }
        }
    }
    page
}

fn warn_of(unreadable: &str) {
    tracing::warn!(user = unreadable, "directory.user.unreadable");
}

/// Ids in the order in which rows are locked, each once.
fn in_order(ids: &[String]) -> Vec<&str> {
    let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn user_row(user: &Recipient) -> Result<(&str, Args), StoreError> {
    let id = user.user.as_deref().unwrap_or_default();
    let attributes = match user.attributes.is_empty() {
        true => None,
        false => Some(serde_json::to_vec(&user.attributes).map_err(|e| corrupt(DIRECTORY, e))?),
    };
    let zone = user.time_zone.as_ref().map(|zone| zone.name());
    let args = Args::new()
        .with("user", id)
        .with("email", maybe(user.email.as_deref()))
        .with("phone", maybe(user.phone.as_deref()))
        .with("device_token", maybe(user.device_token.as_deref()))
        .with("webhook", maybe(user.webhook.as_deref()))
        .with("chat", maybe(user.chat.as_deref()))
        .with("language", maybe(user.language.as_deref()))
        .with("time_zone", maybe(zone))
        .with("attributes", Value::Bytes(attributes));
    Ok((id, args))
}

fn refused(invalid: Invalid) -> StoreError {
    corrupt(DIRECTORY, invalid)
}

impl UserRow {
    fn user(self) -> Result<Recipient, StoreError> {
        let unreadable = |why: &dyn std::fmt::Display| {
            corrupt(DIRECTORY, format!("the entry of the user {:?} cannot be read: {why}", self.user_id))
        };
        let zone = self.time_zone.as_deref().map(str::parse).transpose().map_err(|e| unreadable(&e))?;
        let attributes = self.attributes.as_deref().map(serde_json::from_slice).transpose();
        Ok(Recipient {
            time_zone: zone,
            attributes: attributes.map_err(|e| unreadable(&e))?.unwrap_or_default(),
            email: self.email,
            phone: self.phone,
            device_token: self.device_token,
            webhook: self.webhook,
            chat: self.chat,
            language: self.language,
            ..Recipient::user(&self.user_id)
        })
    }
}

row! {
    struct UserRow of "directory/users", "directory/page" {
        user_id: String,
        email: Option<String>,
        phone: Option<String>,
        device_token: Option<String>,
        webhook: Option<String>,
        chat: Option<String>,
        language: Option<String>,
        time_zone: Option<String>,
        attributes: Option<Vec<u8>>,
    }
}
