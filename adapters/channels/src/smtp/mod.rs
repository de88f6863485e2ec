mod ascii_replies;
mod config;
mod connections;
mod dialogue;
mod email;
#[cfg(feature = "tls")]
mod encryption;
mod fetched_files;
mod line_ends;
mod parts;
mod server;
mod session;
#[cfg(feature = "tls")]
mod starttls;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{AnswerTable, Judgement, NotificationMessage, ProviderAnswer, SmtpStage},
};
use claimstream_ports::{
    Deadline, Timer,
    notification::{ChannelProvider, Delivered, DeliveryError, Prepared},
};
use lettre::{Message, message::Mailbox, transport::smtp::client::AsyncSmtpConnection};

use self::{
    connections::Connections,
    dialogue::{SmtpRefusal, offer, send},
    email::email,
    fetched_files::{FetchedFiles, MailFiles},
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
/// | any other reply | by [`AnswerTable::smtp`], unless a row of [`SmtpConfig::answers`] says more |
/// | no reply, no connection | by [`SmtpStage::unanswered`] |
/// | an address that is none | permanent: refused for good |
///
/// A file is fetched from its URL before the mail server is asked, within the bounds of [`AttachmentConfig`](crate::AttachmentConfig). One that is refused or too
/// long refuses the mail for good; while its server is out of reach the mail is tried again, and that says nothing against the SMTP server.
pub struct SmtpChannel {
    connections: Connections,
    attachments: Attachments,
    fetched: FetchedFiles,
    from: Mailbox,
    config: SmtpConfig,
}

impl SmtpChannel {
    /// A provider with connections of its own; refuses what [`SmtpConfig::check`] refuses.
    pub fn new(config: SmtpConfig) -> Result<Self, Invalid> {
        config.check()?;
        let attachments = Attachments::new(config.attachments.clone())?;
        let (connections, from) = (Connections::new(&config)?, config.sender()?);
        Ok(Self { connections, attachments, fetched: FetchedFiles::default(), from, config })
    }

    /// Waits for the server, and for the files that go with a mail, by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.attachments.time_by(Arc::clone(&timer));
        self.connections.timer = timer;
        self
    }

    async fn fetch(&self, message: &NotificationMessage) -> Result<MailFiles, DeliveryError> {
        Ok(self.attachments.fetch(&message.content.attachments).await?.into())
    }

    async fn send(&self, mail: &Message) -> Result<Delivered, DeliveryError> {
        let deadline = &Deadline::after(self.config.timeout, &self.connections.timer);
        let bytes = mail.formatted();
        let mut connection = match self.offer_on_kept(mail, &bytes, deadline).await? {
            Some(kept) => kept,
            None => self.offer_on_fresh(mail, &bytes, deadline).await?,
        };
        let end = Deadline::after(self.config.end_timeout, &self.connections.timer);
        let sent = end.within(send(&mut connection, &bytes)).await;
        let sent =
            sent.unwrap_or_else(|| Err(self.late(SmtpStage::End, "no answer from", self.config.end_timeout)));
        match sent {
            Ok(reply) => {
                self.connections.keep(connection);
                Ok(Delivered { reference: reply.first_line().map(str::to_owned) })
            }
            Err(refusal) => self.judge(refusal, mail),
        }
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
            Err(refusal) => Err(self.refuse(refusal, mail)),
        }
    }

    async fn offer_on_fresh(
        &self,
        mail: &Message,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<AsyncSmtpConnection, DeliveryError> {
        let session = deadline.within(self.connections.fresh()).await;
        let late = || Err(self.late(SmtpStage::Session, "no session with", self.config.timeout));
        let mut fresh = session.unwrap_or_else(late).map_err(|refusal| self.refuse(refusal, mail))?;
        let offered = self.offer(&mut fresh, mail, bytes, deadline).await?;
        offered.map_err(|refusal| self.refuse(refusal, mail)).map(|()| fresh)
    }

    async fn offer(
        &self,
        connection: &mut AsyncSmtpConnection,
        mail: &Message,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<(), SmtpRefusal>, DeliveryError> {
        let offered = deadline.within(offer(connection, mail.envelope(), bytes)).await;
        let late = || self.late(SmtpStage::Sender, "no answer from", self.config.timeout);
        offered.ok_or_else(|| self.refuse(late(), mail))
    }

    fn late(&self, stage: SmtpStage, what: &str, timeout: Duration) -> SmtpRefusal {
        SmtpRefusal::unanswered(stage, format!("{what} {} within {timeout:?}", self.config.server))
    }

    /// What a refusal means. A row of the settings may take one behind the mail for a delivery.
    fn judge(&self, refusal: SmtpRefusal, mail: &Message) -> Result<Delivered, DeliveryError> {
        let text = without_recipients(&refusal.text, mail);
        let judgement = match refusal.code {
            _ if refusal.is_unsupported => Judgement::MessageRefused,
            Some(code) => {
                let reply = ProviderAnswer::of_smtp(refusal.stage, code, &text);
                self.config.answers.judge_or(AnswerTable::smtp(), &reply)
            }
            None => refusal.stage.unanswered(),
        };
        // A person reads it, so it names the server and leaves the addresses out.
        let reason = match refusal.code {
            Some(code) => format!("{}: {code} {text}", self.config.server),
            None if text.contains(&self.config.server.to_string()) => text,
            None => format!("{}: {text}", self.config.server),
        };
        match judgement {
            Judgement::Delivered if refusal.stage == SmtpStage::End => Ok(Delivered::default()),
            _ => Err(DeliveryError::judged(judgement, reason, None)),
        }
    }

    fn refuse(&self, refusal: SmtpRefusal, mail: &Message) -> DeliveryError {
        let unknown = |_| DeliveryError::unknown(format!("no answer from {}", self.config.server));
        self.judge(refusal, mail).map_or_else(|error| error, unknown)
    }
}

/// What a server said, without the envelope's addresses, which it may repeat in other mails.
fn without_recipients(text: &str, mail: &Message) -> String {
    mail.envelope().to().iter().fold(text.to_owned(), |text, to| without(&text, to.as_ref()))
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
    async fn prepare(&self, message: &NotificationMessage) -> Result<Prepared, DeliveryError> {
        if message.content.attachments.is_empty() {
            return Ok(Prepared::default());
        }
        let files = self.fetch(message).await?;
        self.fetched.note(message.id, &files);
        Ok(Prepared::holding(files))
    }

    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let files = match self.fetched.of(message) {
            Some(files) => files,
            None => self.fetch(message).await?,
        };
        let mail = email(&self.from, message, &files)?;
        self.send(&mail).await
    }
}

impl fmt::Debug for SmtpChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
