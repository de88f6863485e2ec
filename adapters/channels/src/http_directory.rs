use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Recipient, SegmentPlace},
};
use claimstream_ports::{
    StoreError, StoreErrorKind, Timer,
    notification::{FoundUsers, RecipientDirectory, SegmentPage},
};
use reqwest::{Method, Request, StatusCode, header::CONTENT_TYPE};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Endpoint, Secret,
    http::{HttpAnswer, HttpClient, Unread, is_problem, root},
    timeouts,
};

const DIRECTORY: &str = "directory";

/// Where users and segments are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpDirectoryConfig {
    /// What the paths begin with, such as `https://people.example.com/v1`.
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

impl HttpDirectoryConfig {
    /// The directory of this URL, without a token.
    pub fn new(url: Endpoint) -> Self {
        let (connect_timeout, timeout) = (Duration::from_secs(5), Duration::from_secs(10));
        Self { url, token: None, connect_timeout, timeout, environment_proxies: true }
    }
}

/// The directory of a server.
///
/// * `POST URL/lookup` with `{"users": [id, ..]}`, at most [`MOST`](Self::MOST), answers `{"recipients": [..]}`: the users that
///   the server knows, in any order, each an object with `user`, its addresses, `language`, `time_zone` and `attributes`, with
///   `"unreadable": [ID, ..]` where it cannot read the entries of some.
/// * `GET URL/segments/NAME/members?after=KEY&limit=N` answers `{"members": [..], "next": KEY or null}`, with `"unreadable": [ID, ..]` where
///   it cannot read the entries of members. 404 with the problem type
///   `urn:claimstream:problem:unknown-segment` says that there is no such segment; any other 404 is a URL that leads elsewhere.
///
/// `claimstream serve` answers so. A server that is away, or answers something else, is an error that puts a request off: no
/// recipient is taken for unknown because of it.
pub struct HttpDirectory {
    client: HttpClient,
    config: HttpDirectoryConfig,
}

#[derive(Serialize)]
struct Lookup<'a> {
    users: &'a [&'a String],
}

#[derive(Deserialize)]
struct FoundRecipients {
    recipients: Vec<Value>,
    #[serde(default)]
    unreadable: Vec<String>,
}

#[derive(Deserialize)]
struct Members {
    members: Vec<Value>,
    #[serde(default)]
    unreadable: Vec<String>,
    #[serde(default)]
    next: Option<String>,
}

/// A user as a server shows it. It has no key of its own: preferences and erasure find a user by its id.
#[derive(Deserialize)]
#[serde(transparent)]
struct Person(Recipient);

impl HttpDirectory {
    /// How many users one call asks for, and how many members one page has.
    pub const MOST: usize = 500;
    /// The longest answer that is read, in bytes.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;
    const UNKNOWN_SEGMENT: &str = "urn:claimstream:problem:unknown-segment";

    /// A directory with connections of its own; refuses timeouts of nothing and a URL that this build cannot speak to.
    pub fn new(config: HttpDirectoryConfig) -> Result<Self, Invalid> {
        let timeout = config.timeout;
        let connect_timeout = config.connect_timeout.min(timeout);
        timeouts::check("directory timeout", connect_timeout, timeout)?;
        config.url.check()?;
        if config.url.url().cannot_be_a_base() {
            let why = format!("{} takes no path", config.url);
            return Err(Invalid::Malformed { what: "directory URL", why });
        }
        let client = HttpClient::new(connect_timeout, timeout, config.environment_proxies)?;
        Ok(Self { client, config })
    }

