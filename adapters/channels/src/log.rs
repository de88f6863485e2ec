use std::{
    fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use claimstream_domain::notification::{Channel, Content, NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use serde::Serialize;
use uuid::Uuid;

use crate::masked::{Masked, MaskedKey};

/// Writes one line of JSON for each delivery: when, which message, whom, where.
///
/// Each line is a single write, so that several processes may append to the same file; after one that was cut short, as
/// on a full disk, the next begins on a line of its own. Writing blocks the thread for as
/// long as the file or stream does.
pub struct LogChannel {
    lines: Mutex<LineWriter>,
    config: LogConfig,
}

/// What a line shows; addresses are masked and content is left out unless asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogConfig {
    /// Shows addresses in full.
    pub addresses: bool,
    /// Shows what the recipient reads.
    pub content: bool,
}

impl LogChannel {
    /// Writes to any writer; what it buffers is flushed after each line.
    pub fn new(writer: impl Write + Send + 'static, config: LogConfig) -> Self {
        Self { lines: Mutex::new(LineWriter { writer: Box::new(writer), torn: false }), config }
    }

    /// Writes to the standard output.
    pub fn stdout(config: LogConfig) -> Self {
        Self::new(io::stdout(), config)
    }

    /// Appends to a file, which is created if there is none; fails if it cannot be opened.
    pub fn append(path: impl AsRef<Path>, config: LogConfig) -> io::Result<Self> {
        Ok(Self::new(OpenOptions::new().append(true).create(true).open(path)?, config))
    }

    fn write(&self, message: &NotificationMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(&LogRecord::of(message, self.config))?;
        line.push(b'\n');
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).append(&line)
    }
}

/// Lines, each of which stands alone, whatever became of the one before it.
struct LineWriter {
    writer: Box<dyn Write + Send>,
    /// Whether the writer took only a part of the last line.
    torn: bool,
}

impl LineWriter {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        match self.torn {
            true => self.write_all(&[b"\n", line].concat())?,
            false => self.write_all(line)?,
        }
        self.writer.flush()
    }

    /// As [`Write::write_all`], but remembers where it was stopped.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.writer.write(&bytes[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => written += taken,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            self.torn = !bytes[..written].ends_with(b"\n");
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct LogRecord<'a> {
    at_micros: u64,
    id: Uuid,
    request_id: Uuid,
    channel: Channel,
    recipient: String,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Content>,
}

impl<'a> LogRecord<'a> {
    fn of(message: &'a NotificationMessage, config: LogConfig) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (recipient, address) = match config.addresses {
            true => (message.recipient.clone(), message.address.clone()),
            false => (MaskedKey(&message.recipient).to_string(), Masked(&message.address).to_string()),
        };
        Self {
            at_micros: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            id: message.id,
            request_id: message.request_id,
            channel: message.channel,
            recipient,
            address,
            content: config.content.then_some(&message.content),
        }
    }
}

#[async_trait]
impl ChannelProvider for LogChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        match self.write(message) {
            Ok(()) => Ok(Delivered::default()),
            Err(e) => Err(DeliveryError::unknown(format!("the log takes no line: {e}"))),
        }
    }
}

impl fmt::Debug for LogChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
