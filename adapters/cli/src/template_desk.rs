use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::{
    Channel, Content, Recipient, Template, TemplateCall, TemplateVersion,
};
use claimstream_http::{PublishedTemplate, TemplateDesk, TemplateRefusal};
use claimstream_notifications::{
    Edition, Published, TemplateDraft, TemplateEditError, TemplateEditor, TemplateListed,
    TemplateVersionListed,
};
use claimstream_ports::{StoreError, StoreErrorKind};

/// Shows and edits the templates of a store over HTTP.
pub(crate) struct EditorDesk(pub(crate) TemplateEditor);

#[async_trait]
impl TemplateDesk for EditorDesk {
    async fn list(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError> {
        self.0.store().templates(after, limit).await
    }

    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError> {
        self.0.store().draft(id).await
    }

    async fn versions(&self, id: &str, limit: u32) -> Result<Vec<TemplateVersionListed>, StoreError> {
        self.0.store().versions(id, None, limit).await
    }

    async fn version(
        &self,
        id: &str,
        number: Option<u32>,
    ) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        match number {
            Some(number) => self.0.store().version(id, number).await,
            None => self.0.store().published(id).await,
        }
    }

    async fn save(&self, id: &str, draft: &Template) -> Result<u32, TemplateRefusal> {
        self.0.save(id, draft).await.map_err(refusal)
    }

    async fn publish(&self, id: &str, restore: Option<u32>) -> Result<PublishedTemplate, TemplateRefusal> {
        let published = match restore {
            Some(number) => self.0.restore(id, number).await,
            None => self.0.publish(id).await,
        };
        let Published { number, is_new } = published.map_err(refusal)?;
        Ok(PublishedTemplate { number, is_new })
    }

    async fn preview(
        &self,
        call: &TemplateCall,
        number: Option<u32>,
        recipient: &Recipient,
        channel: Channel,
    ) -> Result<Content, TemplateRefusal> {
        let edition = number.map_or(Edition::Draft, Edition::Version);
        self.0.preview(call, edition, recipient, channel).await.map_err(refusal)
    }
}

fn refusal(error: TemplateEditError) -> TemplateRefusal {
    let why = error.to_string();
    match error {
        TemplateEditError::Unknown { .. } | TemplateEditError::UnknownVersion { .. } => {
            TemplateRefusal::Unknown(why)
        }
        TemplateEditError::Invalid(_) | TemplateEditError::Call(_) | TemplateEditError::Unwritten(_) => {
            TemplateRefusal::Invalid(why)
        }
        TemplateEditError::Store(error) if error.kind() == StoreErrorKind::Conflict => {
            TemplateRefusal::Conflict(error.get_ref().to_string())
        }
        TemplateEditError::Store(error) => TemplateRefusal::Store(error),
    }
}
