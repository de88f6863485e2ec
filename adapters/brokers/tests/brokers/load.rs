//! Messages with keys, published as a relay does it, and what became of them.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    time::Duration,
};

use claimstream_domain::{Headers, MessageId, OrderingKey, Payload, Publication, Published};
use claimstream_ports::Publish;
use tokio::sync::watch;

/// A message without a key.
pub(crate) fn publication(place: &str, text: impl Into<Vec<u8>>) -> Publication {
    Publication {
        id: MessageId::new(uuid::Uuid::now_v7()),
        place: place.to_owned(),
        key: None,
        attributes: Vec::new(),
        headers: Headers::new(),
        body: Payload::new("text/plain", text.into()).unwrap(),
    }
}

/// The n-th message, of one of 50 keys; its body says its number.
pub(crate) fn numbered(place: &str, number: u64) -> Publication {
    let key = OrderingKey::new(&format!("key-{}", number % KEYS)).unwrap();
    Publication { key: Some(key), ..publication(place, number.to_string()) }
}

const KEYS: u64 = 50;

/// A relay in small: it publishes in batches, and again what was not confirmed, before anything newer.
pub(crate) struct Load<'a> {
    publisher: &'a dyn Publish,
    place: &'a str,
    batch: usize,
    waiting: VecDeque<Publication>,
    pub(crate) published: Vec<Publication>,
    pub(crate) unconfirmed: usize,
    confirmed: watch::Sender<usize>,
    next: u64,
}

impl<'a> Load<'a> {
    pub(crate) fn on(publisher: &'a dyn Publish, place: &'a str, batch: usize) -> Self {
        let (waiting, published) = (VecDeque::new(), Vec::new());
        let confirmed = watch::Sender::new(0);
        Self { publisher, place, batch, waiting, published, unconfirmed: 0, confirmed, next: 0 }
    }

    /// How many messages are confirmed, for [`more`].
    pub(crate) fn progress(&self) -> watch::Receiver<usize> {
        self.confirmed.subscribe()
    }

    /// One call with a full batch.
    pub(crate) async fn call(&mut self) {
        while self.waiting.len() < self.batch {
            self.waiting.push_back(numbered(self.place, self.next));
            self.next += 1;
        }
        self.publish().await;
    }

    /// Publishes what is left.
    pub(crate) async fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.publish().await;
        }
    }

    async fn publish(&mut self) {
        let count = self.waiting.len().min(self.batch);
        let batch: Vec<_> = self.waiting.drain(..count).collect();
        let answers = self.publisher.publish(&batch).await;
        assert_eq!(answers.len(), batch.len());
        let mut again = Vec::new();
        for (publication, answer) in batch.into_iter().zip(answers) {
            match answer {
                Published::Confirmed => self.published.push(publication),
                Published::Unavailable(_) | Published::Unconfirmed(_) | Published::Unsent(_) => {
                    again.push(publication)
                }
                Published::Refused(why) => panic!("refused: {why}"),
            }
        }
        self.confirmed.send_replace(self.published.len());
        if !again.is_empty() {
            self.unconfirmed += again.len();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        again.into_iter().rev().for_each(|publication| self.waiting.push_front(publication));
    }
}

/// Waits until so many more are confirmed.
pub(crate) async fn more(progress: &mut watch::Receiver<usize>, messages: usize) {
    let goal = *progress.borrow() + messages;
    progress.wait_for(|confirmed| *confirmed >= goal).await.unwrap();
}

/// What a reader found of a load.
pub(crate) struct Findings {
    pub(crate) lost: usize,
    pub(crate) repeated: usize,
    pub(crate) out_of_order: usize,
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost, repeated, out_of_order } = self;
        write!(
            f,
            "{lost} lost, {repeated} came twice and are known by their ids, {out_of_order} out of order"
        )
    }
}

impl Findings {
    /// Compares what was published with what was read: ids and bodies, in the order of reading.
    pub(crate) fn of(published: &[Publication], read: &[(String, Vec<u8>)]) -> Self {
        let mut seen = BTreeSet::new();
        let first: Vec<u64> = read
            .iter()
            .filter(|(id, _)| seen.insert(id.clone()))
            .map(|(_, body)| String::from_utf8_lossy(body).parse().unwrap())
            .collect();
        let lost = published.iter().filter(|publication| !seen.contains(&publication.id.to_string())).count();
        let mut last = BTreeMap::new();
        let mut out_of_order = 0;
        for number in first {
            let before = last.insert(number % KEYS, number);
            out_of_order += usize::from(before.is_some_and(|before| before > number));
        }
        Self { lost, repeated: read.len() - seen.len(), out_of_order }
    }
}
