use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use claimstream_channels::{Endpoint, SmtpServer};
use claimstream_domain::notification::Channel;

use super::{
    contradiction::Contradiction,
    log::name,
    secret::SecretSource,
    setting::{Setting, Written, quoted, word},
};

/// How notifications are delivered, channel by channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channels {
    /// The settings of every channel that has none of its own.
    pub default: ChannelSettings,
    /// What each channel says itself.
    pub own: BTreeMap<Channel, ChannelSettings>,
}

/// How one channel delivers. A setting that is missing here is as `channels.default` says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChannelSettings {
    /// The provider that delivers; none by default.
    pub provider: Option<ProviderChoice>,
    /// The file that `log` appends to; the standard output by default.
    pub file: Option<PathBuf>,
    /// Whether `log` shows addresses in full; not by default.
    pub show_addresses: Option<bool>,
    /// Whether `log` shows what the recipient reads; not by default.
    pub show_content: Option<bool>,
    /// Where `webhook` posts every message; the channel `webhook` can do without and posts to each recipient's own URL.
    pub url: Option<Endpoint>,
    /// What `webhook` signs messages with; they are unsigned without it.
    pub secret: SecretSource,
    /// Whether `webhook` uses the proxies that the environment names; by default it does.
    pub proxy: Option<bool>,
    /// The server that `smtp` sends mails through.
    pub server: Option<SmtpServer>,
    /// The sender of mails, such as `Shop <no-reply@shop.example>`.
    pub from: Option<String>,
    /// The user that `smtp` logs in as; it does not log in without one.
    pub user: Option<String>,
    /// The user's password.
    pub password: SecretSource,
    /// The name that `smtp` greets the server with; the host's own by default.
    pub hello: Option<String>,
    /// How long a connection may take; 5 s by default.
    pub connect_timeout: Option<Duration>,
    /// How long a delivery may take in all; 15 s for `webhook` and 30 s for `smtp` by default.
    pub timeout: Option<Duration>,
}

/// The provider that delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProviderChoice {
    /// None: a message on the channel is refused for good.
    None,
    /// A line of JSON in a file or on the standard output.
    Log,
    /// An HTTP POST.
    Webhook,
    /// A mail; for the channel `email` only.
    Smtp,
}

impl ProviderChoice {
    const WORDS: [(&'static str, Self); 4] =
        [("none", Self::None), ("log", Self::Log), ("webhook", Self::Webhook), ("smtp", Self::Smtp)];

    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        name(self, &Self::WORDS)
    }
}

impl Channels {
    /// The settings of a channel, the defaults included.
    pub fn of(&self, channel: Channel) -> ChannelSettings {
        match self.own.get(&channel) {
            Some(own) => own.over(&self.default),
            None => self.default.clone(),
        }
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        self.default.each("channels.default", visit);
        for (channel, own) in &mut self.own {
            own.each(&format!("channels.{channel}"), visit);
        }
    }

    /// What no provider could be made of; each with the key that would mend it.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let every = Channel::ALL.into_iter();
        every
            .filter_map(|channel| {
                let (key, why) = self.of(channel).contradiction(channel)?;
                Some((format!("channels.{channel}.{key}"), why))
            })
            .collect()
    }
}

impl Default for Channels {
    fn default() -> Self {
        let default = ChannelSettings {
            provider: Some(ProviderChoice::None),
            show_addresses: Some(false),
            show_content: Some(false),
            proxy: Some(true),
            connect_timeout: Some(Duration::from_secs(5)),
            ..ChannelSettings::default()
        };
        Self {
            default,
            own: Channel::ALL.into_iter().map(|channel| (channel, ChannelSettings::default())).collect(),
        }
    }
}

