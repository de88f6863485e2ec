use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::{Template, TemplateVersion};
use claimstream_ports::{
    StoreError,
    notification::{
        NewTemplateVersion, TemplateDraft, TemplateListed, TemplateSource, TemplateStore,
        TemplateVersionListed,
    },
};

use crate::outbox::handle::SeaOrmOutbox;

const TEMPLATES: &str = "templates";

#[async_trait]
impl TemplateSource for SeaOrmOutbox {
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let id = id.to_owned();
        self.detached(
            TEMPLATES,
            move |state| async move { state.notifications.templates.published(&id).await },
        )
        .await
    }

    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let id = id.to_owned();
        self.detached(TEMPLATES, move |state| async move {
            state.notifications.templates.version(&id, number).await
        })
        .await
    }
}

#[async_trait]
impl TemplateStore for SeaOrmOutbox {
    async fn save_draft(&self, id: &str, draft: &Template) -> Result<u32, StoreError> {
        let (id, draft) = (id.to_owned(), draft.clone());
        self.detached(
            TEMPLATES,
            move |state| async move { state.notifications.templates.save(&id, &draft).await },
        )
        .await
    }

    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        let id = id.to_owned();
        self.detached(TEMPLATES, move |state| async move { state.notifications.templates.draft(&id).await })
            .await
    }

    async fn publish(&self, new: &NewTemplateVersion) -> Result<(), StoreError> {
        let new = new.clone();
        self.detached(
            TEMPLATES,
            move |state| async move { state.notifications.templates.publish(&new).await },
        )
        .await
    }

    async fn templates(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError> {
        self.detached(TEMPLATES, move |state| async move {
            state.notifications.templates.page(after.as_deref(), limit).await
        })
        .await
    }

    async fn versions(
        &self,
        id: &str,
        below: Option<u32>,
        limit: u32,
    ) -> Result<Vec<TemplateVersionListed>, StoreError> {
        let id = id.to_owned();
        self.detached(TEMPLATES, move |state| async move {
            state.notifications.templates.versions(&id, below, limit).await
        })
        .await
    }
}
