use async_trait::async_trait;
use claimstream_domain::notification::{NotificationRequest, TemplateFault};
use claimstream_http::TemplateCheck;
use claimstream_notifications::CompiledTemplates;
use claimstream_ports::StoreError;

/// Checks requests against the templates of a source.
pub(crate) struct SourceCheck(pub(crate) CompiledTemplates);

#[async_trait]
impl TemplateCheck for SourceCheck {
    async fn fault(&self, request: &NotificationRequest) -> Result<Option<TemplateFault>, StoreError> {
        self.0.fault(request).await
    }
}
