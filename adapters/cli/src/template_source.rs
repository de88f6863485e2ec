use std::sync::Arc;

use claimstream_channels::{HttpTemplates, HttpTemplatesConfig};
use claimstream_notifications::{CachedTemplates, TemplateSource};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::{
    config::{Config, ConfigError, TemplatePlace},
    templates,
};

/// The templates that a configuration names, behind a cache where they are not at hand; `None` if it names none.
pub fn template_source(
    config: &Config,
    outbox: &SeaOrmOutbox,
) -> Result<Option<Arc<dyn TemplateSource>>, ConfigError> {
    let settings = &config.templates;
    let source: Arc<dyn TemplateSource> = match settings.source {
        TemplatePlace::None => return Ok(None),
        TemplatePlace::File if config.notifications.templates.is_none() => return Ok(None),
        TemplatePlace::File => return Ok(Some(Arc::new(templates(&config.notifications)?))),
        TemplatePlace::Database => Arc::new(outbox.clone()),
        TemplatePlace::Http => Arc::new(over_http(config)?),
    };
    Ok(Some(Arc::new(CachedTemplates::new(source, Arc::new(TokioTimer::new()), settings.age))))
}

fn over_http(config: &Config) -> Result<HttpTemplates, ConfigError> {
    let settings = &config.templates;
    let refused = |key: &str, why: String| ConfigError::new(format!("`templates.{key}`: {why}"));
    let url = settings.url.clone().ok_or_else(|| refused("url", "it is not set".into()))?;
    let token = settings.token.read().map_err(|why| refused("token", why))?;
    let token = token.map(|token| claimstream_channels::Secret::new(token.reveal()));
    let config = HttpTemplatesConfig { token, timeout: settings.timeout, ..HttpTemplatesConfig::new(url) };
    HttpTemplates::new(config).map_err(|e| refused("url", e.to_string()))
}
