use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::broadcast,
};

use crate::nodes::place;

/// Forwards connections to a server that may be exchanged, as a proxy does that follows a failover, and breaks them at will:
/// all of them at once, or one of so many requests.
#[derive(Clone)]
pub struct Forwarder {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    servers: Mutex<Vec<String>>,
    /// How many connections have been forwarded.
    turn: AtomicUsize,
    breaks: broadcast::Sender<()>,
    /// One of so many requests has a mishap; 0 for none.
    one_of: AtomicU32,
    draws: AtomicU64,
    played: [AtomicU64; Mishap::ALL.len()],
}

/// What happens to the connection of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mishap {
    /// It breaks before the server has the request.
    Before,
    /// It breaks when the server has half of the request.
    Amid,
    /// The server has the request, and its answer is lost.
    AnswerLost,
    /// The server has the request, which is a commit, and its answer is lost.
    CommitUnanswered,
    /// It breaks together with all others.
    AllCut,
}

impl Mishap {
    /// Every mishap.
    pub const ALL: [Self; 5] =
        [Self::Before, Self::Amid, Self::AnswerLost, Self::CommitUnanswered, Self::AllCut];
}

impl Forwarder {
    /// Listens on a port of its own and forwards to the server of this URL.
    pub async fn to(url: &str) -> io::Result<Self> {
        Self::between(&[url.to_owned()]).await
    }

    /// Listens on a port of its own and forwards each connection to the next of these servers, as a proxy in front of a cluster
    /// does. All URLs must have one user, one database and the same parameters.
    pub async fn between(urls: &[String]) -> io::Result<Self> {
        let Some(url) = urls.first() else { return Err(io::Error::other("a forwarder needs a server")) };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let servers = urls.iter().map(|url| place(url).to_owned()).collect();
        let url = url.replacen(place(url), &listener.local_addr()?.to_string(), 1);
        let shared = Arc::new(Shared {
            servers: Mutex::new(servers),
            turn: AtomicUsize::new(0),
            breaks: broadcast::channel(8).0,
            one_of: AtomicU32::new(0),
            draws: AtomicU64::new(1),
            played: Default::default(),
        });
        tokio::spawn(serve(listener, shared.clone()));
        Ok(Self { url, shared })
    }

    /// Where it listens, with the user, the database and the parameters of the URL that it was made of.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Forwards to the server of this URL from now on; connections that are open break.
    pub fn lead_to(&self, url: &str) {
        *self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner) = vec![place(url).to_owned()];
        let _ = self.shared.breaks.send(());
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        let broken = self.shared.breaks.receiver_count() as u64;
        self.shared.played[Mishap::AllCut as usize].fetch_add(broken, Ordering::Relaxed);
        let _ = self.shared.breaks.send(());
    }

    /// One of so many requests has a mishap from now on, drawn from this seed; none if it is 0.
    pub fn disturb(&self, one_of: u32, seed: u64) {
        self.shared.draws.store(seed | 1, Ordering::Relaxed);
        self.shared.one_of.store(one_of, Ordering::Relaxed);
    }

    /// How many connections have broken by this mishap.
    pub fn played(&self, mishap: Mishap) -> u64 {
        self.shared.played[mishap as usize].load(Ordering::Relaxed)
    }
}

impl Shared {
    fn next_server(&self) -> String {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers[self.turn.fetch_add(1, Ordering::Relaxed) % servers.len()].clone()
    }

    /// What happens to a request, if anything does.
    fn draw(&self, request: &[u8]) -> Option<Mishap> {
        let one_of = self.one_of.load(Ordering::Relaxed);
        if one_of == 0 {
            return None;
        }
        // A multiplication by a large odd number spreads neighbours.
        let lot = self.draws.fetch_add(2, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        if !lot.is_multiple_of(u64::from(one_of)) {
            return None;
        }
        let drawn = match (lot >> 24) % 3 {
            0 => Mishap::Before,
            1 => Mishap::Amid,
            _ if has_commit(request) => Mishap::CommitUnanswered,
            _ => Mishap::AnswerLost,
        };
        self.played[drawn as usize].fetch_add(1, Ordering::Relaxed);
        Some(drawn)
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let broken = shared.breaks.subscribe();
        let shared = shared.clone();
        tokio::spawn(async move { connect(client, &shared, broken).await });
    }
}

/// The life of one connection.
async fn connect(client: TcpStream, shared: &Shared, mut broken: broadcast::Receiver<()>) {
    let server = shared.next_server();
    let Ok(server) = TcpStream::connect(&server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    let ended = tokio::select! {
        mishap = requests(from_client, to_server, shared) => mishap,
        () = answers(&mut from_server, to_client) => return,
        _ = broken.recv() => return,
    };
    if let Some((Mishap::AnswerLost | Mishap::CommitUnanswered, _kept)) = ended {
        // The server does what it was asked and answers, and the answer is lost.
        let mut answer = [0; 64];
        let _ = tokio::time::timeout(std::time::Duration::from_secs(5), from_server.read(&mut answer)).await;
    }
}

/// Passes requests on until one has a mishap.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
) -> Option<(Mishap, OwnedWriteHalf)> {
    let mut buffer = vec![0; 1 << 16];
    let mut sent = 0;
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        // The first one is the login.
        let mishap = if sent > 0 { shared.draw(&buffer[..n]) } else { None };
        sent += 1;
        match mishap {
            Some(Mishap::Before) => return None,
            Some(Mishap::Amid) => {
                let _ = to.write_all(&buffer[..n / 2]).await;
                return None;
            }
            Some(lost) => {
                let _ = to.write_all(&buffer[..n]).await;
                return Some((lost, to));
            }
            None if to.write_all(&buffer[..n]).await.is_err() => return None,
            None => {}
        }
    }
    None
}

async fn answers(from: &mut OwnedReadHalf, mut to: OwnedWriteHalf) {
    let _ = tokio::io::copy(from, &mut to).await;
}

/// Whether a packet commits. One that opens a session says `READ COMMITTED`, which is no commit.
fn has_commit(packet: &[u8]) -> bool {
    const WORD: &[u8] = b"COMMIT";
    let ends = |at: usize| packet.get(at + WORD.len()) != Some(&b'T');
    packet.windows(WORD.len()).enumerate().any(|(at, bytes)| bytes == WORD && ends(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_committed_is_no_commit() {
        assert!(has_commit(b"\x03COMMIT") && has_commit(b"COMMIT; SELECT 1"));
        assert!(!has_commit(b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED"));
    }
}
