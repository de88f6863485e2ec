use std::error::Error as _;

use claimstream_domain::notification::SmtpStage;
use lettre::{
    address::Envelope,
    transport::smtp::{
        Error,
        client::AsyncSmtpConnection,
        commands::{Data, Mail, Rcpt},
        extension::{Extension, MailBodyParameter, MailParameter},
        response::Response,
    },
};

/// Why a mail was not taken.
#[derive(Debug)]
pub(super) struct SmtpRefusal {
    /// How far its dialogue had come.
    pub(super) stage: SmtpStage,
    /// The code of the server's reply; none if it did not reply, or not in a way that can be read.
    pub(super) code: Option<u16>,
    /// The text of the reply, or what went wrong.
    pub(super) text: String,
    /// Whether the mail needs what the server does not know, and was not offered.
    pub(super) is_unsupported: bool,
}

impl SmtpRefusal {
    pub(super) fn of(stage: SmtpStage, error: &Error) -> Self {
        let code = error.status().map(u16::from);
        let text = match (code, error.source()) {
            (Some(_), Some(text)) => text.to_string(),
            _ => error.to_string(),
        };
        Self { stage, code, text, is_unsupported: false }
    }

    /// Nothing was answered that could be read.
    pub(super) fn unanswered(stage: SmtpStage, text: impl Into<String>) -> Self {
        Self { stage, code: None, text: text.into(), is_unsupported: false }
    }

    fn unsupported(text: &str) -> Self {
        Self { is_unsupported: true, ..Self::unanswered(SmtpStage::Sender, text) }
    }

    /// Whether the server wants no more on this connection, or the connection has broken, before anything of the mail was sent.
    pub(super) fn ends_connection(&self) -> bool {
        const CLOSING: u16 = 421;
        self.stage != SmtpStage::End && !self.is_unsupported && self.code.is_none_or(|code| code == CLOSING)
    }
}

/// Offers one mail: names its sender and its recipients. Nothing of the mail itself is sent.
pub(super) async fn offer(
    connection: &mut AsyncSmtpConnection,
    envelope: &Envelope,
    mail: &[u8],
) -> Result<(), SmtpRefusal> {
    let mut parameters = Vec::new();
    let knows = |extension| connection.server_info().supports_feature(extension);
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    if !addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
        if !knows(Extension::SmtpUtfEight) {
            let why = "an address is not ASCII, and the server does not know SMTPUTF8";
            return Err(SmtpRefusal::unsupported(why));
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !mail.is_ascii() {
        if !knows(Extension::EightBitMime) {
            let why = "the mail is not ASCII, and the server does not know 8BITMIME";
            return Err(SmtpRefusal::unsupported(why));
        }
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let at = |stage| move |error: Error| SmtpRefusal::of(stage, &error);
    let sender = Mail::new(envelope.from().cloned(), parameters);
    connection.command(sender).await.map_err(at(SmtpStage::Sender))?;
    for to in envelope.to() {
        connection.command(Rcpt::new(to.clone(), vec![])).await.map_err(at(SmtpStage::Recipient))?;
    }
    connection.command(Data).await.map_err(at(SmtpStage::Data))?;
    Ok(())
}

/// Sends the mail that was offered.
pub(super) async fn send(connection: &mut AsyncSmtpConnection, mail: &[u8]) -> Result<Response, SmtpRefusal> {
    connection.message(mail).await.map_err(|error| SmtpRefusal::of(SmtpStage::End, &error))
}
