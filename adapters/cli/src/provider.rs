use std::{collections::BTreeMap, sync::Arc, time::Duration};

use claimstream_channels::{
    ChatChannel, ChatStyle, GatewayAuth, GatewayChannel, GatewayConfig, LogChannel, LogConfig, Secret,
    SmtpChannel, SmtpConfig, SmtpCredentials, WebhookChannel, WebhookConfig,
};
use claimstream_domain::{
    Invalid,
    notification::{
        Channel,
        provider::{ProviderName, Selection},
    },
};
use claimstream_notifications::{InAppProvider, NamedProvider, Providers, Route};
use claimstream_ports::{
    Timer,
    notification::{ChannelProvider, InAppInbox, RateLimiter},
};

use crate::config::{AuthChoice, ChannelSettings, Channels, ConfigError, ProviderChoice, SecretSource};

/// The providers that a configuration names; refuses a configuration without any. Rates are kept by `limiter`, and
/// entries of the channel `in_app` go into `inbox`.
pub fn providers(
    channels: &Channels,
    timer: Arc<dyn Timer>,
    limiter: Arc<dyn RateLimiter>,
    inbox: Arc<dyn InAppInbox>,
) -> Result<Providers, ConfigError> {
    let mut making = Making { channels, timer, limiter, inbox, named: BTreeMap::new() };
    let (mut providers, mut silent) = (Providers::new(), Vec::new());
    for channel in Channel::ALL {
        match making.route(channel)? {
            Some(route) => providers = providers.with_route(channel, route),
            None => silent.push(channel.name()),
        }
    }
    if silent.len() == Channel::ALL.len() {
        return Err(ConfigError::new(NO_PROVIDER.into()));
    }
    if !silent.is_empty() {
        tracing::warn!(
            channels = silent.join(", "),
            "channels have no provider; messages on them are refused for good"
        );
    }
    Ok(providers)
}

/// Makes routes; channels that list the same provider share it.
struct Making<'a> {
    channels: &'a Channels,
    timer: Arc<dyn Timer>,
    limiter: Arc<dyn RateLimiter>,
    inbox: Arc<dyn InAppInbox>,
    named: BTreeMap<ProviderName, Arc<NamedProvider>>,
}

impl Making<'_> {
    fn route(&mut self, channel: Channel) -> Result<Option<Route>, ConfigError> {
        let settings = self.channels.of(channel);
        let refused = |e: Invalid| ConfigError::new(format!("`channels.{channel}`: {e}"));
        let route = match settings.select.unwrap_or_default() {
            Selection::InOrder => Route::in_order(),
            Selection::ByWeight => Route::by_weight(),
        };
        let mut route = route.after_unknown(settings.after_unknown.unwrap_or_default());
        let Some(list) = &settings.providers else {
            let section = format!("channels.{channel}");
            let Some(made) = self.provider(&section, &settings)? else { return Ok(None) };
            let one = self.limited(channel.name(), made, &settings).map_err(refused)?;
            return route.with(one).map(Some).map_err(refused);
        };
        for name in list.names() {
            let Some(own) = self.channels.named(name) else {
                let why = format!("there is no section [providers.{name}]");
                return Err(ConfigError::new(format!("`channels.{channel}.providers`: {why}")));
            };
            let weight = own.weight.unwrap_or(1);
            let one = match self.named.get(name) {
                Some(known) => Arc::clone(known),
                None => {
                    let Some(made) = self.provider(&format!("providers.{name}"), &own)? else { continue };
                    let one = self.limited(name.as_str(), made, &own).map_err(refused)?;
                    self.named.insert(name.clone(), Arc::clone(&one));
                    one
                }
            };
            route = route.with_weight(one, weight).map_err(refused)?;
        }
        Ok(Some(route))
    }

    fn provider(
        &self,
        section: &str,
        settings: &ChannelSettings,
    ) -> Result<Option<Arc<dyn ChannelProvider>>, ConfigError> {
        match settings.provider {
            Some(ProviderChoice::InApp) => Ok(Some(Arc::new(InAppProvider::new(Arc::clone(&self.inbox))))),
            _ => provider(section, settings),
        }
    }

    fn limited(
        &self,
        name: &str,
        provider: Arc<dyn ChannelProvider>,
        settings: &ChannelSettings,
    ) -> Result<Arc<NamedProvider>, Invalid> {
        let (timer, limiter) = (Arc::clone(&self.timer), Arc::clone(&self.limiter));
        NamedProvider::new(name, provider, &settings.limits(), timer, limiter).map(Arc::new)
    }
}

const NO_PROVIDER: &str = "no channel has a provider; --set channels.default.provider=log writes every notification to the \
                      standard output, and channels.<channel>.provider chooses log, webhook, smtp or gateway for one channel";

