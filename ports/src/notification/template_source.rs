use async_trait::async_trait;
use claimstream_domain::notification::{Channel, Template};

use crate::StoreError;

/// Knows the templates.
#[async_trait]
pub trait TemplateSource: Send + Sync {
    /// The template `id` for a channel, in `language` or else in the source's default language; `None` if there is none.
    async fn template(
        &self,
        id: &str,
        channel: Channel,
        language: Option<String>,
    ) -> Result<Option<Template>, StoreError>;
}
