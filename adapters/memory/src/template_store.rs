use std::{ops::Bound, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::notification::{Template, TemplateVersion};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{
        NewTemplateVersion, TemplateDraft, TemplateListed, TemplateSource, TemplateStore,
        TemplateVersionListed,
    },
};

use crate::{clock::between, store::MemoryStore, tables::VersionRow};

#[async_trait]
impl TemplateSource for MemoryStore {
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let tables = self.database.tables();
        Ok(tables.templates.get(id).and_then(|row| row.versions.last()).map(|row| Arc::clone(&row.version)))
    }

    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let tables = self.database.tables();
        let mut versions = tables.templates.get(id).into_iter().flat_map(|row| &row.versions);
        Ok(versions.find(|row| row.version.number == number).map(|row| Arc::clone(&row.version)))
    }
}

#[async_trait]
impl TemplateStore for MemoryStore {
    async fn save_draft(&self, id: &str, draft: &Template) -> Result<u32, StoreError> {
        let now = self.database.now();
        let mut tables = self.database.tables();
        let row = tables.templates.entry(id.to_owned()).or_default();
        let revision = match &row.draft {
            Some((before, revision, _)) if before == draft => return Ok(*revision),
            Some((_, revision, _)) => revision + 1,
            None => 1,
        };
        row.draft = Some((draft.clone(), revision, now));
        Ok(revision)
    }

    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        let draft = tables.templates.get(id).and_then(|row| row.draft.as_ref());
        Ok(draft.map(|(template, revision, at)| TemplateDraft {
            template: template.clone(),
            revision: *revision,
            age: between(*at, now),
        }))
    }

    async fn publish(&self, new: &NewTemplateVersion) -> Result<(), StoreError> {
        let at = self.database.now();
        let mut tables = self.database.tables();
        let NewTemplateVersion { version, restores } = new.clone();
        let row = tables.templates.entry(version.id.clone()).or_default();
        let newest = row.versions.last().map_or(0, |row| row.version.number);
        if version.number != newest + 1 {
            let TemplateVersion { id, number, .. } = version;
            let why = format!(
                "version {number} of the template {id:?} was published by another call meanwhile; look at it and publish again"
            );
            return Err(StoreError::new(StoreErrorKind::Conflict, "templates", why));
        }
        row.versions.push(VersionRow { version: Arc::new(version), restores, at });
        Ok(())
    }

    async fn templates(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = tables.templates.range((after, Bound::Unbounded)).filter_map(|(id, row)| {
            let (_, revision, at) = row.draft.as_ref()?;
            Some(TemplateListed {
                id: id.clone(),
                revision: *revision,
                age: between(*at, now),
                published: row.versions.last().map(|row| row.version.number),
            })
        });
        Ok(page.take(limit as usize).collect())
    }

    async fn versions(
        &self,
        id: &str,
        below: Option<u32>,
        limit: u32,
    ) -> Result<Vec<TemplateVersionListed>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        let versions = tables.templates.get(id).into_iter().flat_map(|row| row.versions.iter().rev());
        let below = versions.filter(|row| below.is_none_or(|below| row.version.number < below));
        let listed = |row: &VersionRow| TemplateVersionListed {
            number: row.version.number,
            restores: row.restores,
            age: between(row.at, now),
        };
        Ok(below.take(limit as usize).map(listed).collect())
    }
}
