use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// What the server does with one request.
pub(crate) enum Answer {
    /// Answers with a status line's code and header lines.
    Status(u16, &'static [&'static str]),
    /// Answers 200 with header lines and a body.
    Body(&'static [&'static str], Vec<u8>),
    /// Answers with a status and a body.
    Refusal(u16, &'static str),
    /// Writes these bytes, whatever they are, and closes the connection.
    Raw(Vec<u8>),
    /// Says nothing and keeps the connection open.
    Silence,
    /// Closes the connection without a word.
    Close,
    /// Resets the connection.
    Reset,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// `POST /path HTTP/1.1`
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// An HTTP server on the loopback that follows a script, one request for each connection.
pub(crate) struct WebServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    asked: Arc<Notify>,
    task: JoinHandle<()>,
}

impl WebServer {
    pub(crate) async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let mut script: VecDeque<Answer> = script.into_iter().collect();
        Self::answering(move |_| {
            let answer = script.pop_front().unwrap_or(Answer::Status(200, &[]));
            Box::pin(async { answer })
        })
        .await
    }

    /// A server that answers each request as `answer` says.
    pub(crate) async fn answering(
        answer: impl FnMut(Received) -> BoxFuture<'static, Answer> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (received, asked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let task = tokio::spawn(serve(listener, answer, Arc::clone(&received), Arc::clone(&asked)));
        Self { address, received, asked, task }
    }

    /// A URL of the server.
    pub(crate) fn url(&self, rest: &str) -> String {
        format!("http://{}{rest}", self.address)
    }

    /// Waits for a request since the last one that was waited for.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panic elsewhere").clone()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    mut answer: impl FnMut(Received) -> BoxFuture<'static, Answer>,
    received: Arc<Mutex<Vec<Received>>>,
    asked: Arc<Notify>,
) {
    let mut silent = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let Ok(request) = read(&mut stream).await else { continue };
        received.lock().expect("no panic elsewhere").push(request.clone());
        asked.notify_one();
        match answer(request).await {
            Answer::Status(code, headers) => {
                let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
                let head =
                    format!("HTTP/1.1 {code} X\r\ncontent-length: 0\r\nconnection: close\r\n{headers}\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
            }
            Answer::Body(headers, body) => {
                let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
                );
                let _ = stream.write_all(&[head.into_bytes(), body].concat()).await;
            }
            Answer::Refusal(code, body) => {
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {code} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await;
            }
            Answer::Raw(bytes) => {
                let _ = stream.write_all(&bytes).await;
            }
            Answer::Silence => silent.push(stream),
            Answer::Close => drop(stream),
            Answer::Reset => stream.set_zero_linger().expect("a socket option"),
        }
    }
}

async fn read(stream: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().to_owned();
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let mut request =
        Received { line, headers: lines.filter_map(header).collect(), body: bytes.split_off(end + 4) };
    let length = request.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(request)
}
