mod cache;
mod config;
mod content_type;
mod file;

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid,
    notification::{Acceptance, Answer, AnswerClass, Attachment},
};
use claimstream_ports::{Deadline, Timer, notification::DeliveryError};
use reqwest::{
    Request, Response, StatusCode, Url,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName},
};

pub use self::config::AttachmentConfig;
pub(crate) use self::file::FetchedFile;
use self::{cache::FileCache, content_type::content_type};
use crate::http::{HttpAnswer, HttpClient, Unread, failure, root};

/// Fetches the files that go with a message from where they are.
///
/// A file that many messages name is fetched once in a while, also if they are delivered at the same time. One that its server did not
/// give is not asked for again within ten seconds, as long as the cache has room for its URL.
pub(crate) struct Attachments {
    client: HttpClient,
    cache: FileCache,
    config: AttachmentConfig,
}

impl Attachments {
    pub(crate) fn new(config: AttachmentConfig) -> Result<Self, Invalid> {
        config.check()?;
        let (connect, total) = (config.connect_timeout, config.timeout);
        let client = HttpClient::limited(&config.reach, connect, total, config.environment_proxies)?;
        Ok(Self { client, cache: FileCache::new(config.cache_bytes), config })
    }

    /// Waits for files, and lets them become old, by this timer in place of tokio's clock.
    pub(crate) fn time_by(&mut self, timer: Arc<dyn Timer>) {
        self.client.timer = timer;
    }

    /// All files of a message in their order, within the time for all of them.
    ///
    /// | what happened | outcome |
    /// |---|---|
    /// | 200, and no more bytes than allowed | the file |
    /// | too many bytes; an address that may not be called; 410, another 2xx | permanent |
    /// | no connection, no answer in time, any other status, redirects among them | not ready: tried again, no earlier than `Retry-After` says |
    pub(crate) async fn fetch(
        &self,
        attachments: &[Attachment],
    ) -> Result<Vec<Arc<FetchedFile>>, DeliveryError> {
        let deadline = Deadline::after(self.config.timeout, &self.client.timer);
        let (mut files, mut bytes) = (Vec::with_capacity(attachments.len()), 0_usize);
        for attachment in attachments {
            let file = deadline.within(self.file(attachment)).await.unwrap_or_else(|| {
                let late = |what: &str| format!("{what} did not come within {:?}", self.config.timeout);
                // The first one has had the whole time.
                if files.is_empty() {
                    self.cache.fail(&attachment.url, self.client.timer.now(), not_ready(late("it"), None));
                }
                Err(not_ready(late("the attachments"), None))
            })?;
            bytes = bytes.saturating_add(file.bytes.len());
            if bytes > self.config.max_bytes_in_all {
                let most = self.config.max_bytes_in_all;
                let why = format!("the attachments have more than {most} bytes in all");
                return Err(DeliveryError::permanent(format!(
                    "{why}; attachment_bytes_in_all sets how many may"
                )));
            }
            files.push(file);
        }
        Ok(files)
    }

    async fn file(&self, attachment: &Attachment) -> Result<Arc<FetchedFile>, DeliveryError> {
        let (url, now) = (&attachment.url, || self.client.timer.now());
        let cell = self.cache.cell(url, now());
        // Those that waited while it failed do not ask either.
        let get = async || match self.cache.failure(url, now()) {
            Some(failure) => Err(failure),
            None => self.get(url).await.inspect_err(|error| self.cache.fail(url, now(), error.clone())),
        };
        // Mails with other names for the file share its failure.
        let named = |error| of_attachment(&attachment.name, error);
        let file = cell.get_or_try_init(get).await.map_err(named)?;
        self.cache.keep(url, &cell);
        Ok(Arc::clone(file))
    }

    async fn get(&self, url: &str) -> Result<Arc<FetchedFile>, DeliveryError> {
        let url = self.url(url)?;
        let from = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
        let request = self.request(url)?;
        let answer = self.client.send(&from, request).await?;
        match answer.response.status() {
            StatusCode::OK => self.read(&from, answer).await,
            status => Err(refused(&from, &answer.response, status)),
        }
    }

    fn request(&self, url: Url) -> Result<Request, DeliveryError> {
        let request = self.client.requests().get(url).header(ACCEPT_ENCODING, "identity").build();
        request.map_err(|e| DeliveryError::permanent(root(&e)))
    }

    fn url(&self, url: &str) -> Result<Url, DeliveryError> {
        let refuse = |why: String| Err(DeliveryError::permanent(why));
        let url: Url = match url.parse() {
            Ok(url) => url,
            Err(e) => return refuse(format!("its URL is not valid: {e}")),
        };
        match url.scheme() {
            "https" if !cfg!(feature = "tls") => {
                refuse("https needs the feature tls of claimstream-channels".to_owned())
            }
            "https" => Ok(url),
            "http" if self.config.plain_http => Ok(url),
            "http" => refuse("its URL is not https; attachment_http = true allows http".to_owned()),
            other => refuse(format!("its scheme is {other:?}; use https")),
        }
    }

    async fn read(&self, from: &str, answer: HttpAnswer) -> Result<Arc<FetchedFile>, DeliveryError> {
        let response = &answer.response;
        let most = self.config.max_bytes;
        let too_long = || {
            let why = format!("{from} sends more than {most} bytes; attachment_bytes sets how many may");
            DeliveryError::permanent(why)
        };
        if response.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_long());
        }
        if header(response, CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return Err(DeliveryError::permanent(format!("{from} sends it compressed, unasked")));
        }
        let content_type = header(response, CONTENT_TYPE);
        let bytes = answer.read(most).await.map_err(|unread| match unread {
            Unread::Broke(why) => not_ready(format!("the connection to {from} broke: {why}"), None),
            Unread::TooLong => too_long(),
        })?;
        Ok(Arc::new(FetchedFile { bytes, content_type }))
    }
}

/// The mail's parts of a message: each attachment with its file.
pub(crate) fn types<'a>(
    attachments: &'a [Attachment],
    files: &'a [Arc<FetchedFile>],
) -> impl Iterator<Item = (&'a Attachment, &'a FetchedFile, String)> {
    let pairs = attachments.iter().zip(files);
    pairs.map(|(attachment, file)| (attachment, &**file, content_type(attachment, file)))
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.trim().to_ascii_lowercase())
}

/// What a status says of a file: a server may be away for a deployment, and only one that says that the file is gone, or sends something
/// else, ends the message.
fn refused(from: &str, response: &Response, status: StatusCode) -> DeliveryError {
    let code = status.as_u16();
    match code {
        200..=299 => DeliveryError::permanent(format!("HTTP {code} from {from}, not 200")),
        300..=399 => not_ready(format!("HTTP {code} from {from}; redirects are not followed"), None),
        410 => failure(&from, response, Answer::REFUSED),
        _ => failure(&from, response, Answer::LATER),
    }
}

/// A failure of another server than the provider's: it names the file, and says nothing against the provider.
fn of_attachment(name: &str, error: DeliveryError) -> DeliveryError {
    let reason = format!("the attachment {name:?}: {error}");
    match error.answer() {
        Answer { class: AnswerClass::Permanent, acceptance: Acceptance::NotAccepted } => {
            DeliveryError::permanent(reason)
        }
        _ => not_ready(reason, error.retry_after()),
    }
}

fn not_ready(reason: String, retry_after: Option<Duration>) -> DeliveryError {
    DeliveryError::NotReady { reason, retry_after }
}
