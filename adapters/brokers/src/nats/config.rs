use std::{fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use async_nats::{ConnectOptions, ServerAddr};
use claimstream_domain::Invalid;
use claimstream_ports::Timer;
use claimstream_tokio::TokioTimer;
use percent_encoding::percent_decode_str;
use url::Url;

/// Where NATS is, and how to log in there; secrets are never shown.
///
/// `nats://host:4222`, or several servers of one cluster: `nats://host:4222,host:4222`. `tls://` refuses a connection without TLS.
#[derive(Clone)]
pub struct NatsConfig {
    pub(super) servers: Vec<ServerAddr>,
    login: NatsLogin,
    certificates: Option<PathBuf>,
    pub(super) timer: Arc<dyn Timer>,
    /// Whether the client, whose clock is tokio's, has limits of its own.
    is_client_limited: bool,
}

/// How a client logs in.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum NatsLogin {
    /// It does not.
    #[default]
    None,
    /// By a user and a password.
    User {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// By a token.
    Token(String),
}

impl NatsConfig {
    const FORMS: &str = "like nats://host:4222, nats://host:4222,host:4222 or tls://host:4222";

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = text.trim().split_once("://").ok_or_else(|| Self::refused("no URL"))?;
        if !matches!(scheme, "nats" | "tls") {
            return Err(Self::refused("a URL of something else"));
        }
        let servers: Vec<_> =
            Self::urls(scheme, rest).map(|url| Self::server(&url)).collect::<Result<_, _>>()?;
        let login = servers.first().map(Self::login_of).unwrap_or_default();
        let timer = Arc::new(TokioTimer::new());
        Ok(Self { servers, login, certificates: None, timer, is_client_limited: true })
    }

    /// Logs in so, whatever the URL says.
    pub fn with_login(mut self, login: NatsLogin) -> Self {
        self.login = login;
        self
    }

    /// Trusts the certificates of this PEM file too.
    pub fn with_certificates(mut self, pem: PathBuf) -> Self {
        self.certificates = Some(pem);
        self
    }

    /// Waits for answers by this timer, in place of tokio's clock. Making a connection keeps the client's own limit of two seconds.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self.is_client_limited = false;
        self
    }

    /// `user:password@a:1,b:2` as a URL for each server, each with the user.
    fn urls(scheme: &str, rest: &str) -> impl Iterator<Item = String> {
        let (login, hosts) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
        hosts.trim_end_matches('/').split(',').map(move |host| format!("{scheme}://{login}{host}"))
    }

    fn server(url: &str) -> Result<ServerAddr, Invalid> {
        let url: Url = url.parse().map_err(|_| Self::refused("a URL that cannot be understood"))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(Self::refused("a URL without a host"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(Self::refused("a URL with more than a host and a port"));
        }
        ServerAddr::from_url(url).map_err(|_| Self::refused("a URL that cannot be understood"))
    }

    /// What a URL says before its host: a user with a password, or a token. The client itself sends neither.
    fn login_of(server: &ServerAddr) -> NatsLogin {
        let text = |encoded: &str| percent_decode_str(encoded).decode_utf8_lossy().into_owned();
        match (server.username(), server.password()) {
            (Some(user), Some(password)) => NatsLogin::User { user: text(user), password: text(password) },
            (Some(token), None) => NatsLogin::Token(text(token)),
            (None, _) => NatsLogin::None,
        }
    }

    fn refused(given: &str) -> Invalid {
        Invalid::OutOfRange { what: "nats", given: given.into(), allowed: Self::FORMS.into() }
    }

    /// How long the client itself may wait for an answer that takes no longer than `limit`.
    pub(super) fn client_limit(&self, limit: Duration) -> Duration {
        if self.is_client_limited { limit } else { Duration::MAX }
    }

    /// The options of a connection to here.
    pub(super) fn options(&self) -> ConnectOptions {
        let options = ConnectOptions::new().name("claimstream");
        let options = match self.login.clone() {
            NatsLogin::None => options,
            NatsLogin::User { user, password } => options.user_and_password(user, password),
            NatsLogin::Token(token) => options.token(token),
        };
        match &self.certificates {
            Some(pem) => options.add_root_certificates(pem.clone()),
            None => options,
        }
    }
}

impl FromStr for NatsConfig {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for NatsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.servers.iter().map(|server| match server.host() {
            host if host.contains(':') => format!("[{host}]:{}", server.port()),
            host => format!("{host}:{}", server.port()),
        });
        let scheme = self.servers.first().map_or("nats", |server| server.scheme());
        write!(f, "{scheme}://{}", hosts.collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for NatsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for NatsLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::User { user, .. } => write!(f, "User({user}, ***)"),
            Self::Token(_) => f.write_str("Token(***)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        let config = NatsConfig::new("nats://app:hunter2@one:4222,two").unwrap();
        assert_eq!((config.to_string().as_str(), config.servers.len()), ("nats://one:4222,two:4222", 2));
        assert!(config.servers.iter().all(ServerAddr::has_user_pass));
        assert_eq!(NatsConfig::new("tls://[::1]:4223/").unwrap().to_string(), "tls://[::1]:4223");
        let login = NatsLogin::User { user: "app".into(), password: "hunter2".into() };
        let shown = format!("{login:?} {:?} {config:?}", NatsLogin::Token("hunter2".into()));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_url_may_hold_the_login() {
        let login = |text: &str| NatsConfig::new(text).unwrap().login;
        let user = NatsLogin::User { user: "app".into(), password: "a/b".into() };
        assert!(login("nats://app:a%2Fb@one:4222,two") == user);
        assert!(login("nats://t0ken@one") == NatsLogin::Token("t0ken".into()));
        assert!(login("nats://one") == NatsLogin::None);
        assert!(
            NatsConfig::new("nats://app:b@one").unwrap().with_login(NatsLogin::None).login == NatsLogin::None
        );
    }

    #[test]
    fn what_is_no_place_is_refused_and_not_repeated() {
        for bad in
            ["", "host:4222", "http://hunter2@host", "nats://", "nats://hunter2@host/queue", "nats://a,,b"]
        {
            let why = NatsConfig::new(bad).unwrap_err().to_string();
            assert!(why.contains("like nats://host:4222") && !why.contains("hunter2"), "{bad}: {why}");
        }
    }
}
