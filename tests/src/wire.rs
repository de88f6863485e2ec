use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{broadcast, mpsc},
};

/// A wire to a server that can lose the answer to a commit, or to a statement that has changed something and commits
/// itself, with the connections that are open then; that can answer statements with an error of its own, as proxies do; and
/// that can be slow.
pub(crate) struct Wire {
    pub(crate) url: String,
    pub(crate) cut_after_commit: Arc<AtomicBool>,
    pub(crate) cut_after_change: Arc<AtomicBool>,
    refusal: Arc<Refusal>,
    delay: Arc<AtomicU64>,
    server: Arc<Mutex<String>>,
    breaks: broadcast::Sender<()>,
}

impl Wire {
    pub(crate) async fn to(url: &str) -> io::Result<Self> {
        let server = place(url);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = url.replace(&server, &listener.local_addr()?.to_string());
        let [cut_after_commit, cut_after_change] = [(); 2].map(|()| Arc::<AtomicBool>::default());
        let (refusal, delay) = (Arc::<Refusal>::default(), Arc::<AtomicU64>::default());
        let switches = Switches {
            commit: cut_after_commit.clone(),
            change: cut_after_change.clone(),
            refusal: refusal.clone(),
            delay: delay.clone(),
        };
        let server = Arc::new(Mutex::new(server));
        let (breaks, _) = broadcast::channel(8);
        tokio::spawn(serve(listener, server.clone(), breaks.clone(), switches));
        Ok(Self { url, cut_after_commit, cut_after_change, refusal, delay, server, breaks })
    }

    /// Leads to the server of this URL from now on; connections that are open break.
    pub(crate) fn lead_to(&self, url: &str) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = place(url);
        let _ = self.breaks.send(());
    }

    /// Leads nowhere from now on; connections that are open break.
    pub(crate) fn lead_nowhere(&self) {
        // Nobody listens on the port of the multiplexer of TCP services.
        self.lead_to("mysql://nobody@127.0.0.1:1/nothing");
    }

    /// Passes each piece of an answer on so much later from now on.
    pub(crate) fn answer_after(&self, delay: Duration) {
        self.delay.store(delay.as_millis() as u64, Ordering::SeqCst);
    }

    /// Answers every statement with this error from now on.
    pub(crate) fn refuse(&self, number: u16, text: &str) {
        self.refusal.given.store(0, Ordering::SeqCst);
        *self.refusal.packet.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(error_packet(number, text));
    }

    /// Loses the answer to the next commit, and answers every statement after it with this error.
    pub(crate) fn cut_and_refuse(&self, number: u16, text: &str) {
        *self.refusal.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(error_packet(number, text));
        self.cut_after_commit.store(true, Ordering::SeqCst);
    }

    /// Waits until this many statements have been refused.
    pub(crate) async fn refused(&self, statements: usize) {
        while self.refusal.given.load(Ordering::SeqCst) < statements {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Statements reach the server again.
    pub(crate) fn refuse_no_more(&self) {
        *self.refusal.packet.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The host and the port of a URL.
fn place(url: &str) -> String {
    let (_, rest) = url.split_once('@').expect("a user");
    let (server, _) = rest.split_once('/').expect("a database");
    server.to_owned()
}

/// The error that statements are answered with, and how many were.
#[derive(Default)]
struct Refusal {
    packet: Mutex<Option<Vec<u8>>>,
    /// The error from the next cut on.
    next: Mutex<Option<Vec<u8>>>,
    given: AtomicUsize,
}

impl Refusal {
    fn begin(&self) {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        if next.is_some() {
            *self.packet.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
    }

    fn packet(&self) -> Option<Vec<u8>> {
        self.packet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone)]
struct Switches {
    commit: Arc<AtomicBool>,
    change: Arc<AtomicBool>,
    refusal: Arc<Refusal>,
    /// In milliseconds.
    delay: Arc<AtomicU64>,
}

async fn serve(
    listener: TcpListener,
    server: Arc<Mutex<String>>,
    breaks: broadcast::Sender<()>,
    switches: Switches,
) {
    while let Ok((client, _)) = listener.accept().await {
        let server = server.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(server) = TcpStream::connect(&server).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let switches = switches.clone();
        let (breaking, mut broken) = (breaks.clone(), breaks.subscribe());
        tokio::spawn(async move {
            let (refuse, refusals) = mpsc::unbounded_channel();
            let committing = AtomicBool::new(false);
            tokio::select! {
                _ = requests(from_client, to_server, &switches, &committing, refuse) => {
                    // The commit is given time to be done, and its answer goes nowhere.
                    let _ = breaking.send(());
                }
                true = answers(from_server, to_client, &switches, &committing, refusals) => {
                    let _ = breaking.send(());
                }
                _ = broken.recv() => {}
            }
        });
    }
}

/// Passes requests on, or has them refused; ends after a commit that is to be cut.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    Switches { commit, refusal, .. }: &Switches,
    committing: &AtomicBool,
    refuse: mpsc::UnboundedSender<Vec<u8>>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if let Some(error) = refusal.packet().filter(|_| is_statement(&buffer[..n])) {
            refusal.given.fetch_add(1, Ordering::SeqCst);
            let _ = refuse.send(error);
            continue;
        }
        let is_commit = buffer[..n].windows(6).any(|bytes| bytes == b"COMMIT");
        let is_cut = is_commit && commit.load(Ordering::SeqCst);
        committing.store(is_cut, Ordering::SeqCst);
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
        if is_cut {
            tokio::time::sleep(Duration::from_millis(100)).await;
            commit.store(false, Ordering::SeqCst);
            refusal.begin();
            return;
        }
    }
    std::future::pending::<()>().await
}

/// Passes answers on, except after a commit that is to be cut has been sent; ends with true at the answer to a change that is
/// to be cut.
async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    Switches { change, delay, .. }: &Switches,
    committing: &AtomicBool,
    mut refusals: mpsc::UnboundedReceiver<Vec<u8>>,
) -> bool {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let answer = tokio::select! {
            Ok(n @ 1..) = from.read(&mut buffer) => &buffer[..n],
            Some(error) = refusals.recv() => {
                if to.write_all(&error).await.is_err() {
                    return false;
                }
                continue;
            }
            else => return false,
        };
        if committing.load(Ordering::SeqCst) {
            continue;
        }
        if is_answer_to_change(answer) && change.swap(false, Ordering::SeqCst) {
            return true;
        }
        let delay = delay.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if to.write_all(answer).await.is_err() {
            return false;
        }
    }
}

/// The first packet of a command that is answered: a query, or a statement that is prepared or executed. What is refused in
/// a trial is short enough to come in one piece.
fn is_statement(packet: &[u8]) -> bool {
    matches!(packet, [_, _, _, 0, 0x03 | 0x16 | 0x17, ..])
}

fn error_packet(number: u16, text: &str) -> Vec<u8> {
    let mut body = vec![0xff];
    body.extend(number.to_le_bytes());
    body.extend(b"#HY000");
    body.extend(text.as_bytes());
    let length = u8::try_from(body.len()).expect("a short text");
    [vec![length, 0, 0, 1], body].concat()
}

/// An OK with a few rows that have been changed: outside a transaction, and with SERVER_STATUS_AUTOCOMMIT.
fn is_answer_to_change(packet: &[u8]) -> bool {
    matches!(packet, [_, 0, 0, 1, 0, 1..=250, 0, flags, ..] if flags & 3 == 2)
}
