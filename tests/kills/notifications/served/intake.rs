use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use claimstream_domain::notification::NotificationRequest;
use futures::{StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use indicatif::ProgressBar;
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{Failure, sink::unix_micros};

/// Hands requests in over HTTP, and again under the same key until the answer is known.
pub(crate) struct Intake {
    client: Client<HttpConnector, Full<Bytes>>,
    servers: Vec<SocketAddr>,
    /// The time from one call to the next; none, if they are made as fast as they are answered.
    pause: Duration,
}

/// What became of the requests that were handed in.
#[derive(Default)]
pub(crate) struct Accepted {
    /// Those that were taken, under the ids that they were given.
    pub(crate) requests: Vec<NotificationRequest>,
    /// When each was committed, or when the call began that was answered; in microseconds since 1970.
    pub(crate) at: Vec<(Uuid, u64)>,
    /// How many were refused for good, by what the server said of them.
    pub(crate) refused: BTreeMap<String, usize>,
    /// How many calls had to be repeated.
    pub(crate) repeated: usize,
}

impl Accepted {
    /// Adds what became of more requests.
    pub(crate) fn extend(&mut self, other: Self) {
        self.requests.extend(other.requests);
        self.at.extend(other.at);
        other.refused.into_iter().for_each(|(why, count)| *self.refused.entry(why).or_default() += count);
        self.repeated += other.repeated;
    }
}

/// How a call ended.
enum Answer {
    Taken(Uuid, u64),
    Refused(String),
    /// The server is away or busy, or the outcome of the call is unknown.
    Again,
}

impl Intake {
    /// How many calls are under way at once.
    const AT_ONCE: usize = 32;
    /// How long an answer may take.
    const TIMEOUT: Duration = Duration::from_secs(10);
    /// How long a call is repeated.
    const RETRY_FOR: Duration = Duration::from_secs(60);

    /// Calls these servers in turn, so often a second at most.
    pub(crate) fn to(servers: Vec<SocketAddr>, rate: Option<f64>) -> Self {
        let pause = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        Self { client: Client::builder(TokioExecutor::new()).build_http(), servers, pause }
    }

    /// Hands all requests in; the name of the run and the id of a request are its key.
    pub(crate) async fn submit(
        &self,
        run: Uuid,
        requests: &[NotificationRequest],
        bar: &ProgressBar,
    ) -> Result<Accepted, Failure> {
        let began = tokio::time::Instant::now();
        let calls = requests.iter().enumerate().map(|(number, request)| async move {
            tokio::time::sleep_until(began + self.pause.mul_f64(number as f64)).await;
            self.hand_in(run, number, request).await
        });
        let calls = stream::iter(calls).buffered(Self::AT_ONCE).inspect_ok(|_| bar.inc(1));
        let all: Vec<(Answer, usize)> = calls.try_collect().await?;
        let mut accepted = Accepted::default();
        for ((answer, repeated), request) in all.into_iter().zip(requests) {
            accepted.repeated += repeated;
            match answer {
                Answer::Taken(id, began) => {
                    accepted.at.push((id, began));
                    accepted.requests.push(NotificationRequest { id, ..request.clone() });
                }
                Answer::Refused(why) => *accepted.refused.entry(why).or_default() += 1,
                Answer::Again => {}
            }
        }
        Ok(accepted)
    }

    async fn hand_in(
        &self,
        run: Uuid,
        number: usize,
        request: &NotificationRequest,
    ) -> Result<(Answer, usize), Failure> {
        let (key, body) = (format!("{run}-{}", request.id), body(request)?);
        let began = Instant::now();
        for repeated in 0.. {
            let server = self.servers[(number + repeated) % self.servers.len()];
            match self.call(server, &key, &body).await? {
                Answer::Again if began.elapsed() > Self::RETRY_FOR => break,
                Answer::Again => tokio::time::sleep(Duration::from_millis(100)).await,
                answer => return Ok((answer, repeated)),
            }
        }
        Err(format!("no server took request {} within {:?}", request.id, Self::RETRY_FOR).into())
    }

    async fn call(&self, server: SocketAddr, key: &str, body: &str) -> Result<Answer, Failure> {
        let call = Request::post(format!("http://{server}/v1/notifications"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("idempotency-key", key)
            .body(Full::from(body.to_owned()))?;
        let answered = async {
            let response = self.client.request(call).await.ok()?;
            let status = response.status();
            Some((status, response.into_body().collect().await.ok()?.to_bytes()))
        };
        let began = unix_micros();
        let Ok(Some((status, text))) = timeout(Self::TIMEOUT, answered).await else {
            return Ok(Answer::Again);
        };
        let said = || serde_json::from_slice::<Value>(&text).unwrap_or_default();
        match status {
            StatusCode::CREATED | StatusCode::OK => {
                let id = said()["id"].as_str().and_then(|id| id.parse().ok());
                Ok(Answer::Taken(id.ok_or("an answer without an id")?, began))
            }
            StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT => Ok(Answer::Again),
            status if status.is_server_error() => Ok(Answer::Again),
            status => {
                let detail = said()["detail"].as_str().unwrap_or_default().to_owned();
                Ok(Answer::Refused(format!("{}: {detail}", status.as_u16())))
            }
        }
    }
}

/// A request as a body: its id is the server's to give.
fn body(request: &NotificationRequest) -> Result<String, Failure> {
    let mut body = serde_json::to_value(request)?;
    if let Value::Object(fields) = &mut body {
        fields.retain(|name, value| name != "id" && !value.is_null());
    }
    Ok(body.to_string())
}
