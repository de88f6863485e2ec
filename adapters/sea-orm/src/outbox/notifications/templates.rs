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
        let (rooms, id) = (Arc::clone(&self.rooms), id.to_owned());
        let read = async move { rooms.notifications.templates.published(&id).await };
        self.rooms.db.detached(TEMPLATES, read).await
    }

    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let (rooms, id) = (Arc::clone(&self.rooms), id.to_owned());
        let read = async move { rooms.notifications.templates.version(&id, number).await };
        self.rooms.db.detached(TEMPLATES, read).await
    }
}

#[async_trait]
impl TemplateStore for SeaOrmOutbox {
    async fn save_draft(&self, id: &str, draft: &Template) -> Result<u32, StoreError> {
        let (rooms, id, draft) = (Arc::clone(&self.rooms), id.to_owned(), draft.clone());
        let save = async move { rooms.notifications.templates.save(&id, &draft).await };
        self.rooms.db.detached(TEMPLATES, save).await
    }

    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        let (rooms, id) = (Arc::clone(&self.rooms), id.to_owned());
        let read = async move { rooms.notifications.templates.draft(&id).await };
        self.rooms.db.detached(TEMPLATES, read).await
    }

    async fn publish(&self, new: &NewTemplateVersion) -> Result<(), StoreError> {
        let (rooms, new) = (Arc::clone(&self.rooms), new.clone());
        let publish = async move { rooms.notifications.templates.publish(&new).await };
        self.rooms.db.detached(TEMPLATES, publish).await
    }

    async fn templates(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let page = async move { rooms.notifications.templates.page(after.as_deref(), limit).await };
        self.rooms.db.detached(TEMPLATES, page).await
    }

    async fn versions(
        &self,
        id: &str,
        below: Option<u32>,
        limit: u32,
    ) -> Result<Vec<TemplateVersionListed>, StoreError> {
        let (rooms, id) = (Arc::clone(&self.rooms), id.to_owned());
        let page = async move { rooms.notifications.templates.versions(&id, below, limit).await };
        self.rooms.db.detached(TEMPLATES, page).await
    }
}
