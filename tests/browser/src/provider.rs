use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use axum::{Router, extract::State, http::StatusCode, routing::post};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::Failure;

/// A provider of messages over HTTP that does what a test wants.
pub struct Provider {
    address: SocketAddr,
    desk: Arc<Desk>,
    server: JoinHandle<()>,
}

/// What it does with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mood {
    /// Delivers it.
    Takes,
    /// Says that this message is none.
    Refuses,
    /// Never answers.
    Hangs,
}

struct Desk {
    mood: Mutex<Mood>,
    asked: AtomicUsize,
    delivered: AtomicUsize,
}

impl Provider {
    /// One that delivers.
    pub async fn start() -> Result<Self, Failure> {
        let desk = Arc::new(Desk {
            mood: Mutex::new(Mood::Takes),
            asked: AtomicUsize::new(0),
            delivered: AtomicUsize::new(0),
        });
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&desk));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, desk, server })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What it does from now on.
    pub fn set(&self, mood: Mood) {
        *self.desk.mood.lock().unwrap_or_else(PoisonError::into_inner) = mood;
    }

    /// How often it was asked to deliver.
    pub fn asked(&self) -> usize {
        self.desk.asked.load(SeqCst)
    }

    /// How often it delivered.
    pub fn delivered(&self) -> usize {
        self.desk.delivered.load(SeqCst)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(desk): State<Arc<Desk>>) -> StatusCode {
    desk.asked.fetch_add(1, SeqCst);
    let mood = *desk.mood.lock().unwrap_or_else(PoisonError::into_inner);
    match mood {
        Mood::Takes => {
            desk.delivered.fetch_add(1, SeqCst);
            StatusCode::OK
        }
        Mood::Refuses => StatusCode::GONE,
        Mood::Hangs => std::future::pending().await,
    }
}
