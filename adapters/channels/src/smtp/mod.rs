mod config;
mod connections;
mod letter;
mod server;

use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{Invalid, notification::NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use lettre::{
    Message,
    message::Mailbox,
    transport::smtp::{Error, response::Response},
};

use self::{connections::Connections, letter::letter};

pub use config::{SmtpConfig, SmtpCredentials};
pub use server::SmtpServer;

/// Sends each message as a plain-text mail through one SMTP server.
///
/// The Message-ID is made of the message's id, so that a mail which is sent again is recognised by it.
///
/// | answer | outcome |
/// |---|---|
/// | the mail is accepted | delivered; the server's last line is the reference |
/// | 4xx, no answer in time, no or a broken connection, no session (greeting, TLS, login) | tried again |
/// | 530, 534, 535 or 538 at any command: another login is wanted | tried again |
/// | any other 5xx to the sender, the recipient or the mail; an address that is none | refused for good |
pub struct SmtpChannel {
    connections: Connections,
    from: Mailbox,
    config: SmtpConfig,
}

impl SmtpChannel {
    /// A provider with connections of its own; refuses what [`SmtpConfig::check`] refuses.
    pub fn new(config: SmtpConfig) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { connections: Connections::new(&config)?, from: config.sender()?, config })
    }

    async fn send(&self, mail: &Message) -> Result<Response, Refusal> {
        let mut connection = self.connections.take().await.map_err(Refusal::Session)?;
        let sent = connection.send(mail.envelope(), &mail.formatted()).await.map_err(Refusal::Mail)?;
        self.connections.keep(connection);
        Ok(sent)
    }

    /// Why a mail was not taken; a person reads it, so it names the server and leaves the addresses out.
    fn judge(&self, refusal: Refusal, mail: &Message) -> DeliveryError {
        let reason = |error: &Error| format!("{}: {}", self.config.server, without_recipients(error, mail));
        match refusal {
            Refusal::Mail(e) if (e.is_permanent() || e.is_client()) && !wants_another_login(&e) => {
                DeliveryError::Permanent { reason: reason(&e) }
            }
            Refusal::Mail(e) | Refusal::Session(e) => {
                DeliveryError::Transient { reason: reason(&e), retry_after: None }
            }
        }
    }
}

/// The answers of RFC 4954, section 6, about who sends and how: at whatever command they come, they are of the session.
fn wants_another_login(error: &Error) -> bool {
    let code = error.status().map(u16::from);
    code.is_some_and(|code| [530, 534, 535, 538].contains(&code))
}

/// What a server said, without the envelope's addresses, which it may repeat in other letters.
fn without_recipients(error: &Error, mail: &Message) -> String {
    mail.envelope().to().iter().fold(error.to_string(), |text, to| without(&text, to.as_ref()))
}

fn without(text: &str, address: &str) -> String {
    let (lower, address) = (text.to_ascii_lowercase(), address.to_ascii_lowercase());
    let (mut kept, mut from) = (String::new(), 0);
    for (at, found) in lower.match_indices(&address) {
        kept.extend([&text[from..at], "***"]);
        from = at + found.len();
    }
    kept + &text[from..]
}

/// Where a delivery ended: a session that fails says nothing about the mail.
enum Refusal {
    Session(Error),
    Mail(Error),
}

#[async_trait]
impl ChannelProvider for SmtpChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let mail = letter(&self.from, message)?;
        match tokio::time::timeout(self.config.timeout, self.send(&mail)).await {
            Ok(Ok(answer)) => Ok(Delivered { reference: answer.first_line().map(str::to_owned) }),
            Ok(Err(refusal)) => Err(self.judge(refusal, &mail)),
            Err(_) => {
                let reason =
                    format!("no answer from {} within {:?}", self.config.server, self.config.timeout);
                Err(DeliveryError::Transient { reason, retry_after: None })
            }
        }
    }
}

impl fmt::Debug for SmtpChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
