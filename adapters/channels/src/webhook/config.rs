use std::time::Duration;

use claimstream_domain::{
    Invalid,
    notification::{AddressRule, AnswerTable},
};

use super::{endpoint::Endpoint, signature::Signer};
use crate::{Secret, timeouts};

/// Where and how messages are posted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookConfig {
    /// Where every message goes; each to its own address if there is none.
    pub gateway: Option<Endpoint>,
    /// Which addresses the URLs of messages may lead to, public ones by default. The gateway may be anywhere.
    pub reach: AddressRule,
    /// What messages are signed with; unsigned if there is none. Several lines are several secrets, the newest first: each signs while
    /// receivers change to the new one.
    pub secret: Option<Secret>,
    /// Whether `webhook-id`, `webhook-timestamp` and `webhook-signature` are sent once more under the names of Svix, `svix-id` and so on.
    pub svix_headers: bool,
    /// What answers mean that mean something else than usual: than [these](AnswerTable::webhook) for the gateway,
    /// [these](AnswerTable::own_webhook) for recipients' own URLs, and [these](AnswerTable::participant) for a participant.
    pub answers: AnswerTable,
    /// Where a JSON answer says more than its status, as a JSON pointer (RFC 6901): what stands there is the detail of a row of `answers`.
    pub answer_code: Option<String>,
    /// How long a connection may take, 5 s by default.
    pub connect_timeout: Duration,
    /// How long a delivery may take in all, 15 s by default.
    pub timeout: Duration,
    /// Whether the proxies of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`) are used; by default they are. URLs of
    /// messages go through them only if `reach` opens private networks, since the address is the proxy's choice then.
    pub environment_proxies: bool,
}

impl WebhookConfig {
    /// Refuses timeouts of nothing, an empty secret, and a gateway that this build cannot speak to.
    pub fn check(&self) -> Result<(), Invalid> {
        timeouts::check("webhook timeout", self.connect_timeout, self.timeout)?;
        self.signer()?;
        self.gateway.as_ref().map_or(Ok(()), Endpoint::check)
    }

    pub(super) fn signer(&self) -> Result<Option<Signer>, Invalid> {
        self.secret.as_ref().map(Signer::new).transpose()
    }
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            gateway: None,
            reach: AddressRule::default(),
            secret: None,
            svix_headers: false,
            answers: AnswerTable::default(),
            answer_code: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            environment_proxies: true,
        }
    }
}
