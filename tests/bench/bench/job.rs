use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::latencies::Latencies;

/// What a process of the bench is started with, ours or a peer's; as JSON on its command line.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub(crate) struct Job {
    /// The database.
    pub(crate) url: String,
    /// The contender's name.
    pub(crate) contender: String,
    /// How many messages there are; they are numbered from 0.
    pub(crate) backlog: u64,
    /// How many messages a claim asks for.
    pub(crate) batch: u64,
    /// How many bytes a message carries; the first eight are its number, big-endian.
    pub(crate) payload: usize,
    /// Which of the instances this is, from 0.
    pub(crate) number: u64,
    /// How many instances there are.
    pub(crate) instances: u64,
    /// An instance ends when nothing is left, and no later than this many seconds after its start signal.
    pub(crate) seconds: u64,
    /// Stays when nothing is left, until the bench stops it or its time is over.
    pub(crate) stay: bool,
    /// Deletes what finished messages leave behind, during its work.
    pub(crate) swept: bool,
    /// Works on a queue that stays empty.
    pub(crate) aside: bool,
    /// In how many queues the messages lie; 0 and 1 stand for one.
    pub(crate) queues: u64,
    /// Under how many ordering keys the messages lie; 0 if they have none.
    pub(crate) keys: u64,
    /// How many recipients a notification request has.
    pub(crate) recipients: u64,
    /// How many producers there are in the process.
    pub(crate) producers: u64,
    /// How many messages a transaction enqueues.
    pub(crate) per_transaction: u64,
    /// Enqueues in transactions of the outbox's own type, not of the driver's.
    pub(crate) own_transactions: bool,
    /// How many messages a second are to be enqueued.
    pub(crate) rate: f64,
}

impl Job {
    /// Whether the database is a file of SQLite.
    pub(crate) fn is_on_file(&self) -> bool {
        self.url.starts_with("sqlite:")
    }
}

/// What an instance has done; it prints it as JSON.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(crate) struct Work {
    /// When its last acknowledgement was accepted, in seconds since 1970.
    pub(crate) last: f64,
    /// The numbers of the messages handed out to it, in order, whatever came of them.
    pub(crate) handed_out: Vec<u64>,
    /// Those whose acknowledgement was accepted.
    pub(crate) acknowledged: Vec<u64>,
    /// How many acknowledgements came too late.
    pub(crate) superseded: u64,
    /// The processor time it took, in user and kernel mode, since its start signal.
    pub(crate) cpu_seconds: f64,
    /// How many acknowledgements there were in each half second since its start signal.
    #[serde(default)]
    pub(crate) pace: Vec<u64>,
    /// From before the enqueueing transaction began until the handler was called, where messages say when that was.
    #[serde(default)]
    pub(crate) latencies: Latencies,
    /// Errors that reached the consumer.
    #[serde(default)]
    pub(crate) errors: Vec<String>,
}

/// How long a bar of [`Work::pace`] lasts.
pub(crate) const PACE: Duration = Duration::from_millis(500);

impl Work {
    /// Counts how long a message waited that was sent at this moment, if it says so.
    pub(crate) fn handed(&mut self, sent: u64) {
        if sent != 0 {
            self.latencies.add(Duration::from_micros(unix_micros().saturating_sub(sent)));
        }
    }

    /// Counts an acknowledgement that was accepted.
    pub(crate) fn accept(&mut self, number: u64, went: f64) {
        self.accept_all([number], went);
    }

    /// Counts acknowledgements that were accepted together.
    pub(crate) fn accept_all(&mut self, numbers: impl IntoIterator<Item = u64>, went: f64) {
        self.last = unix_now();
        let bar = ((self.last - went).max(0.0) / PACE.as_secs_f64()) as usize;
        if self.pace.len() <= bar {
            self.pace.resize(bar + 1, 0);
        }
        let before = self.acknowledged.len();
        self.acknowledged.extend(numbers);
        self.pace[bar] += (self.acknowledged.len() - before) as u64;
    }
}

/// What producers have done; printed as JSON.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(crate) struct Produced {
    /// How many messages were committed.
    pub(crate) count: u64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// How long each transaction took, from its begin to its commit.
    #[serde(default)]
    pub(crate) transactions: Latencies,
    /// The numbers of the messages that were committed, where they are numbered.
    #[serde(default)]
    pub(crate) numbers: Vec<u64>,
    /// Transactions that failed.
    #[serde(default)]
    pub(crate) errors: Vec<String>,
    /// The processor time of the process.
    #[serde(default)]
    pub(crate) cpu_seconds: f64,
}

/// What a message carries: its number, when it was sent in microseconds since 1970 or 0, and filling.
pub(crate) fn payload(number: u64, sent: u64, bytes: usize) -> Vec<u8> {
    let mut payload = vec![b'x'; bytes.max(16)];
    payload[..8].copy_from_slice(&number.to_be_bytes());
    payload[8..16].copy_from_slice(&sent.to_be_bytes());
    payload
}

/// The number in a payload.
pub(crate) fn number_in(payload: &[u8]) -> u64 {
    eight(payload, 0)
}

/// When the message of a payload was sent, in microseconds since 1970; 0 if it does not say.
pub(crate) fn sent_in(payload: &[u8]) -> u64 {
    eight(payload, 8)
}

fn eight(payload: &[u8], at: usize) -> u64 {
    payload.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(u64::MAX, u64::from_be_bytes)
}

/// Time on the clock that all processes of a machine share, in seconds since 1970.
pub(crate) fn unix_now() -> f64 {
    since_1970().as_secs_f64()
}

/// The same in microseconds.
pub(crate) fn unix_micros() -> u64 {
    since_1970().as_micros() as u64
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_says_its_number_and_when_it_was_sent() {
        let payload = payload(70_000, 12, 500);
        assert_eq!((payload.len(), number_in(&payload), sent_in(&payload)), (500, 70_000, 12));
    }

    #[test]
    fn acknowledgements_fall_into_half_seconds() {
        let mut work = Work::default();
        work.accept_all([1, 2], unix_now());
        work.accept(3, unix_now() - 1.2);
        assert_eq!((work.acknowledged, work.pace), (vec![1, 2, 3], vec![2, 0, 1]));
    }
}
