use std::{io, time::Duration};

use claimstream_domain::notification::SmtpStage;
use lettre::transport::smtp::{client::AsyncSmtpConnection, extension::ClientId};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::{ascii_replies::AsciiReplies, dialogue::SmtpRefusal, server::SmtpServer};
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
) -> Result<AsyncSmtpConnection, SmtpRefusal> {
    let failed = |error: io::Error| SmtpRefusal::unanswered(SmtpStage::Session, error.to_string());
    let stream = connect(server, connect_timeout).await.map_err(failed)?;
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
    session.map_err(|error| SmtpRefusal::of(SmtpStage::Session, &error))
}

/// Connects to the first address of the host that answers; each has the timeout.
async fn connect(server: &SmtpServer, each: Duration) -> io::Result<TcpStream> {
    let late = || io::Error::other(format!("no connection within {each:?}"));
    let found = timeout(each, lookup_host((server.host.as_str(), server.port))).await;
    let mut last = late();
    for address in found.map_err(|_| late())?.map_err(|error| no_connection(&error))? {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = no_connection(&error),
            Err(_) => last = late(),
        }
    }
    Err(last)
}

fn no_connection(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no connection: {error}"))
}
