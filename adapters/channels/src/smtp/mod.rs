mod config;
mod connections;
mod dialogue;
mod letter;
mod line_ends;
mod parts;
mod server;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Answer, NotificationMessage},
};
use claimstream_ports::{
    Deadline, Timer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};
use lettre::{
    Message,
    message::Mailbox,
    transport::smtp::{Error, client::AsyncSmtpConnection, response::Response},
};

use self::{
    connections::Connections,
    dialogue::{Refusal, offer, send},
    letter::letter,
};
use crate::attachments::Attachments;

pub use config::{SmtpConfig, SmtpCredentials};
pub use server::SmtpServer;

/// Sends each message as a mail through one SMTP server, with its page and its files.
///
/// The Message-ID is made of the message's id, so that a mail which is sent again is recognised by it.
///
/// | answer | outcome |
/// |---|---|
/// | the mail is accepted | delivered; the server's last line is the reference |
/// | 421 or a broken connection on one that was kept, before the mail itself was sent | is offered again on a new one |
/// | no connection, no session (greeting, TLS, login); 421, 530, 534, 535 or 538 at any command | the provider is down |
/// | any other 4xx to the recipient | deferred: tried again, and it says nothing of the server |
/// | any other 4xx; no answer in time or a broken connection before the mail itself was sent | transient: tried again |
/// | no answer in time or a broken connection after that | transient, and whether the mail was accepted is unknown |
/// | any other 5xx to the sender, the recipient or the mail; an address that is none | permanent: refused for good |
///
/// A file is fetched from its URL when the mail is sent, within the bounds of [`AttachmentConfig`](crate::AttachmentConfig). One that is refused or too
/// long refuses the mail for good; while its server is out of reach the mail is tried again, and that says nothing against the SMTP server.
pub struct SmtpChannel {
    connections: Connections,
    attachments: Attachments,
    from: Mailbox,
    config: SmtpConfig,
}

impl SmtpChannel {
    /// A provider with connections of its own; refuses what [`SmtpConfig::check`] refuses.
    pub fn new(config: SmtpConfig) -> Result<Self, Invalid> {
        config.check()?;
        let attachments = Attachments::new(config.attachments.clone())?;
        Ok(Self { connections: Connections::new(&config)?, attachments, from: config.sender()?, config })
    }

    /// Waits for the server, and for the files that go with a mail, by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.attachments.time_by(Arc::clone(&timer));
        self.connections.timer = timer;
        self
    }

    async fn send(&self, mail: &Message) -> Result<Response, DeliveryError> {
        let deadline = &Deadline::after(self.config.timeout, &self.connections.timer);
        let bytes = mail.formatted();
        let mut connection = match self.offer_on_kept(mail, &bytes, deadline).await? {
            Some(kept) => kept,
            None => self.offer_on_fresh(mail, &bytes, deadline).await?,
        };
        let sent = deadline.within(send(&mut connection, &bytes)).await;
        let sent = sent.ok_or_else(|| DeliveryError::unknown(self.late("no answer from")))?;
        let sent = sent.map_err(|refusal| self.judge(refusal, mail))?;
        self.connections.keep(connection);
        Ok(sent)
    }

    /// The kept connection on which the server takes the offer; none if there is none, or if the server is done with it. That says nothing of the
    /// server, and nothing of the mail was sent.
    async fn offer_on_kept(
        &self,
        mail: &Message,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Option<AsyncSmtpConnection>, DeliveryError> {
        let kept = deadline.within(self.connections.kept()).await.unwrap_or_default();
        let Some(mut kept) = kept else { return Ok(None) };
        match self.offer(&mut kept, mail, bytes, deadline).await? {
            Ok(()) => Ok(Some(kept)),
            Err(refusal) if refusal.ends_connection() => Ok(None),
            Err(refusal) => Err(self.judge(refusal, mail)),
        }
    }

    async fn offer_on_fresh(
        &self,
        mail: &Message,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<AsyncSmtpConnection, DeliveryError> {
        let session = deadline.within(self.connections.fresh()).await;
        let session = session.ok_or_else(|| DeliveryError::down(self.late("no session with")))?;
        let mut fresh = session.map_err(|e| DeliveryError::down(self.said(&e, mail)))?;
        let offered = self.offer(&mut fresh, mail, bytes, deadline).await?;
        offered.map_err(|refusal| self.judge(refusal, mail)).map(|()| fresh)
    }

    async fn offer(
        &self,
        connection: &mut AsyncSmtpConnection,
        mail: &Message,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<(), Refusal>, DeliveryError> {
        let offered = deadline.within(offer(connection, mail.envelope(), bytes)).await;
        offered.ok_or_else(|| DeliveryError::transient(self.late("no answer from")))
    }

    fn late(&self, what: &str) -> String {
        format!("{what} {} within {:?}", self.config.server, self.config.timeout)
    }

    fn judge(&self, refusal: Refusal, mail: &Message) -> DeliveryError {
        let reply = |error: &Error| error.status().map(|code| Answer::of_smtp_reply(code.into()));
        match refusal {
            Refusal::Recipient(e) if reply(&e) == Some(Answer::LATER) => {
                DeliveryError::deferred(self.said(&e, mail))
            }
            Refusal::Offer(e) | Refusal::Recipient(e) => {
                DeliveryError::of(reply(&e).unwrap_or(Answer::LATER), self.said(&e, mail), None)
            }
            Refusal::Mail(e) => {
                DeliveryError::of(reply(&e).unwrap_or(Answer::LOST), self.said(&e, mail), None)
            }
            Refusal::Unsupported(why) => DeliveryError::permanent(format!("{}: {why}", self.config.server)),
        }
    }

    /// What went wrong; a person reads it, so it names the server and leaves the addresses out.
    fn said(&self, error: &Error, mail: &Message) -> String {
        format!("{}: {}", self.config.server, without_recipients(error, mail))
    }
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

#[async_trait]
impl ChannelProvider for SmtpChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let files = self.attachments.fetch(&message.content.attachments).await?;
        let mail = letter(&self.from, message, &files)?;
        let answer = self.send(&mail).await?;
        Ok(Delivered { reference: answer.first_line().map(str::to_owned) })
    }
}

impl fmt::Debug for SmtpChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
