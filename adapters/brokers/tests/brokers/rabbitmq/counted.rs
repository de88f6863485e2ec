use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// A port before that of the broker that counts the connections.
pub(super) struct Counted {
    pub(super) url: String,
    made: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    freeze: Arc<Notify>,
}

impl Counted {
    pub(super) async fn before(url: &str) -> Self {
        let broker = url.rsplit('@').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("amqp://guest:guest@{}", listener.local_addr().unwrap());
        let counted = Self { url, made: Arc::default(), open: Arc::default(), freeze: Arc::default() };
        let (made, open, freeze) = (counted.made.clone(), counted.open.clone(), counted.freeze.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                made.fetch_add(1, Relaxed);
                let server = TcpStream::connect(&broker).await.unwrap();
                tokio::spawn(carry(client, server, open.clone(), freeze.clone()));
            }
        });
        counted
    }

    /// How many connections there were.
    pub(super) fn made(&self) -> usize {
        self.made.load(Relaxed)
    }

    /// How many there are now.
    pub(super) fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Nothing travels any more on the connections that there are, and neither end notices.
    pub(super) fn freeze(&self) {
        self.freeze.notify_waiters();
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, open: Arc<AtomicUsize>, freeze: Arc<Notify>) {
    open.fetch_add(1, Relaxed);
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => { open.fetch_sub(1, Relaxed); }
        () = freeze.notified() => std::future::pending().await,
    }
}
