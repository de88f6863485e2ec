use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Template, TemplateVersion},
};
use claimstream_ports::{StoreError, StoreErrorKind, Timer, notification::TemplateSource};
use reqwest::StatusCode;

use crate::{
    Endpoint, Secret,
    http::{HttpAnswer, HttpClient, Unread, is_problem, root},
    timeouts,
};

const TEMPLATES: &str = "templates";

/// Where templates are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpTemplatesConfig {
    /// What the paths begin with, such as `https://claimstream.example.com/v1/templates`.
    pub url: Endpoint,
    /// The token to show, as `Authorization: Bearer`.
    pub token: Option<Secret>,
    /// How long a connection may take, 5 s by default.
    pub connect_timeout: Duration,
    /// How long an answer may take in all, 10 s by default.
    pub timeout: Duration,
    /// Whether the proxies of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`) are used; by default they are.
    pub environment_proxies: bool,
}

impl HttpTemplatesConfig {
    /// Templates of this URL, without a token.
    pub fn new(url: Endpoint) -> Self {
        let (connect_timeout, timeout) = (Duration::from_secs(5), Duration::from_secs(10));
        Self { url, token: None, connect_timeout, timeout, environment_proxies: true }
    }
}

/// Templates of a server.
///
/// `GET URL/ID/versions/latest` answers the version that is sent, and `GET URL/ID/versions/NUMBER` a certain one: a JSON object with
/// `id`, `number`, `template` and `partials`, as `claimstream serve` answers it. 404 with the problem type
/// `urn:claimstream:problem:unknown-template` says that there is none; any other 404 is a URL that leads elsewhere. A server without versions
/// gives the number 0. Put a cache before it: it asks the server each time.
pub struct HttpTemplates {
    client: HttpClient,
    config: HttpTemplatesConfig,
}

impl HttpTemplates {
    /// The longest answer that is read, in bytes.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;
    const UNKNOWN_TEMPLATE: &str = "urn:claimstream:problem:unknown-template";

    /// A source with connections of its own; refuses timeouts of nothing and a URL that this build cannot speak to.
    pub fn new(config: HttpTemplatesConfig) -> Result<Self, Invalid> {
        let timeout = config.timeout;
        let connect_timeout = config.connect_timeout.min(timeout);
        timeouts::check("templates timeout", connect_timeout, timeout)?;
        config.url.check()?;
        if config.url.url().cannot_be_a_base() {
            let why = format!("{} takes no path", config.url);
            return Err(Invalid::Malformed { what: "templates URL", why });
        }
        let client = HttpClient::new(connect_timeout, timeout, config.environment_proxies)?;
        Ok(Self { client, config })
    }

    /// Waits for answers by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.client.timer = timer;
        self
    }

    async fn get(&self, id: &str, number: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        if Template::check_id(id).is_err() {
            return Ok(None);
        }
        let mut url = self.config.url.url().clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([id, "versions", number]);
        }
        let request = self.client.requests().get(url);
        let request = match &self.config.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        };
        let request = request.build().map_err(|e| self.failed(StoreErrorKind::Misconfigured, &root(&e)))?;
        let answer = self.client.send(&self.config.url, request).await;
        let answer =
            answer.map_err(|e| StoreError::new(StoreErrorKind::Unavailable, TEMPLATES, e.to_string()))?;
        match answer.response.status() {
            StatusCode::OK => self.read(id, answer).await.map(Some),
            StatusCode::NOT_FOUND => {
                let body = self.bytes(id, answer).await?;
                match is_problem(&body, Self::UNKNOWN_TEMPLATE) {
                    true => Ok(None),
                    false => Err(self.refused(StatusCode::NOT_FOUND)),
                }
            }
            status => Err(self.refused(status)),
        }
    }

    async fn read(&self, id: &str, answer: HttpAnswer) -> Result<Arc<TemplateVersion>, StoreError> {
        let body = self.bytes(id, answer).await?;
        let version: TemplateVersion = serde_json::from_slice(&body)
            .map_err(|e| self.failed(StoreErrorKind::Corrupt, &format!("the template {id:?}: {e}")))?;
        match version.id == id {
            true => Ok(Arc::new(version)),
            false => Err(self
                .failed(StoreErrorKind::Corrupt, &format!("asked for {id:?}, it answers {:?}", version.id))),
        }
    }

    async fn bytes(&self, id: &str, answer: HttpAnswer) -> Result<Vec<u8>, StoreError> {
        answer.read(Self::MAX_BYTES).await.map_err(|unread| match unread {
            Unread::Broke(why) => self.failed(StoreErrorKind::Unavailable, &why),
            Unread::TooLong => {
                let why = format!("the template {id:?} has more than {} bytes", Self::MAX_BYTES);
                self.failed(StoreErrorKind::Corrupt, &why)
            }
        })
    }

    fn refused(&self, status: StatusCode) -> StoreError {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let why = "the server refuses the token; set one with the scope read in templates.token";
                self.failed(StoreErrorKind::Misconfigured, why)
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::CONFLICT => {
                let why = format!(
                    "it answers HTTP {}: there are no templates here; templates.url is what its paths begin with, such as https://host/v1/templates",
                    status.as_u16()
                );
                self.failed(StoreErrorKind::Misconfigured, &why)
            }
            status => {
                self.failed(StoreErrorKind::Unavailable, &format!("it answers HTTP {}", status.as_u16()))
            }
        }
    }

    fn failed(&self, kind: StoreErrorKind, why: &str) -> StoreError {
        StoreError::new(kind, TEMPLATES, format!("{}: {why}", self.config.url))
    }
}

#[async_trait]
impl TemplateSource for HttpTemplates {
    async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        self.get(id, "latest").await
    }

    async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError> {
        self.get(id, &number.to_string()).await
    }
}

impl fmt::Debug for HttpTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTemplates").field("config", &self.config).finish_non_exhaustive()
    }
}
