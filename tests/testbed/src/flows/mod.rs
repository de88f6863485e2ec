//! Sagas, global transactions and a timer under faults, and how each of them ended.

mod books;
mod member;
mod outcome;
mod relays;
mod shelf;
mod starter;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use sea_orm::{ConnectionTrait, Database, DatabaseConnection};
use tokio::{sync::watch, task::JoinHandle};

use self::{member::Member, starter::Started};
use crate::work::Failure;

pub use outcome::Outcome;

/// Sagas and global transactions that are started and driven at every place, with their steps in two databases, and a timer.
pub struct Flows {
    ended: Arc<AtomicUsize>,
    stop_starting: watch::Sender<bool>,
    stop_relays: watch::Sender<bool>,
    starting: Vec<JoinHandle<Started>>,
    relays: Vec<JoinHandle<Result<(), Failure>>>,
}

/// Where sagas and global transactions have their rows and their messages.
const HOME: &str = "flows_home";
/// Where their other steps are.
const AWAY: &str = "flows_away";

impl Flows {
    /// What is left without an end this long after the last one is not waited for any more.
    const TIMEOUT: Duration = Duration::from_secs(60);
    const LOOK: Duration = Duration::from_millis(200);
    /// How long the timer may take to move on when nothing disturbs it.
    const TICK_WITHIN: Duration = Duration::from_secs(30);

    /// Makes the databases at `url`, and begins with a starter and relays at each of `places`, which are URLs of any database.
    pub async fn start(url: &str, places: &[String]) -> Result<Self, Failure> {
        books::make(url).await?;
        let ended = Arc::<AtomicUsize>::default();
        let (stop_starting, starting_stops) = watch::channel(false);
        let (stop_relays, relays_stop) = watch::channel(false);
        let (mut starting, mut relays) = (Vec::new(), Vec::new());
        for (number, place) in places.iter().enumerate() {
            let member = Member::open(place).await?;
            relays.push(tokio::spawn(relays::run(member.clone(), ended.clone(), relays_stop.clone())));
            starting.push(tokio::spawn(starter::run(member, number, starting_stops.clone())));
        }
        Ok(Self { ended, stop_starting, stop_relays, starting, relays })
    }

    /// How many messages of sagas, global transactions and the timer have come to an end so far.
    pub fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// Starts no more, waits until everything has come to an end or nothing moves any more, stops the relays, and reads at `url`
    /// how each has ended.
    pub async fn finish(self, url: &str) -> Result<Outcome, Failure> {
        let _ = self.stop_starting.send(true);
        let mut started = Started::default();
        for starter in self.starting {
            started.add(starter.await?);
        }
        let home = Database::connect(member::in_database(url, HOME)).await?;
        drain(&home).await;
        let ticks_on = moves_on(&home).await;
        let _ = self.stop_relays.send(true);
        for relay in self.relays {
            relay.await??;
        }
        home.close().await?;
        Outcome::read(url, &started, ticks_on).await
    }
}

/// Waits until nothing is left in the queues of sagas and global transactions, or nothing moves any more.
async fn drain(home: &DatabaseConnection) {
    let (mut depth, mut moved) = (i64::MAX, Instant::now());
    while depth > 0 && moved.elapsed() < Flows::TIMEOUT {
        if let Ok(now) = books::left(home).await
            && now < depth
        {
            (depth, moved) = (now, Instant::now());
        }
        tokio::time::sleep(Flows::LOOK).await;
    }
}

/// Whether the timer has another occurrence soon.
async fn moves_on(home: &impl ConnectionTrait) -> bool {
    let begun = Instant::now();
    let before = books::ticks(home).await.unwrap_or_default();
    while begun.elapsed() < Flows::TICK_WITHIN {
        tokio::time::sleep(Flows::LOOK).await;
        if books::ticks(home).await.is_ok_and(|now| now > before) {
            return true;
        }
    }
    false
}
