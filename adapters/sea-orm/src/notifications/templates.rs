use std::{sync::Arc, time::Duration};

use claimstream_domain::notification::{Template, TemplateVersion};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{NewTemplateVersion, TemplateDraft, TemplateListed, TemplateVersionListed},
};
use sea_orm::{Statement, Value};
use uuid::Uuid;

use crate::database::{
    Database,
    args::{Args, bytes},
    classify::corrupt,
    typed_row::row,
    unit::{Row, rows, run},
};

const TEMPLATES: &str = "templates";

/// Templates of notifications: drafts and versions.
pub(crate) struct TemplateRows {
    pub(crate) db: Arc<Database>,
}

impl TemplateRows {
    /// The version that is sent.
    pub(crate) async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let found = self.read(self.db.sql.templates.published.bind(&self.of(id))).await?;
        found.first().map(|row| version_of(&PublishedRow::read(row)?.content)).transpose()
    }

    /// A certain version.
    pub(crate) async fn version(
        &self,
        id: &str,
        number: u32,
    ) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let args = self.of(id).with("number", i64::from(number));
        let found = self.read(self.db.sql.templates.version.bind(&args)).await?;
        found.first().map(|row| version_of(&VersionRow::read(row)?.content)).transpose()
    }

    pub(crate) async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        let found = self.read(self.db.sql.templates.draft.bind(&self.of(id))).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let DraftRow { draft, revision, age } = DraftRow::read(row)?;
        let template = serde_json::from_slice(&draft).map_err(|e| corrupt(TEMPLATES, e))?;
        Ok(Some(TemplateDraft { template, revision: number(revision)?, age: since(age) }))
    }

    /// Keeps a draft and answers its revision, in one transaction.
    pub(crate) async fn save(&self, id: &str, draft: &Template) -> Result<u32, StoreError> {
        let draft = json(serde_json::to_vec(draft))?;
        self.db.limits.packet.check(TEMPLATES, std::iter::once(draft.len() * 3))?;
        let args = self.of(id).with("draft", draft);
        let (db, sql) = (&self.db, &self.db.sql.templates);
        db.restarting_beside(TEMPLATES, || async {
            let transaction = db.begin_beside(TEMPLATES).await?;
            run(&transaction, TEMPLATES, sql.save.bind(&args)).await?;
            let saved = rows(&transaction, TEMPLATES, sql.draft.bind(&args)).await?;
            let row =
                saved.first().ok_or_else(|| corrupt(TEMPLATES, "a draft that is kept cannot be read"))?;
            let revision = number(DraftRow::read(row)?.revision)?;
            db.commit(TEMPLATES, transaction).await?;
            Ok(revision)
        })
        .await
    }

    /// Publishes a version, unless another one has its number.
    pub(crate) async fn publish(&self, new: &NewTemplateVersion) -> Result<(), StoreError> {
        let NewTemplateVersion { version, restores } = new;
        let content = json(serde_json::to_vec(version))?;
        self.db.limits.packet.check(TEMPLATES, std::iter::once(content.len()))?;
        let publication = Uuid::now_v7();
        let args = self.of(&version.id).with("number", i64::from(version.number)).with("content", content);
        let args = args.with("restores", Value::BigInt(restores.map(i64::from)));
        let args = args.with("publication", bytes(publication));
        let (db, sql) = (&self.db, &self.db.sql.templates);
        let write = || run(db.callers(), TEMPLATES, sql.publish.bind(&args));
        match db.restarting_beside(TEMPLATES, write).await {
            Ok(written) if written > 0 => return Ok(()),
            Err(error) if error.kind() != StoreErrorKind::Conflict => return Err(error),
            Ok(_) | Err(_) => {}
        }
        // The number is taken, perhaps by this call, whose first answer was lost.
        let found = self.read(sql.publication.bind(&args)).await?;
        let by = found.first().map(|row| Ok::<_, StoreError>(PublicationRow::read(row)?.publication));
        match by.transpose()? {
            Some(by) if by == publication.as_bytes() => Ok(()),
            _ => Err(taken(version)),
        }
    }

    pub(crate) async fn page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<TemplateListed>, StoreError> {
        let args = self.db.args().with("after", after.unwrap_or_default()).with("limit", i64::from(limit));
        let found = self.read(self.db.sql.templates.page.bind(&args)).await?;
        found.iter().map(listed).collect()
    }

    pub(crate) async fn versions(
        &self,
        id: &str,
        below: Option<u32>,
        limit: u32,
    ) -> Result<Vec<TemplateVersionListed>, StoreError> {
        let below = below.map_or(i64::from(u32::MAX) + 1, i64::from);
        let args = self.of(id).with("below", below).with("limit", i64::from(limit));
        let found = self.read(self.db.sql.templates.versions.bind(&args)).await?;
        found.iter().map(version_listed).collect()
    }

    fn of(&self, id: &str) -> Args {
        self.db.args().with("template", id)
    }

    async fn read(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let read = || rows(self.db.callers(), TEMPLATES, statement.clone());
        self.db.restarting_beside(TEMPLATES, read).await
    }
}

/// The refusal of a version whose number does not follow the newest one.
fn taken(version: &TemplateVersion) -> StoreError {
    let TemplateVersion { id, number, .. } = version;
    let why = format!(
        "version {number} of the template {id:?} was published by another call meanwhile; look at it and publish again"
    );
    StoreError::new(StoreErrorKind::Conflict, TEMPLATES, why)
}

fn listed(row: &Row) -> Result<TemplateListed, StoreError> {
    let ListedRow { id, revision, age, published } = ListedRow::read(row)?;
    let published = published.map(number).transpose()?;
    Ok(TemplateListed { id, revision: number(revision)?, age: since(age), published })
}

fn version_listed(row: &Row) -> Result<TemplateVersionListed, StoreError> {
    let VersionListedRow { version, restores, age } = VersionListedRow::read(row)?;
    let restores = restores.map(number).transpose()?;
    Ok(TemplateVersionListed { number: number(version)?, restores, age: since(age) })
}

fn number(number: i64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(|e| corrupt(TEMPLATES, e))
}

fn since(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn json(written: serde_json::Result<Vec<u8>>) -> Result<Vec<u8>, StoreError> {
    written.map_err(|e| corrupt(TEMPLATES, e))
}

fn version_of(json: &[u8]) -> Result<Arc<TemplateVersion>, StoreError> {
    serde_json::from_slice(json).map(Arc::new).map_err(|e| corrupt(TEMPLATES, e))
}

row! {
    struct PublishedRow of "templates/published" { content: Vec<u8> }
}

row! {
    struct VersionRow of "templates/version" { content: Vec<u8> }
}

row! {
    struct DraftRow of "templates/draft" { draft: Vec<u8>, revision: i64, age: i64 }
}

row! {
    struct PublicationRow of "templates/publication" { publication: Vec<u8> }
}

row! {
    struct ListedRow of "templates/page" { id: String, revision: i64, age: i64, published: Option<i64> }
}

row! {
    struct VersionListedRow of "templates/versions" { version: i64, restores: Option<i64>, age: i64 }
}
