use std::{error::Error, fmt, net::IpAddr, sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid,
    notification::{AddressRule, Answer, RefusedAddress},
};
use claimstream_ports::{Deadline, Timer, notification::DeliveryError};
use claimstream_tokio::TokioTimer;
use reqwest::{Client, ClientBuilder, Request, redirect::Policy};

use super::{HttpAnswer, limited_resolver::LimitedResolver, root};
/// Sends requests, and says of every failure what it means. It follows no redirect.
pub(crate) struct HttpClient {
    client: Client,
    rule: Option<Arc<AddressRule>>,
    connect_timeout: Duration,
    /// Of a request, until the last byte of its answer.
    timeout: Duration,
    pub(crate) timer: Arc<dyn Timer>,
}

impl HttpClient {
    /// A client with connections of its own, for URLs that the operator wrote: they may lead anywhere.
    #[cfg(feature = "webhook")]
    pub(crate) fn new(
        connect_timeout: Duration,
        timeout: Duration,
        environment_proxies: bool,
    ) -> Result<Self, Invalid> {
        let builder = builder(connect_timeout).pool_idle_timeout(IDLE);
        let builder = if environment_proxies { builder } else { builder.no_proxy() };
        Ok(Self {
            client: built(builder)?,
            rule: None,
            connect_timeout,
            timeout,
            timer: Arc::new(TokioTimer::new()),
        })
    }

    /// A client for URLs that came from outside: each address that it connects to passes the rule.
    ///
    /// Only a proxy knows which address it connects to. So proxies are used only where private networks are open.
    pub(crate) fn limited(
        rule: &AddressRule,
        connect_timeout: Duration,
        timeout: Duration,
        environment_proxies: bool,
    ) -> Result<Self, Invalid> {
        let rule = Arc::new(rule.clone());
        let builder = builder(connect_timeout).pool_idle_timeout(IDLE_TO_MANY);
        let builder = builder.dns_resolver(Arc::new(LimitedResolver(Arc::clone(&rule))));
        let trusts_proxies = environment_proxies && *rule == AddressRule::Private;
        let builder = if trusts_proxies { builder } else { builder.no_proxy() };
        let (client, timer) = (built(builder)?, Arc::new(TokioTimer::new()));
        Ok(Self { client, rule: Some(rule), connect_timeout, timeout, timer })
    }

    /// What builds requests.
    pub(crate) fn requests(&self) -> &Client {
        &self.client
    }

    /// Sends a request once.
    pub(crate) async fn send(
        &self,
        to: &(dyn fmt::Display + Sync),
        request: Request,
    ) -> Result<HttpAnswer, DeliveryError> {
        let to = to.to_string();
        self.judge(&request).map_err(|why| out_of_bounds(&to, &why))?;
        let deadline = Deadline::after(self.timeout, &self.timer);
        match deadline.within(self.client.execute(request)).await {
            Some(Ok(response)) => Ok(HttpAnswer { response, deadline }),
            Some(Err(error)) => Err(self.unanswered(&to, &error)),
            None => {
                let why = format!("no answer from {to} within {:?}", self.timeout);
                Err(DeliveryError::of(Answer::LOST, why, None))
            }
        }
    }

    /// Judges a host that is an address; a name's addresses are judged when it is resolved.
    fn judge(&self, request: &Request) -> Result<(), RefusedAddress> {
        let Some(rule) = &self.rule else { return Ok(()) };
        let host = request.url().host_str().unwrap_or_default();
        host.trim_matches(['[', ']']).parse::<IpAddr>().map_or(Ok(()), |address| rule.judge(address))
    }

    /// Why no answer came; a person reads it, so it names the host and nothing that could be secret.
    fn unanswered(&self, to: &str, error: &reqwest::Error) -> DeliveryError {
        if let Some(why) = refused(error) {
            return out_of_bounds(to, why);
        }
        let reason = match error.is_connect() {
            true if error.is_timeout() => format!("no connection to {to} within {:?}", self.connect_timeout),
            true => format!("no connection to {to}: {}", root(error)),
            false => format!("the connection to {to} broke: {}", root(error)),
        };
        // What has no connection has sent nothing. All others may have left whole before they broke.
        let answer = if error.is_connect() { Answer::NO_SESSION } else { Answer::LOST };
        DeliveryError::of(answer, reason, None)
    }
}

/// The address that the rule refused, if that is why there is no connection.
fn refused(error: &reqwest::Error) -> Option<&RefusedAddress> {
    let mut inner: Option<&dyn Error> = Some(error);
    while let Some(error) = inner {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        inner = error.source();
    }
    None
}

fn out_of_bounds(to: &str, why: &RefusedAddress) -> DeliveryError {
    DeliveryError::permanent(format!("{to} may not be called: {why}; allow_private names networks that may"))
}

/// How long a connection is kept for the next request: not so long that servers close it meanwhile, because a request that meets the close
/// may have arrived.
#[cfg(feature = "webhook")]
const IDLE: Duration = Duration::from_secs(4);

/// The same where each recipient may have a server of their own, and each connection takes a descriptor.
const IDLE_TO_MANY: Duration = Duration::from_secs(1);

fn builder(connect_timeout: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("claimstream/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .redirect(Policy::none())
        .referer(false)
}

fn built(builder: ClientBuilder) -> Result<Client, Invalid> {
    encrypted(builder)?.build().map_err(|e| no_client(&e))
}

#[cfg(feature = "tls")]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder.tls_backend_preconfigured(crate::tls::client_config().map_err(|e| no_client(&e))?))
}

#[cfg(not(feature = "tls"))]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder)
}

fn no_client(why: &dyn Error) -> Invalid {
    Invalid::Contradiction(format!("the webhook channel has no HTTP client: {}", root(why)))
}
