use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use claimstream_domain::notification::NotificationMessage;
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One line of the sink: a delivery that reached its recipient.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Delivery {
    /// The message.
    pub(crate) id: Uuid,
    /// The request it came from.
    pub(crate) request: Uuid,
    /// The number of the process that delivered it.
    pub(crate) process: u32,
    /// When, in microseconds since 1970.
    pub(crate) at: u64,
}

/// Writes a line for every delivery; refuses the address that always fails, and twice the one that is flaky.
pub(crate) struct SinkProvider {
    folder: PathBuf,
    file: File,
    process: u32,
}

impl SinkProvider {
    /// Where nothing ever arrives.
    pub(crate) const ALWAYS_FAILS: &str = "always-fails@example.invalid";
    const FLAKY: &str = "https://flaky.example.invalid/hook";

    /// The provider of a process with this number.
    pub(crate) fn open(folder: &Path, process: u32) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(Sink::path(folder))?;
        Ok(Self { folder: folder.to_owned(), file, process })
    }

    /// Why a message to this address is not taken now, if it is not.
    pub(crate) fn refusal(&self, id: Uuid, address: &str) -> Option<&'static str> {
        match address {
            Self::ALWAYS_FAILS => Some("mailbox unavailable"),
            Self::FLAKY if self.refuses_once_more(id) => Some("503 Service Unavailable"),
            _ => None,
        }
    }

    /// Takes a message for good.
    pub(crate) fn take(&self, id: Uuid, request: Uuid) -> io::Result<()> {
        let delivery = Delivery { id, request, process: self.process, at: unix_micros() };
        let mut line = serde_json::to_vec(&delivery)?;
        line.push(b'\n');
        // One write to a file opened for appending: lines of several processes never mix.
        (&self.file).write_all(&line)
    }

    /// Marks are files, because the next attempt may be made by another process.
    fn refuses_once_more(&self, id: Uuid) -> bool {
        (1..=2).any(|n| File::create_new(self.folder.join(format!("refused-{id}-{n}"))).is_ok())
    }
}

#[async_trait]
impl ChannelProvider for SinkProvider {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        if let Some(reason) = self.refusal(message.id, &message.address) {
            return Err(DeliveryError::transient(reason));
        }
        self.take(message.id, message.request_id).map_err(|e| DeliveryError::transient(e.to_string()))?;
        Ok(Delivered { reference: Some(format!("sink-{}", self.process)) })
    }
}

/// All deliveries so far, read as the file grows.
pub(crate) struct Sink {
    file: File,
    rest: Vec<u8>,
    deliveries: HashMap<Uuid, Vec<Delivery>>,
    count: usize,
}

impl Sink {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = Self::path(folder);
        File::create(&path)?;
        Ok(Self { file: File::open(path)?, rest: Vec::new(), deliveries: HashMap::new(), count: 0 })
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join("deliveries.jsonl")
    }

    /// Reads what was appended since the last time; a line that is not whole yet waits for the next.
    pub(crate) fn read_on(&mut self) -> io::Result<()> {
        self.file.read_to_end(&mut self.rest)?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let delivery: Delivery = serde_json::from_slice(line)?;
            self.deliveries.entry(delivery.id).or_default().push(delivery);
            self.count += 1;
        }
        Ok(())
    }

    /// How many lines there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The deliveries by message.
    pub(crate) fn deliveries(&self) -> &HashMap<Uuid, Vec<Delivery>> {
        &self.deliveries
    }
}

/// Time on the clock that all processes of a machine share.
pub(crate) fn unix_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
