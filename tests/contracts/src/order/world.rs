use std::{collections::HashMap, sync::Arc, time::Duration};

use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, MessageId, QueueName, Reason, RunPlace, Settled, Settlement, StreamId,
};
use claimstream_sea_orm::FrozenClock;
use proptest::{collection::vec, prelude::*};

use super::message;
use crate::{Fixture, Instance, LEASE, Ports, backend::SeaOrmBackend};

const INSTANCES: usize = 3;
/// More than there are shards, so that keys share them.
const KEYS: u8 = 12;

/// What happens next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Enqueue {
        keys: Vec<u8>,
    },
    Claim {
        by: usize,
        limit: usize,
    },
    /// Ends the claim at this place among those in hand.
    End {
        by: usize,
        at: usize,
        how: How,
    },
    Kill {
        by: usize,
    },
    Wait {
        millis: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Ack,
    Nack,
    Bury,
    Release,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let how =
        prop_oneof![5 => Just(How::Ack), 2 => Just(How::Nack), 1 => Just(How::Bury), 1 => Just(How::Release)];
    // Mostly one instance and small claims: what is due fills them, and the instance goes on from where it was.
    let by = || prop_oneof![3 => Just(0), 2 => 0..INSTANCES];
    let limit = prop_oneof![4 => 1..3_usize, 1 => 3..9_usize];
    // Most waits are shorter than anything lasts that an instance remembers.
    let millis = prop_oneof![2 => 0..500_u64, 1 => 0..40_000_u64];
    prop_oneof![
        4 => vec(0..KEYS, 1..9).prop_map(|keys| Step::Enqueue { keys }),
        6 => (by(), limit).prop_map(|(by, limit)| Step::Claim { by, limit }),
        8 => (by(), 0..6_usize, how).prop_map(|(by, at, how)| Step::End { by, at, how }),
        1 => (0..INSTANCES).prop_map(|by| Step::Kill { by }),
        2 => millis.prop_map(|millis| Step::Wait { millis }),
    ]
}

/// The instances, and what is known of every message from outside.
pub(super) struct World {
    /// Whether instances claim runs of keys.
    runs: bool,
    backend: Arc<SeaOrmBackend>,
    url: String,
    clock: FrozenClock,
    queue: QueueName,
    instances: Vec<(Instance, Vec<Claimed>)>,
    opened: u64,
    /// The messages of each key that are not done, the oldest first.
    waiting: HashMap<String, Vec<MessageId>>,
    /// How often each message was handed out and not given back.
    attempts: HashMap<MessageId, u32>,
    /// How often each message was given back too late: each time one attempt is taken back, unless others have counted since.
    late: HashMap<MessageId, u32>,
}

impl World {
    pub(super) async fn open(backend: Arc<SeaOrmBackend>, runs: bool) -> Self {
        let url = backend.shared_database().await.expect("a database");
        let mut world = Self {
            runs,
            backend,
            url,
            clock: FrozenClock::at(Fixture::start().as_micros()),
            queue: Fixture::fresh_queue(),
            instances: Vec::new(),
            opened: 0,
            waiting: HashMap::new(),
            attempts: HashMap::new(),
            late: HashMap::new(),
        };
        for _ in 0..INSTANCES {
            let instance = world.instance().await;
            world.instances.push((instance, Vec::new()));
        }
        world
    }

    async fn instance(&mut self) -> Instance {
        self.opened += 1;
        let outbox = self.backend.open(&self.url, Some(self.clock.clone())).await.expect("open");
        Instance::new(self.opened, Ports::of(outbox), self.queue.clone(), 10)
    }

    pub(super) async fn run(&mut self, step: &Step) {
        match step {
            Step::Enqueue { keys } => self.enqueue(keys).await,
            Step::Claim { by, limit } => self.claim(*by, *limit).await,
            Step::End { by, at, how } => self.end(*by, *at, *how).await,
            Step::Kill { by } => self.instances[*by] = (self.instance().await, Vec::new()),
            Step::Wait { millis } => self.clock.advance(Duration::from_millis(*millis)),
        }
    }