    /// Waits for answers by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.client.timer = timer;
        self
    }

    /// The users of these ids that the server knows, and the ids of those whose entries cannot be read.
    async fn lookup(&self, ids: &[&String]) -> Result<(Vec<Recipient>, Vec<String>), StoreError> {
        let body = serde_json::to_vec(&Lookup { users: ids });
        let body = body.map_err(|e| self.failed(StoreErrorKind::Corrupt, &e.to_string()))?;
        let request = self.request(Method::POST, &["lookup"], &[], Some(body))?;
        let answer = self.send(request).await?;
        match answer.response.status() {
            StatusCode::OK => {
                let FoundRecipients { recipients, unreadable } = self.read(answer).await?;
                self.users(recipients, unreadable)
            }
            status => Err(self.refused(status)),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Request, StoreError> {
        let mut url = self.config.url.url().clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.requests().request(method, url);
        let request = match &self.config.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        };
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body),
            None => request,
        };
        request.build().map_err(|e| self.failed(StoreErrorKind::Misconfigured, &root(&e)))
    }

    async fn send(&self, request: Request) -> Result<HttpAnswer, StoreError> {
        let answer = self.client.send(&self.config.url, request).await;
        answer.map_err(|e| StoreError::new(StoreErrorKind::Unavailable, DIRECTORY, e.to_string()))
    }

    async fn read<T: DeserializeOwned>(&self, answer: HttpAnswer) -> Result<T, StoreError> {
        let body = self.bytes(answer).await?;
        // The error names a place and no address.
        serde_json::from_slice(&body).map_err(|e| {
            let why = format!("the answer cannot be read: line {}, column {}", e.line(), e.column());
            self.failed(StoreErrorKind::Corrupt, &why)
        })
    }

    async fn bytes(&self, answer: HttpAnswer) -> Result<Vec<u8>, StoreError> {
        answer.read(Self::MAX_BYTES).await.map_err(|unread| match unread {
            Unread::Broke(why) => self.failed(StoreErrorKind::Unavailable, &why),
            Unread::TooLong => {
                let why = format!("the answer has more than {} bytes", Self::MAX_BYTES);
                self.failed(StoreErrorKind::Corrupt, &why)
            }
        })
    }

    /// The users of an answer, and the ids of those whose entries cannot be read, with those that the server named as such.
    fn users(
        &self,
        entries: Vec<Value>,
        mut unreadable: Vec<String>,
    ) -> Result<(Vec<Recipient>, Vec<String>), StoreError> {
        let mut users = Vec::with_capacity(entries.len());
        for entry in entries {
            let id = entry.get("user").and_then(Value::as_str).unwrap_or_default().to_owned();
            match serde_json::from_value::<Person>(entry) {
                _ if id.is_empty() => return Err(self.nameless()),
                Ok(Person(person)) => users.push(Recipient { key: Recipient::user(&id).key, ..person }),
                Err(_) => {
                    tracing::warn!(user = id, "directory.user.unreadable");
                    unreadable.push(id);
                }
            }
        }
        Ok((users, unreadable))
    }

    fn nameless(&self) -> StoreError {
        self.failed(StoreErrorKind::Corrupt, "a recipient of the answer has no user")
    }

    fn refused(&self, status: StatusCode) -> StoreError {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let why = "the server refuses the token; set one with the scope read in directory.token";
                self.failed(StoreErrorKind::Misconfigured, why)
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::CONFLICT => {
                let why = format!(
                    "it answers HTTP {}: there is no directory here; directory.url is what its paths begin with, such as https://host/v1",
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
        StoreError::new(kind, DIRECTORY, format!("{}: {why}", self.config.url))
    }
}

#[async_trait]
impl RecipientDirectory for HttpDirectory {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let mut wanted: Vec<&String> = ids.iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let (mut known, mut unreadable) = (HashMap::new(), Vec::new());
        for part in wanted.chunks(Self::MOST) {
            let (found, unread) = self.lookup(part).await?;
            known.extend(found.into_iter().filter_map(|user| Some((user.user.clone()?, user))));
            unreadable.extend(unread);
        }
        Ok(FoundUsers { users: ids.iter().map(|id| known.get(id).cloned()).collect(), unreadable })
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let limit = limit.min(Self::MOST as u32).to_string();
        let mut query = vec![("limit", limit.as_str())];
        query.extend(from.key().map(|key| ("after", key)));
        let request = self.request(Method::GET, &["segments", segment, "members"], &query, None)?;
        let answer = self.send(request).await?;
        match answer.response.status() {
            StatusCode::OK => {
                let Members { members, unreadable, next } = self.read(answer).await?;
                if next.is_some() && next.as_deref() == from.key() {
                    return Err(
                        self.failed(StoreErrorKind::Corrupt, "a page begins where the one before began")
                    );
                }
                let named = unreadable.len();
                let (members, unreadable) = self.users(members, unreadable)?;
                // Where no entry of several can be read none is a member's fault.
                if members.is_empty() && unreadable.len() > named + 1 {
                    return Err(self.failed(StoreErrorKind::Corrupt, "no member of a page can be read"));
                }
                Ok(Some(SegmentPage { members, unreadable, next }))
            }
            StatusCode::NOT_FOUND => {
                let body = self.bytes(answer).await?;
                match is_problem(&body, Self::UNKNOWN_SEGMENT) {
                    true => Ok(None),
                    false => Err(self.refused(StatusCode::NOT_FOUND)),
                }
            }
            status => Err(self.refused(status)),
        }
    }
}

impl fmt::Debug for HttpDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpDirectory").field("config", &self.config).finish_non_exhaustive()
    }
}