impl ChannelSettings {
    /// These settings where they are set, the others where not.
    fn over(&self, other: &Self) -> Self {
        let source =
            |own: &SecretSource, other: &SecretSource| if own.is_set() { own.clone() } else { other.clone() };
        let (own, other) = (self.clone(), other.clone());
        Self {
            provider: own.provider.or(other.provider),
            file: own.file.or(other.file),
            show_addresses: own.show_addresses.or(other.show_addresses),
            show_content: own.show_content.or(other.show_content),
            url: own.url.or(other.url),
            secret: source(&self.secret, &other.secret),
            proxy: own.proxy.or(other.proxy),
            server: own.server.or(other.server),
            from: own.from.or(other.from),
            user: own.user.or(other.user),
            password: source(&self.password, &other.password),
            hello: own.hello.or(other.hello),
            connect_timeout: own.connect_timeout.or(other.connect_timeout),
            timeout: own.timeout.or(other.timeout),
        }
    }

    fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("provider"), &mut self.provider);
        visit(&key("file"), &mut self.file);
        visit(&key("show_addresses"), &mut self.show_addresses);
        visit(&key("show_content"), &mut self.show_content);
        visit(&key("url"), &mut self.url);
        self.secret.each(&key("secret"), visit);
        visit(&key("proxy"), &mut self.proxy);
        visit(&key("server"), &mut self.server);
        visit(&key("from"), &mut self.from);
        visit(&key("user"), &mut self.user);
        self.password.each(&key("password"), visit);
        visit(&key("hello"), &mut self.hello);
        visit(&key("connect_timeout"), &mut self.connect_timeout);
        visit(&key("timeout"), &mut self.timeout);
    }

    /// The setting that is missing or contradicts another, and its key.
    fn contradiction(&self, channel: Channel) -> Option<(&'static str, String)> {
        match self.provider? {
            ProviderChoice::None | ProviderChoice::Log => None,
            ProviderChoice::Webhook if self.url.is_none() && channel != Channel::Webhook => Some((
                "url",
                format!("the provider webhook needs a gateway for {channel}; set channels.{channel}.url"),
            )),
            ProviderChoice::Webhook => None,
            ProviderChoice::Smtp if channel != Channel::Email => Some((
                "provider",
                format!("smtp delivers to e-mail addresses only; use webhook or log for {channel}"),
            )),
            ProviderChoice::Smtp if self.server.is_none() => {
                Some(("server", "smtp needs a server such as smtp://mail.example.com?tls=required".into()))
            }
            ProviderChoice::Smtp if self.from.is_none() => {
                Some(("from", "smtp needs a sender such as Shop <no-reply@shop.example>".into()))
            }
            ProviderChoice::Smtp if self.user.is_some() != self.password.is_set() => {
                Some(("user", "user and password go together; set both or neither".into()))
            }
            ProviderChoice::Smtp => None,
        }
    }
}

impl Written for ProviderChoice {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn a_channel_says_what_differs_and_a_secret_is_one_thing() {
        let mut channels = Channels::default();
        channels.default.provider = Some(ProviderChoice::Webhook);
        channels.default.secret.value = Some(Secret::new("a"));
        channels.default.timeout = Some(Duration::from_secs(9));
        let sms = channels.own.entry(Channel::Sms).or_default();
        sms.secret.env = Some("SMS_SECRET".into());
        sms.connect_timeout = Some(Duration::from_secs(1));
        let sms = channels.of(Channel::Sms);
        assert_eq!(sms.secret, SecretSource { env: Some("SMS_SECRET".into()), ..SecretSource::default() });
        assert_eq!(
            (sms.timeout, sms.connect_timeout),
            (Some(Duration::from_secs(9)), Some(Duration::from_secs(1)))
        );
        assert_eq!(channels.of(Channel::Push).secret.value, Some(Secret::new("a")));
    }

    #[test]
    fn a_provider_that_lacks_something_is_refused_by_name() {
        let why = |provider, channel| {
            let settings = ChannelSettings { provider: Some(provider), ..ChannelSettings::default() };
            settings.contradiction(channel).map(|(key, _)| key)
        };
        assert_eq!(why(ProviderChoice::Webhook, Channel::Sms), Some("url"));
        assert_eq!(why(ProviderChoice::Webhook, Channel::Webhook), None);
        assert_eq!(why(ProviderChoice::Smtp, Channel::Sms), Some("provider"));
        assert_eq!(why(ProviderChoice::Smtp, Channel::Email), Some("server"));
        assert_eq!(why(ProviderChoice::Log, Channel::Sms), None);
    }
}
