use std::{collections::BTreeMap, time::Duration};

use claimstream_domain::notification::{
    AddressRule, Channel,
    provider::{AfterUnknown, ProviderName, Selection},
};

use super::{
    attachment_settings::AttachmentSettings,
    channel_settings::{ChannelSettings, ProviderChoice},
    contradiction::Contradiction,
    keys::nearest,
    setting::Setting,
};

/// How notifications are delivered, channel by channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channels {
    /// The settings of every channel that has none of its own.
    pub default: ChannelSettings,
    /// What each channel says itself.
    pub own: BTreeMap<Channel, ChannelSettings>,
    /// Providers with a name, for channels that list them.
    pub named: BTreeMap<ProviderName, ChannelSettings>,
}

impl Channels {
    /// The settings of a channel, the defaults included.
    pub fn of(&self, channel: Channel) -> ChannelSettings {
        match self.own.get(&channel) {
            Some(own) => own.over(&self.default),
            None => self.default.clone(),
        }
    }

    /// The settings of a named provider, the defaults included; `None` if there is none of this name.
    pub fn named(&self, name: &ProviderName) -> Option<ChannelSettings> {
        let own = self.named.get(name)?;
        Some(ChannelSettings { provider: own.provider, weight: own.weight, ..own.over(&self.default) })
    }

    /// The channel that lists a named provider, if no other one does.
    #[cfg(any(feature = "http", test))]
    pub(crate) fn only_channel_of(&self, name: &ProviderName) -> Option<Channel> {
        let lists =
            |channel: &Channel| self.of(*channel).providers.is_some_and(|list| list.names().contains(name));
        let mut found = Channel::ALL.into_iter().filter(lists);
        found.next().filter(|_| found.next().is_none())
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        self.default.each("channels.default", visit);
        for (channel, own) in &mut self.own {
            own.each(&format!("channels.{channel}"), visit);
        }
        for (name, own) in &mut self.named {
            own.each_named(&format!("providers.{name}"), visit);
        }
    }

    /// Whether the channel's own section says that nothing is delivered on it, which an operator has decided.
    pub fn is_off(&self, channel: Channel) -> bool {
        self.own.get(&channel).is_some_and(|own| own.provider == Some(ProviderChoice::None))
    }

    /// What no provider could be made of; each with the key that would mend it.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let of_channels = Channel::ALL.into_iter().flat_map(|channel| self.contradictions_of(channel));
        let of_receipts = self.named.iter().filter_map(|(name, own)| {
            own.receipts.contradiction().map(|(key, why)| (format!("providers.{name}.{key}"), why))
        });
        of_channels.chain(of_receipts).collect()
    }

    fn contradictions_of(&self, channel: Channel) -> Vec<Contradiction> {
        let settings = self.of(channel);
        let Some(list) = &settings.providers else {
            let found = settings.contradiction(channel).into_iter();
            return found.map(|(key, why)| (format!("channels.{channel}.{key}"), why)).collect();
        };
        let own = self.own.get(&channel);
        if own.is_some_and(|own| own.provider.is_some() && own.providers.is_some()) {
            let why = "provider and providers are both set; providers names sections [providers.NAME]";
            return vec![(format!("channels.{channel}.provider"), why.into())];
        }
        list.names().iter().filter_map(|name| self.contradiction_of(channel, name)).collect()
    }

    fn contradiction_of(&self, channel: Channel, name: &ProviderName) -> Option<Contradiction> {
        let key = format!("channels.{channel}.providers");
        let Some(settings) = self.named(name) else {
            let meant = nearest(name.as_str(), self.named.keys().map(ProviderName::as_str));
            let hint = meant.map(|meant| format!("did you mean {meant:?}? ")).unwrap_or_default();
            return Some((
                key,
                format!("there is no provider \"{name}\"; {hint}add a section [providers.{name}]"),
            ));
        };
        match settings.provider {
            None | Some(ProviderChoice::None) => {
                let why =
                    "a named provider needs a type: log, webhook, smtp, gateway, slack, teams or in_app";
                Some((format!("providers.{name}.type"), why.into()))
            }
            Some(_) => settings.contradiction(channel).map(|(at, why)| {
                let at = if at == "provider" { "type" } else { at };
                (format!("providers.{name}.{at}"), why)
            }),
        }
    }
}

impl Default for Channels {
    fn default() -> Self {
        let default = ChannelSettings {
            provider: Some(ProviderChoice::None),
            show_addresses: Some(false),
            show_content: Some(false),
            svix_headers: Some(false),
            proxy: Some(true),
            allow_private: Some(AddressRule::Public),
            attachments: AttachmentSettings::usual(),
            connect_timeout: Some(Duration::from_secs(5)),
            end_timeout: Some(Duration::from_secs(540)),
            select: Some(Selection::InOrder),
            after_unknown: Some(AfterUnknown::RetrySame),
            ..ChannelSettings::default()
        };
        Self {
            default,
            own: Channel::ALL.into_iter().map(|channel| (channel, ChannelSettings::default())).collect(),
            named: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Secret, SecretSource, provider_list::ProviderList, setting::ConfigValue};

    #[test]
    fn a_recipients_own_server_opens_no_circuit_that_others_share() {
        let url = |text: &str| text.parse().ok();
        for (provider, url, failures) in [
            (ProviderChoice::Webhook, None, u32::MAX),
            (ProviderChoice::Slack, None, u32::MAX),
            (ProviderChoice::Webhook, url("https://gateway.example/"), 5),
            (ProviderChoice::Smtp, None, 5),
        ] {
            let settings = ChannelSettings { provider: Some(provider), url, ..ChannelSettings::default() };
            assert_eq!(settings.limits().breaker.failures, failures, "{provider:?}");
            let own = ChannelSettings { breaker_failures: Some(7), ..settings };
            assert_eq!(own.limits().breaker.failures, 7, "{provider:?}");
        }
    }

    #[test]
    fn the_channel_of_a_provider_is_the_only_one_that_lists_it() {
        let list = |names: &str| Some(ProviderList::read(names).unwrap());
        let mut channels = Channels::default();
        channels.own.entry(Channel::Email).or_default().providers = list("ses, both");
        channels.own.entry(Channel::Sms).or_default().providers = list("both");
        let of = |channels: &Channels, name: &str| channels.only_channel_of(&name.parse().unwrap());
        assert_eq!(of(&channels, "ses"), Some(Channel::Email));
        assert_eq!((of(&channels, "both"), of(&channels, "other")), (None, None));
        channels.default.providers = list("ses");
        assert_eq!(of(&channels, "ses"), None, "the other channels list it by default");
    }

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
