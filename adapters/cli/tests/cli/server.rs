use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
};

/// An address of this machine without a listener. Systems choose ports from 32768 on, and the servers of tests from 20000 on, so that
/// no program gets one below without asking for it, also later.
pub(crate) fn free_address() -> SocketAddr {
    static ASKED: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() as u16;
    loop {
        let asked = ASKED.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + start.wrapping_add(asked) % 10_000;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener.local_addr().unwrap();
        }
    }
}

/// A recipient of messages, and what has come in so far.
pub(crate) struct Server {
    address: SocketAddr,
    received: Arc<Mutex<String>>,
}

impl Server {
    /// Answers every HTTP request with this status.
    pub(crate) fn answering(status: u16) -> Self {
        Self::serving(move |stream, received| {
            let mut reader = BufReader::new(stream);
            if !read_request(&mut reader, received) {
                return;
            }
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = reader.get_mut().write_all(answer.as_bytes());
        })
    }

    /// Answers each HTTP request as `answer` says of it: a status and a JSON body; without one, the connection is closed.
    pub(crate) fn telling(answer: impl Fn(&str) -> Option<(u16, String)> + Send + Sync + 'static) -> Self {
        Self::serving(move |stream, received| {
            let mut reader = BufReader::new(stream);
            let own = Mutex::default();
            if !read_request(&mut reader, &own) {
                return;
            }
            let request = own.into_inner().unwrap();
            received.lock().unwrap().push_str(&request);
            let Some((status, body)) = answer(&request) else { return };
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            let _ = reader.get_mut().write_all(answer.as_bytes());
        })
    }

    /// Takes HTTP requests and never answers.
    pub(crate) fn silent() -> Self {
        Self::serving(|stream, received| {
            let mut reader = BufReader::new(stream);
            read_request(&mut reader, received);
            // Until the other side has had enough.
            let _ = reader.read(&mut [0]);
        })
    }

    /// A mail server that lets everybody log in and takes every mail.
    pub(crate) fn mail() -> Self {
        Self::serving(|stream, received| {
            let mut reader = BufReader::new(stream);
            let _ = talk(&mut reader, received);
        })
    }

    fn serving(serve: impl Fn(TcpStream, &Mutex<String>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<String>>::default();
        let (log, serve) = (received.clone(), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, serve) = (log.clone(), serve.clone());
                std::thread::spawn(move || serve(stream, &log));
            }
        });
        Self { address, received }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> String {
        self.received.lock().unwrap().clone()
    }
}

/// Reads a head and its body; `false` if the other side sent none.
fn read_request(reader: &mut BufReader<TcpStream>, received: &Mutex<String>) -> bool {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
        head += &line;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    received.lock().unwrap().push_str(&(head + &String::from_utf8_lossy(&body)));
    true
}

fn talk(reader: &mut BufReader<TcpStream>, received: &Mutex<String>) -> std::io::Result<()> {
    reader.get_mut().write_all(b"220 mail\r\n")?;
    let mut in_mail = false;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        received.lock().unwrap().push_str(&line);
        let verb = line.split_whitespace().next().unwrap_or_default().to_uppercase();
        let answer = match verb.as_str() {
            "." => "250 queued",
            _ if in_mail => continue,
            "EHLO" => "250-mail\r\n250 AUTH PLAIN LOGIN",
            "AUTH" => "235 welcome",
            "DATA" => "354 go on",
            _ => "250 ok",
        };
        in_mail = verb == "DATA";
        reader.get_mut().write_all(format!("{answer}\r\n").as_bytes())?;
    }
}
