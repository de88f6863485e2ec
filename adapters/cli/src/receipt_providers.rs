use claimstream_http::{ReceiptProviders, SharedSecret};

use crate::config::{Channels, ConfigError};

/// The named providers whose receipts are taken; fails with the key of a secret that cannot be read or used.
pub(crate) fn receipt_providers(channels: &Channels) -> Result<ReceiptProviders, ConfigError> {
    let mut providers = ReceiptProviders::default();
    for (name, settings) in channels.named.iter().filter(|(_, settings)| settings.receipts.is_set()) {
        let receipts = &settings.receipts;
        let refused = |key: &str, why: String| ConfigError::new(format!("`providers.{name}.{key}`: {why}"));
        let secret = receipts.secret.read().map_err(|why| refused("receipts_secret", why))?;
        let secret = secret.ok_or_else(|| refused("receipts_secret", "is not set".into()))?;
        let secret =
            SharedSecret::new(secret.reveal()).map_err(|e| refused("receipts_secret", e.to_string()))?;
        let check = receipts.check(secret).map_err(|(key, why)| refused(key, why))?;
        let mapping =
            receipts.mapping(channels.only_channel_of(name)).map_err(|(key, why)| refused(key, why))?;
        providers = providers
            .with(name.clone(), check, mapping)
            .map_err(|e| refused("receipts_kind", e.to_string()))?;
    }
    Ok(providers)
}
