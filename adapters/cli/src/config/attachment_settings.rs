use std::time::Duration;

use claimstream_channels::AttachmentConfig;
use claimstream_domain::notification::AddressRule;

use super::setting::Setting;

/// Within which bounds `smtp` fetches the files of a mail.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AttachmentSettings {
    /// The longest file.
    pub max_bytes: Option<usize>,
    /// How long the files of a mail may be together.
    pub max_bytes_in_all: Option<usize>,
    /// How long they may take to come.
    pub timeout: Option<Duration>,
    /// Whether they may come without encryption.
    pub plain_http: Option<bool>,
    /// How much memory files may take that are kept for the next mails.
    pub cache_bytes: Option<usize>,
}

impl AttachmentSettings {
    pub(super) fn over(self, other: Self) -> Self {
        Self {
            max_bytes: self.max_bytes.or(other.max_bytes),
            max_bytes_in_all: self.max_bytes_in_all.or(other.max_bytes_in_all),
            timeout: self.timeout.or(other.timeout),
            plain_http: self.plain_http.or(other.plain_http),
            cache_bytes: self.cache_bytes.or(other.cache_bytes),
        }
    }

    /// What holds unless something is set.
    pub(super) fn usual() -> Self {
        let usual = AttachmentConfig::default();
        Self {
            max_bytes: Some(usual.max_bytes),
            max_bytes_in_all: Some(usual.max_bytes_in_all),
            timeout: Some(usual.timeout),
            plain_http: Some(usual.plain_http),
            cache_bytes: Some(usual.cache_bytes),
        }
    }

    pub(super) fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("attachment_bytes"), &mut self.max_bytes);
        visit(&key("attachment_bytes_in_all"), &mut self.max_bytes_in_all);
        visit(&key("attachment_timeout"), &mut self.timeout);
        visit(&key("attachment_http"), &mut self.plain_http);
        visit(&key("attachment_cache_bytes"), &mut self.cache_bytes);
    }

    /// The bounds, with the provider's own rule for addresses, and its time for a connection.
    pub(crate) fn config(
        &self,
        reach: AddressRule,
        environment_proxies: bool,
        connect_timeout: Option<Duration>,
    ) -> AttachmentConfig {
        let usual = AttachmentConfig::default();
        let timeout = self.timeout.unwrap_or(usual.timeout);
        AttachmentConfig {
            max_bytes: self.max_bytes.unwrap_or(usual.max_bytes),
            max_bytes_in_all: self.max_bytes_in_all.unwrap_or(usual.max_bytes_in_all),
            plain_http: self.plain_http.unwrap_or(usual.plain_http),
            reach,
            environment_proxies,
            connect_timeout: connect_timeout.unwrap_or(usual.connect_timeout).min(timeout),
            timeout,
            cache_bytes: self.cache_bytes.unwrap_or(usual.cache_bytes),
        }
    }
}
