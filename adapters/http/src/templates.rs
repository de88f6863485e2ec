use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::{
    Channel, Content, NotificationRequest, Recipient, Template, TemplateCall, TemplateFault, TemplateVersion,
};
use claimstream_ports::{
    StoreError,
    notification::{TemplateDraft, TemplateListed, TemplateVersionListed},
};

/// Checks requests against templates before they are taken in.
#[async_trait]
pub trait TemplateCheck: Send + Sync {
    /// Says why a request can never be carried out, by its template; `None` if it can, or has content of its own.
    async fn fault(&self, request: &NotificationRequest) -> Result<Option<TemplateFault>, StoreError>;
}

/// Shows and edits templates.
#[async_trait]
pub trait TemplateDesk: Send + Sync {
    /// A page of the templates by id, after the id `after`, at most `limit`.
    async fn list(&self, after: Option<String>, limit: u32) -> Result<Vec<TemplateListed>, StoreError>;

    /// The draft of a template; `None` if there is no such template.
    async fn draft(&self, id: &str) -> Result<Option<TemplateDraft>, StoreError>;

    /// The newest versions of a template, the newest first, at most `limit`.
    async fn versions(&self, id: &str, limit: u32) -> Result<Vec<TemplateVersionListed>, StoreError>;

    /// A certain version, or the one that is sent now; `None` if there is none.
    async fn version(
        &self,
        id: &str,
        number: Option<u32>,
    ) -> Result<Option<Arc<TemplateVersion>>, StoreError>;

    /// Keeps a draft, and answers its revision.
    async fn save(&self, id: &str, draft: &Template) -> Result<u32, TemplateRefusal>;

    /// Publishes the draft, or an older version again.
    async fn publish(&self, id: &str, restore: Option<u32>) -> Result<PublishedTemplate, TemplateRefusal>;

    /// What a recipient would read: of a certain version, or of the draft.
    async fn preview(
        &self,
        call: &TemplateCall,
        number: Option<u32>,
        recipient: &Recipient,
        channel: Channel,
    ) -> Result<Content, TemplateRefusal>;
}

/// A version that is sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishedTemplate {
    /// Its number.
    pub number: u32,
    /// Whether this call has published it.
    pub is_new: bool,
}

/// Why a template was not edited, published or shown.
#[derive(Debug)]
pub enum TemplateRefusal {
    /// There is no such template or version.
    Unknown(String),
    /// It has a fault of its own, or cannot be called like this.
    Invalid(String),
    /// Another call has published a version meanwhile.
    Conflict(String),
    /// The store does not answer.
    Store(StoreError),
}
