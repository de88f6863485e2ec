use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::TemplateVersion;

use crate::StoreError;

/// Knows the templates that are sent.
///
/// Implementors owe: a version lacks none of the templates that it includes, and a version with a number never changes.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait TemplateSource: Send + Sync {
    /// The version of the template `id` that is sent now; `None` if no such template is published.
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError>;

    /// A certain version of the template `id`. A source without versions answers the one that it has.
    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        let _ = number;
        self.published(id).await
    }
}
