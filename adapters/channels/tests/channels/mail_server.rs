use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// What the server does when a command comes.
#[derive(Clone, Copy)]
pub(crate) enum Reply {
    /// Answers with this line.
    Line(&'static str),
    /// Answers with these bytes and an end of the line, and goes on.
    Bytes(&'static [u8]),
    /// Answers with this line where the connection has had so many of these commands.
    Behind(u32, &'static str),
    /// Says nothing and keeps the connection open.
    Silence,
    /// Closes the connection.
    Close,
}

/// What a server has seen.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) connections: u32,
    /// Every command line.
    pub(crate) commands: Vec<String>,
    /// Every mail that was accepted.
    pub(crate) mails: Vec<String>,
    /// What came after a STARTTLS that was granted.
    pub(crate) encrypted: Vec<u8>,
}

/// An SMTP server on the loopback that accepts everything, except where a test gives it another answer: by command, `GREETING`
/// for the first line and `MESSAGE` for the end of a mail.
pub(crate) struct MailServer {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    silent: Arc<Notify>,
    task: JoinHandle<()>,
}

type Script = HashMap<&'static str, Reply>;

impl MailServer {
    pub(crate) async fn start(script: impl IntoIterator<Item = (&'static str, Reply)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let script: Script = script.into_iter().collect();
        let silent = Arc::new(Notify::new());
        let dialogues = (Arc::new(script), Arc::clone(&seen), Arc::clone(&silent));
        let task = tokio::spawn(serve(listener, dialogues));
        Self { address, seen, silent, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for a [`Reply::Silence`] since the last one that was waited for.
    pub(crate) async fn is_silent(&self) {
        self.silent.notified().await;
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().expect("no panic elsewhere").clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, dialogues: (Arc<Script>, Arc<Mutex<Seen>>, Arc<Notify>)) {
    while let Ok((stream, _)) = listener.accept().await {
        let (script, seen, silent) = dialogues.clone();
        seen.lock().expect("no panic elsewhere").connections += 1;
        let dialogue = Dialogue { stream: BufReader::new(stream), script, seen, silent, counted: 0 };
        tokio::spawn(dialogue.run());
    }
}

struct Dialogue {
    stream: BufReader<TcpStream>,
    script: Arc<Script>,
    seen: Arc<Mutex<Seen>>,
    silent: Arc<Notify>,
    /// Commands that had [`Reply::Behind`].
    counted: u32,
}

impl Dialogue {
    async fn run(mut self) -> io::Result<()> {
        self.reply("GREETING", "220 stub ready").await?;
        loop {
            let line = self.line().await?;
            self.seen.lock().expect("no panic elsewhere").commands.push(line.clone());
            match line.split([' ', ':']).next().unwrap_or_default() {
                "EHLO" => self.reply("EHLO", "250-stub\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN").await?,
                "AUTH" => self.reply("AUTH", "235 2.7.0 welcome").await?,
                "STARTTLS" => return self.encrypted().await,
                "DATA" => self.data().await?,
                "QUIT" => return self.reply("QUIT", "221 bye").await,
                "MAIL" => self.reply("MAIL", "250 sender ok").await?,
                "RCPT" => self.reply("RCPT", "250 recipient ok").await?,
                _ => self.reply("OTHER", "250 ok").await?,
            }
        }
    }

    async fn data(&mut self) -> io::Result<()> {
        self.reply("DATA", "354 go on").await?;
        if self.script.contains_key("DATA") {
            return Ok(());
        }
        let mut mail = String::new();
        loop {
            match self.line().await? {
                end if end == "." => break,
                line => mail.extend([line.as_str(), "\r\n"]),
            }
        }
        if !self.script.contains_key("MESSAGE") {
            self.seen.lock().expect("no panic elsewhere").mails.push(mail);
        }
        self.reply("MESSAGE", "250 2.0.0 queued as Q1").await
    }

    async fn encrypted(mut self) -> io::Result<()> {
        self.reply("STARTTLS", "220 go ahead").await?;
        let mut bytes = vec![0; 3];
        self.stream.read_exact(&mut bytes).await?;
        self.seen.lock().expect("no panic elsewhere").encrypted = bytes;
        Ok(())
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }

    async fn reply(&mut self, command: &str, usual: &'static str) -> io::Result<()> {
        match self.script.get(command).copied().unwrap_or(Reply::Line(usual)) {
            Reply::Line(line) => self.stream.write_all(format!("{line}\r\n").as_bytes()).await,
            Reply::Bytes(bytes) => self.stream.write_all(&[bytes, b"\r\n"].concat()).await,
            Reply::Behind(most, line) => {
                self.counted += 1;
                let line = if self.counted > most { line } else { usual };
                self.stream.write_all(format!("{line}\r\n").as_bytes()).await
            }
            Reply::Close => Err(io::ErrorKind::ConnectionAborted.into()),
            Reply::Silence => {
                self.silent.notify_one();
                std::future::pending().await
            }
        }
    }
}
