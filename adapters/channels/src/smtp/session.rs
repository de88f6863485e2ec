use std::{io, time::Duration};

use claimstream_domain::notification::SmtpStage;
use lettre::transport::smtp::{client::AsyncSmtpConnection, extension::ClientId};
use tokio::{net::TcpStream, time::timeout};

use super::{ascii_replies::AsciiReplies, dialogue::Refusal, server::SmtpServer};
#[cfg(feature = "tls")]
use super::{encryption::Encryption, server::Security};

/// Opens a session: connects, encrypts as the server's URL says, and exchanges greetings.
///
/// What the server replies reaches the client in ASCII, because lettre takes a reply in another charset for a broken connection, and a mail whose
/// acceptance came in such a reply would be sent again.
pub(super) async fn open(
    server: &SmtpServer,
    hello: &ClientId,
    connect_timeout: Duration,
    #[cfg(feature = "tls")] encryption: Option<&Encryption>,
) -> Result<AsyncSmtpConnection, Refusal> {
    let failed = |error: io::Error| Refusal::unanswered(SmtpStage::Session, error.to_string());
    let connecting = timeout(connect_timeout, TcpStream::connect((server.host.as_str(), server.port)));
    let stream = match connecting.await {
        Ok(connected) => connected.map_err(|error| failed(no_connection(&error)))?,
        Err(_) => return Err(failed(io::Error::other(format!("no connection within {connect_timeout:?}")))),
    };
    stream.set_nodelay(true).map_err(failed)?;
    #[cfg(feature = "tls")]
    let transport: Box<dyn lettre::transport::smtp::client::AsyncTokioStream> = match encryption {
        None => Box::new(AsciiReplies::new(stream)),
        Some(encryption) if server.security == Security::StartTls => {
            let granted = super::starttls::ask(stream, hello).await?;
            Box::new(AsciiReplies::greeting(encryption.wrap(granted).await.map_err(failed)?))
        }
        Some(encryption) => Box::new(AsciiReplies::new(encryption.wrap(stream).await.map_err(failed)?)),
    };
    #[cfg(not(feature = "tls"))]
    let transport = Box::new(AsciiReplies::new(stream));
    let session = AsyncSmtpConnection::connect_with_transport(transport, hello).await;
    session.map_err(|error| Refusal::of(SmtpStage::Session, &error))
}

fn no_connection(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no connection: {error}"))
}
