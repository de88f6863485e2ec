use std::{path::PathBuf, time::Duration};

use claimstream_channels::{Endpoint, SmtpServer};
use claimstream_domain::notification::{
    AddressRule, AnswerTable, Channel,
    provider::{AfterUnknown, BreakerPolicy, Rate, Selection},
};
use claimstream_notifications::ProviderLimits;

use super::{
    attachment_settings::AttachmentSettings,
    gateway_settings::GatewaySettings,
    log::name,
    provider_list::ProviderList,
    receipt_settings::ReceiptSettings,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted, word},
};

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
    /// Which private networks recipients' own URLs, and those of attachments, may lead into; none by default.
    pub allow_private: Option<AddressRule>,
    /// What `webhook` signs messages with, a line for each secret; they are unsigned without it.
    pub secret: SecretSource,
    /// Whether `webhook` signs under the names of Svix as well; not by default.
    pub svix_headers: Option<bool>,
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
    /// How long a delivery may take in all; 15 s by default. For `smtp` until the mail itself is sent, 30 s by default.
    pub timeout: Option<Duration>,
    /// How long the mail itself and its answer may take; 9 minutes by default.
    pub end_timeout: Option<Duration>,
    /// Answers that mean something else than usual, such as `409=delivered, rcpt 550:5.1.1=permanent`.
    pub answers: Option<AnswerTable>,
    /// The JSON pointer to what a body says more than its status.
    pub answer_code: Option<String>,
    /// Within which bounds `smtp` fetches the files of a mail.
    pub attachments: AttachmentSettings,
    /// What `gateway` sends.
    pub gateway: GatewaySettings,
    /// Named providers that deliver instead of the one that these settings describe.
    pub providers: Option<ProviderList>,
    /// In which order named providers are asked; as they are listed by default.
    pub select: Option<Selection>,
    /// What follows when a provider may have accepted a message; it alone is asked again by default.
    pub after_unknown: Option<AfterUnknown>,
    /// The weight of a named provider, 1 by default.
    pub weight: Option<u32>,
    /// How many messages the provider takes in a time, from all processes of the database.
    pub rate: Option<Rate>,
    /// How many messages the provider handles at a time, from each process.
    pub concurrency: Option<u32>,
    /// How many failures within the window open the provider's circuit.
    pub breaker_failures: Option<u32>,
    /// The window in which failures are counted.
    pub breaker_window: Option<Duration>,
    /// How long an open circuit waits for its first trial.
    pub breaker_pause: Option<Duration>,
    /// The longest wait for a trial.
    pub breaker_pause_cap: Option<Duration>,
    /// How receipts of a named provider are taken.
    pub receipts: ReceiptSettings,
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
    /// A call of a provider's HTTP API, by templates.
    Gateway,
    /// An incoming webhook of Slack.
    Slack,
    /// An incoming webhook of Microsoft Teams.
    Teams,
    /// An entry in the inbox of a user inside the application; for the channel `in_app` only.
    InApp,
}

impl ProviderChoice {
    const WORDS: [(&'static str, Self); 8] = [
        ("none", Self::None),
        ("log", Self::Log),
        ("webhook", Self::Webhook),
        ("smtp", Self::Smtp),
        ("gateway", Self::Gateway),
        ("slack", Self::Slack),
        ("teams", Self::Teams),
        ("in_app", Self::InApp),
    ];

    /// The word in the configuration.
    pub fn name(self) -> &'static str {
        name(self, &Self::WORDS)
    }
}

impl ChannelSettings {
    /// These settings where they are set, the others where not.
    pub(super) fn over(&self, other: &Self) -> Self {
        let source =
            |own: &SecretSource, other: &SecretSource| if own.is_set() { own.clone() } else { other.clone() };
        let (own, other) = (self.clone(), other.clone());
        Self {
            provider: own.provider.or(other.provider),
            file: own.file.or(other.file),
            show_addresses: own.show_addresses.or(other.show_addresses),
            show_content: own.show_content.or(other.show_content),
            url: own.url.or(other.url),
            allow_private: own.allow_private.or(other.allow_private),
            secret: source(&self.secret, &other.secret),
            svix_headers: own.svix_headers.or(other.svix_headers),
            proxy: own.proxy.or(other.proxy),
            server: own.server.or(other.server),
            from: own.from.or(other.from),
            user: own.user.or(other.user),
            password: source(&self.password, &other.password),
            hello: own.hello.or(other.hello),
            connect_timeout: own.connect_timeout.or(other.connect_timeout),
            timeout: own.timeout.or(other.timeout),
            end_timeout: own.end_timeout.or(other.end_timeout),
            answers: own.answers.or(other.answers),
            answer_code: own.answer_code.or(other.answer_code),
            attachments: own.attachments.over(other.attachments),
            gateway: own.gateway.over(other.gateway),
            // A channel that names its own provider does not take over the list of all others.
            providers: if own.provider.is_some() { own.providers } else { own.providers.or(other.providers) },
            select: own.select.or(other.select),
            after_unknown: own.after_unknown.or(other.after_unknown),
            weight: own.weight.or(other.weight),
            rate: own.rate.or(other.rate),
            concurrency: own.concurrency.or(other.concurrency),
            breaker_failures: own.breaker_failures.or(other.breaker_failures),
            breaker_window: own.breaker_window.or(other.breaker_window),
            breaker_pause: own.breaker_pause.or(other.breaker_pause),
            breaker_pause_cap: own.breaker_pause_cap.or(other.breaker_pause_cap),
            receipts: own.receipts,
        }
    }

