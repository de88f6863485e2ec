use std::{
    collections::HashMap,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::{Path as Segments, State},
    http::StatusCode,
    routing::post,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};
use uuid::Uuid;

use super::{mailer::Mailer, outage::Outage, receipt_calls::ReceiptCalls, sinks::Sinks};
use crate::Failure;

/// Three providers behind HTTP, independent of the processes that call them. What they take is a line of the sink. One takes mails and
/// sends receipts; of the others the primary goes down.
pub(crate) struct ProviderServer {
    address: SocketAddr,
    counter: Arc<Counter>,
    mailer: Arc<Mailer>,
    serving: JoinHandle<()>,
}

/// What the two others have taken, and how much each.
struct Counter {
    sinks: Arc<Sinks>,
    outage: Mutex<Outage>,
    by_provider: Mutex<HashMap<String, usize>>,
}

/// What a provider is sent.
#[derive(Deserialize)]
pub(crate) struct Call {
    pub(crate) id: Uuid,
    pub(crate) request_id: Uuid,
    pub(crate) address: String,
}

impl ProviderServer {
    /// Listens on a free port of this machine; the primary will be down for so long. Receipts go to these servers; a mail may be on its
    /// way for `in_flight` after its address was suppressed.
    pub(crate) async fn start(
        folder: &Path,
        outage: Duration,
        servers: Vec<SocketAddr>,
        in_flight: Duration,
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let sinks = Arc::new(Sinks::new(folder.to_owned()));
        let mailer = Arc::new(Mailer::new(Arc::clone(&sinks), ReceiptCalls::to(servers), in_flight));
        let counter = Arc::new(Counter {
            sinks,
            outage: Mutex::new(Outage::lasting(outage)),
            by_provider: Mutex::default(),
        });
        let mails = Router::new().route("/mailer/{process}", post(take_mail)).with_state(Arc::clone(&mailer));
        let others =
            Router::new().route("/{provider}/{process}", post(take)).with_state(Arc::clone(&counter));
        let routes = mails.merge(others);
        let serving = tokio::spawn(async move {
            // It ends with this process.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { address, counter, mailer, serving })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The provider of mails.
    pub(crate) fn mailer(&self) -> &Mailer {
        &self.mailer
    }

    /// What the providers have to tell, a line each.
    pub(crate) fn story(&self) -> Vec<(&'static str, String)> {
        let by_provider = self.counter.by_provider.lock().unwrap_or_else(PoisonError::into_inner);
        let by = |name: &str| by_provider.get(name).copied().unwrap_or_default();
        let outage = self.counter.outage.lock().unwrap_or_else(PoisonError::into_inner);
        vec![
            ("by the primary, the other", format!("{}, {}", by("primary"), by("secondary"))),
            ("by the provider of mails", self.mailer.mails().len().to_string()),
            ("outage of the primary", outage.story()),
        ]
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take_mail(
    State(mailer): State<Arc<Mailer>>,
    Segments(process): Segments<u32>,
    Json(call): Json<Call>,
) -> Result<Json<Value>, StatusCode> {
    let reference = mailer.take(process, call).await.unwrap_or(Err(StatusCode::INTERNAL_SERVER_ERROR))?;
    Ok(Json(json!({ "reference": reference })))
}

async fn take(
    State(counter): State<Arc<Counter>>,
    Segments((provider, process)): Segments<(String, u32)>,
    Json(call): Json<Call>,
) -> StatusCode {
    counter.take(&provider, process, &call).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl Counter {
    fn take(&self, provider: &str, process: u32, call: &Call) -> std::io::Result<StatusCode> {
        let is_primary = provider == "primary";
        if is_primary && !self.outage().lets_through(Instant::now()) {
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        }
        let sink = self.sinks.of(process)?;
        if sink.refusal(call.id, &call.address).is_some() {
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        }
        sink.take(call.id, call.request_id)?;
        match is_primary {
            true => self.outage().delivered(Instant::now()),
            false => self.outage().delivered_elsewhere(Instant::now()),
        }
        let mut by_provider = self.by_provider.lock().unwrap_or_else(PoisonError::into_inner);
        *by_provider.entry(provider.to_owned()).or_default() += 1;
        Ok(StatusCode::OK)
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
