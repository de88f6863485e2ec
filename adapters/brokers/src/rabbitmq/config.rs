use std::{
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use claimstream_domain::Invalid;
use claimstream_ports::{Deadline, Timer};
use claimstream_tokio::TokioTimer;
use lapin::{
    Connection, ConnectionProperties, ErrorKind,
    uri::{AMQPScheme, AMQPUri, AMQPUserInfo},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::no_connection::NoConnection;

/// Where a RabbitMQ is, and how long it is waited for; its password is never shown.
#[derive(Clone)]
pub struct RabbitMqConfig {
    uri: AMQPUri,
    timeout: Duration,
    timer: Arc<dyn Timer>,
    /// Whether the last attempt to connect had no answer.
    was_silent: Arc<AtomicBool>,
}

impl RabbitMqConfig {
    /// How long a call waits for a connection, and for a confirmation, by default.
    pub const TIMEOUT: Duration = Duration::from_secs(4);

    const FORMS: &str = "like amqp://user:password@host:5672/virtual-host, where the virtual host `/` is written `%2f` or left out";

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(url: &str) -> Result<Self, Invalid> {
        let uri: AMQPUri = url.trim().parse().map_err(|_| Self::refused("no URL of a RabbitMQ"))?;
        if uri.scheme == AMQPScheme::AMQPS && !cfg!(feature = "tls") {
            return Err(Self::refused("a URL with TLS, which this program is built without"));
        }
        let timer = Arc::new(TokioTimer::new());
        Ok(Self { uri, timeout: Self::TIMEOUT, timer, was_silent: Arc::default() })
    }

    /// The same configuration with this timeout of a call.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same configuration, waited for by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Logs in as this user, whatever the URL says.
    pub fn with_login(mut self, user: &str, password: &str) -> Self {
        self.uri.authority.userinfo =
            AMQPUserInfo { username: user.to_owned(), password: password.to_owned() };
        self
    }

    fn refused(given: &str) -> Invalid {
        Invalid::OutOfRange { what: "rabbitmq", given: given.into(), allowed: Self::FORMS.into() }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn timer(&self) -> &Arc<dyn Timer> {
        &self.timer
    }

    /// Until when an answer to what is sent now is waited for.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout, &self.timer)
    }

    /// A new connection, or why there is none.
    pub(super) async fn connect(&self, name: &'static str) -> Result<Connection, NoConnection> {
        let silence = || {
            NoConnection::away(format_args!("cannot connect to {self}: no answer within {:?}", self.timeout))
        };
        if self.was_silent.load(Relaxed) {
            // The attempt that follows says better what is wrong.
            let _ = self.deadline().within(greet(&self.uri)).await.ok_or_else(silence)?;
        }
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let attempt = ConnectAttempt { was_silent: Arc::clone(&self.was_silent), ended: false };
        let connecting = Connection::connect_uri(self.uri.clone(), properties);
        let connected = self.deadline().within(connecting).await;
        attempt.end(connected.is_some());
        match connected.ok_or_else(silence)? {
            Ok(connection) => Ok(connection),
            Err(error) if is_refusal(&error) => {
                Err(NoConnection::refused(format_args!("{self} refuses the login: {error}")))
            }
            Err(error) => Err(NoConnection::away(format_args!("cannot connect to {self}: {error}"))),
        }
    }
}

/// An attempt to connect. The client never ends one whose peer takes the connection and says nothing, although its caller has given up: each keeps
/// a thread and a socket. So behind one that did not end, the peer has to say something first.
struct ConnectAttempt {
    was_silent: Arc<AtomicBool>,
    ended: bool,
}

impl ConnectAttempt {
    fn end(mut self, has_answered: bool) {
        self.ended = has_answered;
    }
}

impl Drop for ConnectAttempt {
    /// Also where the call is cancelled.
    fn drop(&mut self) {
        self.was_silent.store(!self.ended, Relaxed);
    }
}

/// Greets the peer on a connection that can be dropped at any time, and waits until it says anything or hangs up.
async fn greet(uri: &AMQPUri) -> std::io::Result<()> {
    let mut peer = TcpStream::connect((uri.authority.host.as_str(), uri.authority.port)).await?;
    peer.write_all(b"AMQP\0\0\x09\x01").await?;
    peer.read(&mut [0]).await.map(|_| ())
}

/// Whether the broker does not let this user in, or not into this virtual host.
fn is_refusal(error: &lapin::Error) -> bool {
    const ACCESS_REFUSED: u16 = 403;
    const NOT_ALLOWED: u16 = 530;
    let ErrorKind::ProtocolError(said) = error.kind() else { return false };
    matches!(said.get_id(), ACCESS_REFUSED | NOT_ALLOWED)
}

impl FromStr for RabbitMqConfig {
    type Err = Invalid;

    fn from_str(url: &str) -> Result<Self, Invalid> {
        Self::new(url)
    }
}

impl fmt::Display for RabbitMqConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AMQPUri { scheme, authority, vhost, .. } = &self.uri;
        write!(f, "{scheme}://{}:{}/", authority.host, authority.port)?;
        f.write_str(if vhost == "/" { "" } else { vhost })
    }
}

impl fmt::Debug for RabbitMqConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        let config = RabbitMqConfig::new("amqp://app:hunter2@rabbit:5673/shop").unwrap();
        assert_eq!(format!("{config} {config:?}"), "amqp://rabbit:5673/shop amqp://rabbit:5673/shop");
        assert_eq!(RabbitMqConfig::new("amqp://rabbit").unwrap().to_string(), "amqp://rabbit:5672/");
        let other = config.with_login("app", "other");
        assert_eq!(other.uri.authority.userinfo.password, "other");
        assert!(!format!("{other:?}").contains("other"));
    }

    #[test]
    fn what_is_refused_is_not_repeated() {
        for bad in ["hunter2", "http://hunter2", "amqp:hunter2", "amqp://a:hunter2@b:port"] {
            let why = RabbitMqConfig::new(bad).unwrap_err().to_string();
            assert!(!why.contains("hunter2") && why.contains("like amqp://"), "{why}");
        }
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_is_refused_by_a_program_without_it() {
        let why = RabbitMqConfig::new("amqps://rabbit").unwrap_err().to_string();
        assert!(why.contains("built without"), "{why}");
    }
}
