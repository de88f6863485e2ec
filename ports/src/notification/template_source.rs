use std::collections::BTreeSet;

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

    /// All variables of the template `id`, of every channel and language; a parameter that is none of them is refused.
    /// `None` if there is no such template, or the source does not know.
    async fn variables(&self, id: &str) -> Result<Option<BTreeSet<String>>, StoreError> {
        let _ = id;
        Ok(None)
    }
}
