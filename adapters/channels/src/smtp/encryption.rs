use std::{io, net::SocketAddr, sync::Arc};

use claimstream_domain::Invalid;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    ascii_replies::HasPeer,
    server::{Security, SmtpServer},
};
use crate::tls::client_config;

/// Encrypts connections to one server.
#[derive(Clone)]
pub(super) struct Encryption {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Encryption {
    /// What a server's URL asks for; none if it is spoken to in the clear.
    pub(super) fn of(server: &SmtpServer) -> Result<Option<Self>, Invalid> {
        if server.security == Security::Plain {
            return Ok(None);
        }
        let refused = |why: String| Invalid::Contradiction(format!("{server} cannot be spoken to: {why}"));
        let config = client_config().map_err(|e| refused(e.to_string()))?;
        let name = ServerName::try_from(server.host.clone()).map_err(|e| refused(e.to_string()))?;
        Ok(Some(Self { connector: TlsConnector::from(Arc::new(config)), name }))
    }

    pub(super) async fn wrap(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

impl HasPeer for TlsStream<TcpStream> {
    fn peer(&self) -> io::Result<SocketAddr> {
        self.get_ref().0.peer_addr()
    }
}
