use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use claimstream_domain::{Publication, Published};
use claimstream_ports::Publish;
use tokio::{sync::watch, time::sleep};

use crate::publication::publication;

/// Messages of some keys that are published again and again until each is confirmed.
pub(crate) struct Load {
    publications: Vec<Publication>,
    confirmed: watch::Sender<usize>,
}

/// An entry that a broker holds: the message's id and its key.
pub(crate) type Entry = (String, String);

impl Load {
    const BATCH: usize = 100;

    pub(crate) fn of(place: &str, messages: usize, keys: usize) -> Self {
        let keyed = |number| publication(place, Some(&format!("key-{}", number % keys)), number);
        Self { publications: (0..messages).map(keyed).collect(), confirmed: watch::Sender::new(0) }
    }

    /// Publishes everything in batches, each until all of it is confirmed.
    pub(crate) async fn publish(&self, broker: &dyn Publish) {
        for batch in self.publications.chunks(Self::BATCH) {
            let mut pending = batch.to_vec();
            while !pending.is_empty() {
                let answers = broker.publish(&pending).await;
                let all = pending.len();
                let left =
                    pending.into_iter().zip(answers).filter_map(|(publication, answer)| match answer {
                        Published::Confirmed => None,
                        Published::Unavailable(_) | Published::Unconfirmed(_) | Published::Unsent(_) => {
                            Some(publication)
                        }
                        Published::Refused(why) => panic!("refused: {why}"),
                    });
                pending = left.collect();
                self.confirmed.send_modify(|confirmed| *confirmed += all - pending.len());
                if !pending.is_empty() {
                    // A broker that starts again needs the processor more.
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    /// Waits until so many are confirmed.
    pub(crate) async fn confirmed(&self, messages: usize) {
        let mut confirmed = self.confirmed.subscribe();
        confirmed.wait_for(|confirmed| *confirmed >= messages).await.unwrap();
    }

    /// Compares what a broker holds with what was published: nothing is lost, and without repetitions each key has its order.
    /// Answers how many entries are repetitions.
    pub(crate) fn check(&self, held: &[Entry]) -> usize {
        let mut seen = BTreeSet::new();
        let mut by_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, key) in held {
            if seen.insert(id.as_str()) {
                by_key.entry(key).or_default().push(id);
            }
        }
        let lost = self.publications.iter().filter(|it| !seen.contains(it.id.to_string().as_str())).count();
        assert_eq!(lost, 0, "{lost} of {} are lost", self.publications.len());
        assert_eq!(seen.len(), self.publications.len(), "the broker holds what was not published");
        for (key, ids) in by_key {
            let of_key = |it: &&Publication| it.key.as_ref().is_some_and(|own| own.as_str() == key);
            let expected: Vec<_> =
                self.publications.iter().filter(of_key).map(|it| it.id.to_string()).collect();
            assert_eq!(ids, expected, "the order of {key}");
        }
        held.len() - seen.len()
    }
}
