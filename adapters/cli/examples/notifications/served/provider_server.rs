use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
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
use tokio::{net::TcpListener, task::JoinHandle};
use uuid::Uuid;

use super::outage::Outage;
use crate::{Failure, sink::SinkProvider};

/// Two providers behind HTTP, independent of the processes that call them. What they take is a line of the sink.
pub(crate) struct ProviderServer {
    address: SocketAddr,
    counter: Arc<Counter>,
    serving: JoinHandle<()>,
}

/// What the two providers have taken, and how much each.
struct Counter {
    folder: PathBuf,
    sinks: Mutex<HashMap<u32, Arc<SinkProvider>>>,
    outage: Mutex<Outage>,
    by_provider: Mutex<HashMap<String, usize>>,
}

/// What a provider is sent.
#[derive(Deserialize)]
struct Call {
    id: Uuid,
    request_id: Uuid,
    address: String,
}

impl ProviderServer {
    /// Listens on a free port of this machine; the primary will be down for so long.
    pub(crate) async fn start(folder: &Path, outage: Duration) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let counter = Arc::new(Counter {
            folder: folder.to_owned(),
            sinks: Mutex::default(),
            outage: Mutex::new(Outage::lasting(outage)),
            by_provider: Mutex::default(),
        });
        let routes =
            Router::new().route("/{provider}/{process}", post(take)).with_state(Arc::clone(&counter));
        let serving = tokio::spawn(async move {
            // It ends with this process.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { address, counter, serving })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the providers have to tell, a line each.
    pub(crate) fn story(&self) -> Vec<(&'static str, String)> {
        let by_provider = self.counter.by_provider.lock().unwrap_or_else(PoisonError::into_inner);
        let by = |name: &str| by_provider.get(name).copied().unwrap_or_default();
        let outage = self.counter.outage.lock().unwrap_or_else(PoisonError::into_inner);
        vec![
            ("by the primary, the other", format!("{}, {}", by("primary"), by("secondary"))),
            ("outage of the primary", outage.story()),
        ]
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
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
        let sink = self.sink(process)?;
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

    fn sink(&self, process: u32) -> std::io::Result<Arc<SinkProvider>> {
        let mut sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = sinks.get(&process) {
            return Ok(Arc::clone(sink));
        }
        let sink = Arc::new(SinkProvider::open(&self.folder, process)?);
        sinks.insert(process, Arc::clone(&sink));
        Ok(sink)
    }
}