    async fn enqueue(&mut self, keys: &[u8]) {
        for key in keys {
            let name = format!("account-{key}");
            let message = message(&self.queue, &name);
            self.waiting.entry(name).or_default().push(message.id);
            self.instances[0].0.enqueue(&[message]).await;
            self.clock.advance(Duration::from_micros(1));
        }
    }

    async fn claim(&mut self, by: usize, limit: usize) {
        let (instance, in_hand) = &mut self.instances[by];
        let runs = self.runs.then_some(StreamId(by as u64));
        let claimed =
            instance.claim_as(&ClaimRequest { runs, ..instance.request(limit as u32, LEASE) }).await;
        for claimed in &claimed {
            let known = self.attempts.entry(claimed.message.id).or_default();
            let late = self.late.entry(claimed.message.id).or_default();
            *known += 1;
            let allowed = known.saturating_sub(*late)..=*known;
            assert!(allowed.contains(&claimed.attempt), "not one of attempts {allowed:?}: {claimed:?}");
            *late -= *known - claimed.attempt;
            *known = claimed.attempt;
            let key = claimed.message.ordering_key.as_ref().expect("a key").as_str();
            let place = |id| self.waiting[key].iter().position(|waiting| *waiting == id);
            let expected = match claimed.place {
                RunPlace::Behind(before) => place(before).map(|before| before + 1),
                RunPlace::Alone | RunPlace::Head => Some(0),
            };
            assert_eq!(place(claimed.message.id), expected, "not the next of {key}");
        }
        in_hand.extend(claimed);
    }

    async fn end(&mut self, by: usize, at: usize, how: How) {
        let (instance, in_hand) = &mut self.instances[by];
        if in_hand.is_empty() {
            return;
        }
        let claimed = in_hand.remove(at % in_hand.len());
        let disposition = match how {
            How::Ack => Disposition::Done { emit: vec![] },
            How::Nack => Disposition::Retry { after: Duration::from_secs(7), reason: Reason::new("not now") },
            How::Bury => Disposition::dead(Reason::new("never")),
            How::Release => Disposition::Returned,
        };
        let settlement = Settlement { receipt: claimed.receipt.clone(), disposition };
        let settled = match instance.try_settle(vec![settlement]).await.as_deref() {
            Some([settled @ (Settled::Accepted | Settled::Superseded)]) => *settled,
            _ => {
                assert!(self.runs, "nothing stands before it");
                return in_hand.push(claimed);
            }
        };
        if settled == Settled::Superseded {
            let late = self.late.entry(claimed.message.id).or_default();
            // What is behind a message that comes again is not counted either.
            *late += u32::from(self.runs || matches!(how, How::Release));
            return;
        }
        let key = claimed.message.ordering_key.as_ref().expect("a key").as_str();
        let waiting = self.waiting.get_mut(key).expect("a known key");
        let is_tail = self.runs && matches!(how, How::Release);
        let is_next = waiting.first() == Some(&claimed.message.id);
        assert!(is_next || is_tail, "{how:?} of {key} out of order or twice");
        match how {
            How::Ack | How::Bury => drop(waiting.remove(0)),
            How::Nack => {}
            How::Release => *self.attempts.get_mut(&claimed.message.id).expect("a count") -= 1,
        }
    }

    /// Kills everybody, and has one instance finish what is left; every message comes to its end.
    pub(super) async fn drain(mut self) {
        for by in 0..INSTANCES {
            self.instances[by] = (self.instance().await, Vec::new());
        }
        self.clock.advance(LEASE);
        let mut left: usize = self.waiting.values().map(Vec::len).sum();
        for _ in 0..4 * left + 10 {
            self.claim(0, 100).await;
            while !self.instances[0].1.is_empty() {
                self.end(0, 0, How::Ack).await;
                left -= 1;
            }
            // What was put off comes, and watermarks are forgotten.
            self.clock.advance(Duration::from_secs(2));
            if left == 0 {
                break;
            }
        }
        assert_eq!(left, 0, "messages were never handed out again");
        self.instances[0].0.finds_nothing().await;
    }
}
