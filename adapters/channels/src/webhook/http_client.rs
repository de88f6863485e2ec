use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime},
};

use claimstream_domain::{Invalid, notification::Answer};
use claimstream_ports::notification::DeliveryError;
use reqwest::{Client, ClientBuilder, Request, Response, redirect::Policy};

use super::retry_after::retry_after;

/// Sends requests, and says of every failure what it means. It follows no redirect.
pub(crate) struct HttpClient {
    client: Client,
    connect_timeout: Duration,
    timeout: Duration,
}

impl HttpClient {
    /// A client with connections of its own.
    pub(crate) fn new(
        connect_timeout: Duration,
        timeout: Duration,
        environment_proxies: bool,
    ) -> Result<Self, Invalid> {
        let builder = Client::builder()
            .user_agent(concat!("claimstream/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect_timeout)
            .timeout(timeout)
            .redirect(Policy::none())
            .referer(false);
        let builder = if environment_proxies { builder } else { builder.no_proxy() };
        let client = encrypted(builder)?.build().map_err(|e| no_client(&e))?;
        Ok(Self { client, connect_timeout, timeout })
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
    ) -> Result<Response, DeliveryError> {
        let to = to.to_string();
        self.client.execute(request).await.map_err(|e| self.unanswered(&to, &e))
    }

    /// Why no answer came; a person reads it, so it names the host and nothing that could be secret.
    fn unanswered(&self, to: &str, error: &reqwest::Error) -> DeliveryError {
        let reason = match (error.is_timeout(), error.is_connect()) {
            (true, true) => format!("no connection to {to} within {:?}", self.connect_timeout),
            (true, false) => format!("no answer from {to} within {:?}", self.timeout),
            (false, true) => format!("no connection to {to}: {}", root(error)),
            (false, false) => format!("the connection to {to} broke: {}", root(error)),
        };
        // What has no connection has sent nothing. All others may have left whole before they broke.
        let answer = if error.is_connect() { Answer::NO_SESSION } else { Answer::LOST };
        DeliveryError::of(answer, reason, None)
    }
}

/// What an answer means that is not a delivery.
pub(crate) fn failure(from: &dyn fmt::Display, response: &Response, answer: Answer) -> DeliveryError {
    let reason = format!("HTTP {} from {from}", response.status().as_u16());
    DeliveryError::of(answer, reason, retry_after(response.headers(), SystemTime::now()))
}

/// What cannot even be sent is refused for good.
pub(crate) fn refuse(why: &dyn fmt::Display) -> DeliveryError {
    DeliveryError::permanent(format!("the message cannot be posted: {why}"))
}

/// The innermost cause of an error: what the system said, without the URL that outer ones repeat.
pub(crate) fn root(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(feature = "tls")]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder.tls_backend_preconfigured(super::tls::client_config().map_err(|e| no_client(&e))?))
}

#[cfg(not(feature = "tls"))]
fn encrypted(builder: ClientBuilder) -> Result<ClientBuilder, Invalid> {
    Ok(builder)
}

fn no_client(why: &dyn Error) -> Invalid {
    Invalid::Contradiction(format!("the webhook channel has no HTTP client: {}", root(why)))
}
