//! Wakeups from other processes, over a Redis.
//! Promise: a relay notices a wakeup from another process

use std::{sync::Arc, time::Instant};

use claimstream_domain::QueueName;
use claimstream_ports::{StoreErrorKind, Wakeup};
use claimstream_redis::{RedisPlace, RedisWakeup};
use claimstream_testbed::eventually;
use tokio::sync::mpsc;

use super::listener::{Listener, keeps_the_contract};
use crate::{Fixture, PrivateRedis, Suite, backend::RedisBackend, suite::RUNTIME};

/// Adds the wakeups on the Redis at this URL, and on one of their own that is restarted.
pub fn add_to(suite: &mut Suite, url: &str) {
    let places = [(); 2].map(|()| RedisBackend::fresh_place(url).0);
    let [heard, timed] = places;
    let waited = RedisBackend::fresh_place(url).0;
    suite.add_async_trial("redis::wakeups::waits_keep_the_contract_of_the_port", async move {
        let wakeup: Arc<dyn Wakeup> = Arc::new(RedisWakeup::new(waited));
        let queue = Fixture::fresh_queue();
        Listener::on(&wakeup, &queue).is_connected().await;
        keeps_the_contract(&wakeup, &queue, || async { wakeup.wake(&queue).await.expect("wake") }).await;
    });
    suite.add_async_trial("redis::wakeups::a_wakeup_is_heard_on_its_queue_and_nowhere_else", async move {
        is_heard_on_its_queue(heard).await;
    });
    suite.add_long("latency", "redis::wakeups::how_long_a_wakeup_takes", move || {
        println!("redis::wakeups: published to heard, p50 and p99: {}", RUNTIME.block_on(takes(timed)));
    });
    suite.add_async_trial("redis::wakeups::a_relay_hears_again_when_redis_is_back", async move {
        is_heard_after_a_restart().await;
    });
}

/// A task that waits for wakeups and sends the moment at which each wait ended.
fn waits(place: &RedisPlace, queue: &QueueName) -> mpsc::UnboundedReceiver<Instant> {
    let (ended, told) = mpsc::unbounded_channel();
    let (wakeup, queue) = (RedisWakeup::new(place.clone()), queue.clone());
    tokio::spawn(async move {
        loop {
            wakeup.wait(&queue).await;
            if ended.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    told
}

/// Waits until the listener is connected, which it says by a wakeup.
async fn connected(told: &mut mpsc::UnboundedReceiver<Instant>) {
    told.recv().await.expect("the waiter has ended");
}

async fn is_heard_on_its_queue(place: RedisPlace) {
    let (queue, other) = (Fixture::fresh_queue(), Fixture::fresh_queue());
    let (mut told, mut told_other) = (waits(&place, &queue), waits(&place, &other));
    connected(&mut told).await;
    connected(&mut told_other).await;
    let waker = RedisWakeup::new(place);
    waker.wake(&queue).await.expect("wake");
    told.recv().await.expect("the waiter has ended");
    // What is published comes in order: had the other heard the first, this would be its second.
    waker.wake(&other).await.expect("wake");
    told_other.recv().await.expect("the waiter has ended");
    assert!(told_other.try_recv().is_err() && told.try_recv().is_err());
}

async fn takes(place: RedisPlace) -> String {
    let queue = Fixture::fresh_queue();
    let mut told = waits(&place, &queue);
    connected(&mut told).await;
    let waker = RedisWakeup::new(place);
    let mut times = Vec::new();
    for _ in 0..500 {
        let begun = Instant::now();
        waker.wake(&queue).await.expect("wake");
        let heard = told.recv().await.expect("the waiter has ended");
        times.push(heard.saturating_duration_since(begun));
    }
    times.sort_unstable();
    format!("{:?} and {:?}", times[times.len() / 2], times[times.len() * 99 / 100])
}

async fn is_heard_after_a_restart() {
    let redis = PrivateRedis::start();
    let place: RedisPlace = redis.url().parse().expect("a place");
    let queue = Fixture::fresh_queue();
    let mut told = waits(&place, &queue);
    connected(&mut told).await;
    redis.kill();
    let waker = RedisWakeup::new(place);
    let error = waker.wake(&queue).await.expect_err("nobody is there");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(told.try_recv().is_err(), "woken by nobody");
    redis.start_again();
    connected(&mut told).await;
    eventually("Redis is reached again", || async { waker.wake(&queue).await.is_ok() }).await;
    told.recv().await.expect("the waiter has ended");
}