    /// The keys of a channel's section.
    pub(super) fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("provider"), &mut self.provider);
        visit(&key("providers"), &mut self.providers);
        visit(&key("select"), &mut self.select);
        visit(&key("after_unknown"), &mut self.after_unknown);
        self.each_of_provider(section, visit);
    }

    /// The keys of a named provider's section.
    pub(super) fn each_named(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit(&format!("{section}.type"), &mut self.provider);
        visit(&format!("{section}.weight"), &mut self.weight);
        self.each_of_provider(section, visit);
        self.receipts.each(section, visit);
    }

    fn each_of_provider(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("file"), &mut self.file);
        visit(&key("show_addresses"), &mut self.show_addresses);
        visit(&key("show_content"), &mut self.show_content);
        visit(&key("url"), &mut self.url);
        visit(&key("allow_private"), &mut self.allow_private);
        self.secret.each(&key("secret"), visit);
        visit(&key("svix_headers"), &mut self.svix_headers);
        visit(&key("proxy"), &mut self.proxy);
        visit(&key("server"), &mut self.server);
        visit(&key("from"), &mut self.from);
        visit(&key("user"), &mut self.user);
        self.password.each(&key("password"), visit);
        visit(&key("hello"), &mut self.hello);
        visit(&key("connect_timeout"), &mut self.connect_timeout);
        visit(&key("timeout"), &mut self.timeout);
        visit(&key("end_timeout"), &mut self.end_timeout);
        visit(&key("answers"), &mut self.answers);
        visit(&key("answer_code"), &mut self.answer_code);
        self.attachments.each(section, visit);
        self.gateway.each(section, visit);
        visit(&key("rate"), &mut self.rate);
        visit(&key("concurrency"), &mut self.concurrency);
        visit(&key("breaker_failures"), &mut self.breaker_failures);
        visit(&key("breaker_window"), &mut self.breaker_window);
        visit(&key("breaker_pause"), &mut self.breaker_pause);
        visit(&key("breaker_pause_cap"), &mut self.breaker_pause_cap);
    }

    /// So many failures open no circuit.
    const NEVER: u32 = u32::MAX;

    /// Whether each message goes to a server of its recipient's own. One that is down says nothing about the others, and may not open
    /// a circuit that all of them share.
    fn posts_to_recipients(&self) -> bool {
        let posts = [ProviderChoice::Webhook, ProviderChoice::Slack, ProviderChoice::Teams]
            .map(Some)
            .contains(&self.provider);
        posts && self.url.is_none()
    }

    /// The limits of the provider that these settings describe.
    pub(crate) fn limits(&self) -> ProviderLimits {
        let usual = BreakerPolicy::default();
        let failures = if self.posts_to_recipients() { Self::NEVER } else { usual.failures };
        let breaker = BreakerPolicy {
            failures: self.breaker_failures.unwrap_or(failures),
            window: self.breaker_window.unwrap_or(usual.window),
            pause: self.breaker_pause.unwrap_or(usual.pause),
            pause_cap: self.breaker_pause_cap.unwrap_or(usual.pause_cap),
            silence: usual.silence,
        };
        // The adapters keep their own timeouts and know what an answer in time would have meant.
        ProviderLimits { breaker, timeout: None, concurrency: self.concurrency, rate: self.rate }
    }

    /// The setting that is missing or contradicts another, and its key.
    pub(super) fn contradiction(&self, channel: Channel) -> Option<(&'static str, String)> {
        if let Err(why) = self.limits().check() {
            let key = if self.concurrency == Some(0) { "concurrency" } else { "breaker_failures" };
            return Some((key, why.to_string()));
        }
        match self.provider? {
            ProviderChoice::None | ProviderChoice::Log => None,
            ProviderChoice::InApp if channel != Channel::InApp => Some((
                "provider",
                format!("in_app is for the channel in_app; use gateway, webhook or log for {channel}"),
            )),
            ProviderChoice::InApp => None,
            ProviderChoice::Gateway => self.gateway.contradiction(),
            ProviderChoice::Slack | ProviderChoice::Teams if channel != Channel::Chat => Some((
                "provider",
                format!(
                    "incoming webhooks are for the channel chat; use gateway, webhook or log for {channel}"
                ),
            )),
            ProviderChoice::Slack | ProviderChoice::Teams => None,
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

impl ConfigValue for ProviderChoice {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &Self::WORDS)
    }

    fn write(&self) -> String {
        quoted(self.name())
    }
}
