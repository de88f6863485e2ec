use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::{Invalid, notification::SmtpStage};
use claimstream_ports::{Deadline, Timer};
use claimstream_tokio::TokioTimer;
use lettre::transport::smtp::{
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::AsyncSmtpConnection,
    extension::ClientId,
};

#[cfg(feature = "tls")]
use super::encryption::Encryption;
use super::{config::SmtpConfig, dialogue::SmtpRefusal, server::SmtpServer, session};
/// Connections to one server, greeted, encrypted and logged in.
///
/// A connection belongs to the delivery that took it, and comes back only after a mail that was accepted. One that is
/// cut off in the middle of a dialogue is closed with its delivery: were it used again, the next mail would read the
/// answers that were meant for this one.
pub(super) struct Connections {
    server: SmtpServer,
    hello: ClientId,
    credentials: Option<Credentials>,
    connect_timeout: Duration,
    #[cfg(feature = "tls")]
    encryption: Option<Encryption>,
    pub(super) timer: Arc<dyn Timer>,
    /// Each since when it is idle, by the timer.
    idle: Mutex<Vec<(Duration, AsyncSmtpConnection)>>,
}

impl Connections {
    /// The most connections that are kept while no delivery needs them.
    const MAX_IDLE: usize = 8;
    /// How long a kept connection may take to say that it is one: much less than a delivery, which still needs a new one then.
    const ANSWER_WITHIN: Duration = Duration::from_secs(1);
    /// How long a connection is kept; servers close theirs after some minutes.
    const IDLE_TIME: Duration = Duration::from_secs(30);

    pub(super) fn new(config: &SmtpConfig) -> Result<Self, Invalid> {
        let credentials = config.credentials.as_ref();
        Ok(Self {
            server: config.server.clone(),
            hello: config.hello.clone().map(ClientId::Domain).unwrap_or_default(),
            credentials: credentials
                .map(|c| Credentials::new(c.user.clone(), c.password.reveal().to_owned())),
            connect_timeout: config.connect_timeout,
            #[cfg(feature = "tls")]
            encryption: Encryption::of(&config.server)?,
            timer: Arc::new(TokioTimer::new()),
            idle: Mutex::default(),
        })
    }

    /// A connection that was kept and still answers.
    pub(super) async fn kept(&self) -> Option<AsyncSmtpConnection> {
        while let Some(mut kept) = self.pop() {
            let deadline = Deadline::after(Self::ANSWER_WITHIN, &self.timer);
            match deadline.within(kept.test_connected()).await {
                Some(true) => return Some(kept),
                Some(false) => {}
                None => self.forget(),
            }
        }
        None
    }

    /// Closes all that are kept: one has ended without a sign, and they may have too.
    fn forget(&self) {
        // Untested: each test keeps one connection
        self.idle().clear();
    }

    /// A new connection that is ready for a mail.
    pub(super) async fn fresh(&self) -> Result<AsyncSmtpConnection, SmtpRefusal> {
        #[cfg(feature = "tls")]
        let opening =
            session::open(&self.server, &self.hello, self.connect_timeout, self.encryption.as_ref());
        #[cfg(not(feature = "tls"))]
        let opening = session::open(&self.server, &self.hello, self.connect_timeout);
        let mut connection = opening.await?;
        if let Some(credentials) = &self.credentials {
            let login = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            login.map_err(|error| SmtpRefusal::of(SmtpStage::Login, &error))?;
        }
        Ok(connection)
    }

    /// Keeps a connection whose last dialogue has ended well.
    pub(super) fn keep(&self, connection: AsyncSmtpConnection) {
        let mut idle = self.idle();
        if idle.len() < Self::MAX_IDLE {
            idle.push((self.timer.now(), connection));
        }
    }

    fn pop(&self) -> Option<AsyncSmtpConnection> {
        let (mut idle, now) = (self.idle(), self.timer.now());
        idle.retain(|(since, _)| now.saturating_sub(*since) < Self::IDLE_TIME);
        idle.pop().map(|(_, connection)| connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Duration, AsyncSmtpConnection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
