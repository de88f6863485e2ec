use std::time::Duration;

use async_nats::{
    Client, ConnectErrorKind, Event,
    jetstream::{Context, context::ContextBuilder},
};
use tokio::sync::watch;

use claimstream_ports::Deadline;

use super::NatsConfig;
use crate::{no_connection::NoConnection, shared::Shared};

/// The way to NATS: one client, made when it is needed, that connects again by itself for a while.
#[derive(Default)]
pub(super) struct NatsClient(Shared<Session, NoConnection>);

/// A client, and how its connection stands.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) context: Context,
    pub(super) standing: watch::Receiver<ConnectionStatus>,
}

/// How a connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ConnectionStatus {
    is_up: bool,
    /// How often it was lost.
    pub(super) lost: u64,
    /// Whether the client has ended for good.
    is_closed: bool,
}

impl NatsClient {
    /// How long a call waits for a connection that was lost, and how long making one may take.
    const TIMEOUT: Duration = Duration::from_secs(2);
    /// The longest wait between two tries to connect again.
    const AGAIN: Duration = Duration::from_millis(250);
    /// How often it is tried to connect again: for about five minutes. A delivery in hand is finished through the client that brought it, so it
    /// outlives the restart of a server; a client without a limit would try on after its last user has dropped it.
    const TRIES: usize = 1_200;
    /// How many messages of all calls may wait for answers. A call sends all of its own before it reads an answer, so calls that reach this
    /// number together would wait for each other.
    const UNANSWERED: usize = 1_000_000;
    /// How often a silent connection is asked whether it is still one.
    const PING: Duration = Duration::from_secs(5);

    /// A client with a connection, or why there is none.
    pub(super) async fn session(
        &self,
        config: &NatsConfig,
        answer_within: Duration,
    ) -> Result<Session, NoConnection> {
        let session = self.0.get(Session::is_alive, Session::begin(config, answer_within)).await?;
        let mut standing = session.standing.clone();
        let deadline = Deadline::after(Self::TIMEOUT, &config.timer);
        match deadline.within(standing.wait_for(|standing| standing.is_up)).await {
            Some(Ok(_)) => Ok(session),
            _ => Err(NoConnection::away(format_args!("{config} has no connection at the moment"))),
        }
    }
}

impl Session {
    async fn begin(config: &NatsConfig, answer_within: Duration) -> Result<Self, NoConnection> {
        let (change, standing) =
            watch::channel(ConnectionStatus { is_up: true, ..ConnectionStatus::default() });
        let client = connect(config, change, NatsClient::TRIES).await;
        let client = client.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                NoConnection::refused(format_args!("{config} refuses the login: {error}"))
            }
            _ => NoConnection::away(format_args!("{config} cannot be reached: {error}")),
        })?;
        let context = ContextBuilder::new().timeout(config.client_limit(answer_within));
        let context = context.max_ack_inflight(NatsClient::UNANSWERED);
        let context = context.build(client);
        Ok(Self { context, standing })
    }

    /// Whether the client still works, or at least tries to connect.
    fn is_alive(&self) -> bool {
        self.standing.has_changed().is_ok() && !self.standing.borrow().is_closed
    }
}

async fn connect(
    config: &NatsConfig,
    change: watch::Sender<ConnectionStatus>,
    tries: usize,
) -> Result<Client, async_nats::ConnectError> {
    let again = |tries: usize| {
        let doublings = u32::try_from(tries.min(16)).unwrap_or_default();
        (Duration::from_millis(1) * 2_u32.pow(doublings)).min(NatsClient::AGAIN)
    };
    let options = config.options().connection_timeout(NatsClient::TIMEOUT);
    let options = options.max_reconnects(tries);
    let options = options.ping_interval(NatsClient::PING);
    let options = options.reconnect_delay_callback(again).event_callback(move |event| {
        change.send_modify(|standing| standing.note(&event));
        std::future::ready(())
    });
    options.connect(config.servers.clone()).await
}

impl ConnectionStatus {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Connected => self.is_up = true,
            Event::Disconnected => (self.is_up, self.lost) = (false, self.lost + 1),
            Event::Closed => (self.is_up, self.is_closed) = (false, true),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    const ANSWER_WITHIN: Duration = Duration::from_secs(1);

    /// Takes a connection, and gives this answer to its login.
    async fn answered(listener: &TcpListener, answer: &str) -> TcpStream {
        let (mut client, _) = listener.accept().await.unwrap();
        let info = r#"INFO {"server_id":"S","version":"2.10.0","auth_required":true,"max_payload":1048576}"#;
        client.write_all(format!("{info}\r\n").as_bytes()).await.unwrap();
        assert!(client.read(&mut [0; 4096]).await.unwrap() > 0);
        client.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
        client
    }

    const REFUSAL: &str = "-ERR 'Authorization Violation'";

    /// Guard: a client that is refused when it connects again ends | src/nats/client.rs `connect`: no `max_reconnects`
    #[tokio::test]
    async fn a_client_whose_login_is_refused_from_now_on_ends() {
        const TRIES: usize = 5;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = NatsConfig::new(&format!("nats://{}", listener.local_addr().unwrap())).unwrap();
        let (change, mut standing) = watch::channel(ConnectionStatus::default());
        let (client, connection) = tokio::join!(connect(&config, change, TRIES), answered(&listener, "PONG"));
        let _client = client.unwrap();
        drop(connection);
        let mut tries = 0;
        let refusing = async {
            while tries <= 2 * TRIES {
                drop(answered(&listener, REFUSAL).await);
                tries += 1;
            }
        };
        let ended = async { while standing.changed().await.is_ok() {} };
        tokio::select! {
            () = refusing => {}
            () = ended => {}
        }
        assert!(tries <= TRIES, "it was tried {tries} times");
    }

    #[tokio::test]
    async fn a_login_that_is_refused_is_no_broker_that_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = NatsConfig::new(&format!("nats://{}", listener.local_addr().unwrap())).unwrap();
        let client = NatsClient::default();
        let (session, _) = tokio::join!(client.session(&config, ANSWER_WITHIN), answered(&listener, REFUSAL));
        assert!(matches!(session, Err(NoConnection::Refused(_))));
        drop(listener);
        let gone = client.session(&config, ANSWER_WITHIN).await;
        assert!(matches!(gone, Err(NoConnection::Away(_))));
    }
}
