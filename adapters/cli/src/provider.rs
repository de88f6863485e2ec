use std::{sync::Arc, time::Duration};

use claimstream_channels::{
    LogChannel, LogConfig, Secret, SmtpChannel, SmtpConfig, SmtpCredentials, WebhookChannel, WebhookConfig,
};
use claimstream_domain::notification::Channel;
use claimstream_notifications::Providers;
use claimstream_ports::notification::ChannelProvider;

use crate::config::{ChannelSettings, Channels, ConfigError, ProviderChoice, SecretSource};

/// The providers that a configuration names; refuses a configuration without any.
pub fn providers(channels: &Channels) -> Result<Providers, ConfigError> {
    let mut providers = Providers::new();
    let mut silent = Vec::new();
    for channel in Channel::ALL {
        match provider(channel, &channels.of(channel))? {
            Some(provider) => providers = providers.with(channel, provider),
            None => silent.push(channel.name()),
        }
    }
    if silent.len() == Channel::ALL.len() {
        return Err(ConfigError::new(NOBODY.into()));
    }
    if !silent.is_empty() {
        tracing::warn!(
            channels = silent.join(", "),
            "channels have no provider; messages on them are refused for good"
        );
    }
    Ok(providers)
}

const NOBODY: &str = "no channel has a provider; --set channels.default.provider=log writes every notification to the \
                      standard output, and channels.<channel>.provider chooses log, webhook or smtp for one channel";

/// The provider of one channel, if it has one.
pub(crate) fn provider(
    channel: Channel,
    settings: &ChannelSettings,
) -> Result<Option<Arc<dyn ChannelProvider>>, ConfigError> {
    let made = match settings.provider.unwrap_or(ProviderChoice::None) {
        ProviderChoice::None => return Ok(None),
        ProviderChoice::Log => log(settings),
        ProviderChoice::Webhook => webhook(settings),
        ProviderChoice::Smtp => smtp(settings),
    };
    made.map(Some).map_err(|(key, why)| ConfigError::new(format!("`channels.{channel}.{key}`: {why}")))
}

/// A provider, or the key that stands in its way and the reason.
type Made = Result<Arc<dyn ChannelProvider>, (&'static str, String)>;

fn log(settings: &ChannelSettings) -> Made {
    let config = LogConfig {
        addresses: settings.show_addresses.unwrap_or_default(),
        content: settings.show_content.unwrap_or_default(),
    };
    let Some(path) = &settings.file else { return Ok(Arc::new(LogChannel::stdout(config))) };
    match LogChannel::append(path, config) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("file", format!("{} cannot be appended to: {e}", path.display()))),
    }
}

fn webhook(settings: &ChannelSettings) -> Made {
    let usual = WebhookConfig::default();
    let config = WebhookConfig {
        gateway: settings.url.clone(),
        secret: secret(&settings.secret).map_err(|why| ("secret", why))?,
        connect_timeout: settings.connect_timeout.unwrap_or(usual.connect_timeout),
        timeout: settings.timeout.unwrap_or(usual.timeout),
        environment_proxies: settings.proxy.unwrap_or(usual.environment_proxies),
    };
    match WebhookChannel::new(config) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("provider", e.to_string())),
    }
}

fn smtp(settings: &ChannelSettings) -> Made {
    let server = settings.server.clone().ok_or(("server", "is not set".to_owned()))?;
    let from = settings.from.as_deref().ok_or(("from", "is not set".to_owned()))?;
    let password = secret(&settings.password).map_err(|why| ("password", why))?;
    let mut config = SmtpConfig::new(server, from);
    config.credentials =
        settings.user.clone().zip(password).map(|(user, password)| SmtpCredentials { user, password });
    config.hello = settings.hello.clone();
    set(&mut config.connect_timeout, settings.connect_timeout);
    set(&mut config.timeout, settings.timeout);
    match SmtpChannel::new(config) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("provider", e.to_string())),
    }
}

fn secret(source: &SecretSource) -> Result<Option<Secret>, String> {
    Ok(source.read()?.map(|secret| Secret::new(secret.reveal())))
}

fn set(timeout: &mut Duration, given: Option<Duration>) {
    if let Some(given) = given {
        *timeout = given;
    }
}