/// The provider that a section describes, if it describes one that needs no database.
pub(crate) fn provider(
    section: &str,
    settings: &ChannelSettings,
) -> Result<Option<Arc<dyn ChannelProvider>>, ConfigError> {
    let made = match settings.provider.unwrap_or(ProviderChoice::None) {
        ProviderChoice::None | ProviderChoice::InApp => return Ok(None),
        ProviderChoice::Log => log(settings),
        ProviderChoice::Webhook => webhook(settings),
        ProviderChoice::Smtp => smtp(settings),
        ProviderChoice::Gateway => gateway(settings),
        ProviderChoice::Slack => chat(ChatStyle::Slack, settings),
        ProviderChoice::Teams => chat(ChatStyle::Teams, settings),
    };
    made.map(Some).map_err(|(key, why)| ConfigError::new(format!("`{section}.{key}`: {why}")))
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
    match WebhookChannel::new(webhook_config(settings)?) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("provider", e.to_string())),
    }
}

fn chat(style: ChatStyle, settings: &ChannelSettings) -> Made {
    match ChatChannel::new(style, webhook_config(settings)?) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("provider", e.to_string())),
    }
}

fn gateway(settings: &ChannelSettings) -> Made {
    match GatewayChannel::new(gateway_config(settings)?) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(e) => Err(("request_url", e.to_string())),
    }
}

/// The calls of a gateway, or the key that stands in their way and the reason.
pub(crate) fn gateway_config(settings: &ChannelSettings) -> Result<GatewayConfig, (&'static str, String)> {
    let own = &settings.gateway;
    let url = own.url.as_deref().ok_or(("request_url", "is not set".to_owned()))?;
    let mut config = GatewayConfig::post_json(url, "");
    config.body = own.body.clone();
    config.headers = own.header_lines().map_err(|why| ("request_headers", why))?;
    config.answers = settings.answers.clone().unwrap_or_default();
    config.answer_code = settings.answer_code.clone();
    config.reference = own.reference.clone();
    config.auth = gateway_auth(settings)?;
    let method = own.method.as_deref().unwrap_or("POST");
    config.method =
        method.parse().map_err(|_| ("request_method", format!("{method:?} is no HTTP method")))?;
    set(&mut config.connect_timeout, settings.connect_timeout);
    set(&mut config.timeout, settings.timeout);
    config.environment_proxies = settings.proxy.unwrap_or(config.environment_proxies);
    Ok(config)
}

fn gateway_auth(settings: &ChannelSettings) -> Result<GatewayAuth, (&'static str, String)> {
    let missing = |key: &'static str| (key, "is not set, and auth needs it".to_owned());
    let token = || -> Result<Secret, (&'static str, String)> {
        secret(&settings.secret).map_err(|why| ("secret", why))?.ok_or_else(|| missing("secret"))
    };
    Ok(match settings.gateway.auth {
        None => GatewayAuth::None,
        Some(AuthChoice::Basic) => {
            let password = secret(&settings.password).map_err(|why| ("password", why))?;
            let user = settings.user.clone().ok_or_else(|| missing("user"))?;
            GatewayAuth::Basic { user, password: password.ok_or_else(|| missing("password"))? }
        }
        Some(AuthChoice::Bearer) => match &settings.secret.file {
            Some(path) => GatewayAuth::BearerFile(path.clone()),
            None => GatewayAuth::Bearer(token()?),
        },
        Some(AuthChoice::Header) => {
            let name = settings.gateway.auth_header.clone().ok_or_else(|| missing("auth_header"))?;
            GatewayAuth::Header { name, value: token()? }
        }
    })
}

fn webhook_config(settings: &ChannelSettings) -> Result<WebhookConfig, (&'static str, String)> {
    let usual = WebhookConfig::default();
    Ok(WebhookConfig {
        gateway: settings.url.clone(),
        reach: settings.allow_private.clone().unwrap_or_default(),
        secret: secret(&settings.secret).map_err(|why| ("secret", why))?,
        svix_headers: settings.svix_headers.unwrap_or(usual.svix_headers),
        answers: settings.answers.clone().unwrap_or_default(),
        answer_code: settings.answer_code.clone(),
        connect_timeout: settings.connect_timeout.unwrap_or(usual.connect_timeout),
        timeout: settings.timeout.unwrap_or(usual.timeout),
        environment_proxies: settings.proxy.unwrap_or(usual.environment_proxies),
    })
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
    set(&mut config.end_timeout, settings.end_timeout);
    config.answers = settings.answers.clone().unwrap_or_default();
    let reach = settings.allow_private.clone().unwrap_or_default();
    let proxies = settings.proxy.unwrap_or(true);
    config.attachments = settings.attachments.config(reach, proxies, settings.connect_timeout);
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
