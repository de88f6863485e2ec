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

/// Why a mail was not taken, by how far its dialogue had come.
pub(super) enum Refusal {
    /// The other side, or nobody, answered before the mail itself was sent: it cannot have been accepted.
    Offer(Error),
    /// The same, of the recipient.
    Recipient(Error),
    /// The mail was sent, whole or in part.
    Mail(Error),
    /// It needs what the server does not know.
    Unsupported(&'static str),
}

impl Refusal {
    /// Whether the server wants no more on this connection, or the connection has broken, before anything of the mail was sent.
    pub(super) fn ends_connection(&self) -> bool {
        const CLOSING: u16 = 421;
        match self {
            Self::Offer(error) | Self::Recipient(error) => {
                error.status().is_none_or(|code| u16::from(code) == CLOSING)
            }
            Self::Mail(_) | Self::Unsupported(_) => false,
        }
    }
}

/// Offers one mail: names its sender and its recipients. Nothing of the mail itself is sent.
pub(super) async fn offer(
    connection: &mut AsyncSmtpConnection,
    envelope: &Envelope,
    mail: &[u8],
) -> Result<(), Refusal> {
    let mut parameters = Vec::new();
    let knows = |extension| connection.server_info().supports_feature(extension);
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    if !addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
        if !knows(Extension::SmtpUtfEight) {
            return Err(Refusal::Unsupported(
                "an address is not ASCII, and the server does not know SMTPUTF8",
            ));
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !mail.is_ascii() {
        if !knows(Extension::EightBitMime) {
            return Err(Refusal::Unsupported("the mail is not ASCII, and the server does not know 8BITMIME"));
        }
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let sender = Mail::new(envelope.from().cloned(), parameters);
    connection.command(sender).await.map_err(Refusal::Offer)?;
    for to in envelope.to() {
        connection.command(Rcpt::new(to.clone(), vec![])).await.map_err(Refusal::Recipient)?;
    }
    connection.command(Data).await.map_err(Refusal::Offer)?;
    Ok(())
}

/// Sends the mail that was offered.
pub(super) async fn send(connection: &mut AsyncSmtpConnection, mail: &[u8]) -> Result<Response, Refusal> {
    connection.message(mail).await.map_err(Refusal::Mail)
}
