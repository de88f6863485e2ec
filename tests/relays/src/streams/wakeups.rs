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
    let [received, timed] = places;
    let waited = RedisBackend::fresh_place(url).0;
    suite.add_async_test("redis::wakeups::waits_keep_the_contract_of_the_port", async move {
        let wakeup: Arc<dyn Wakeup> = Arc::new(RedisWakeup::new(waited));
        let queue = Fixture::fresh_queue();
        Listener::on(&wakeup, &queue).is_connected().await;
        keeps_the_contract(&wakeup, &queue, || async { wakeup.wake(&queue).await.expect("wake") }).await;
    });
    suite.add_async_test("redis::wakeups::a_wakeup_is_received_on_its_queue_and_nowhere_else", async move {
        is_received_on_its_queue(received).await;
    });
    suite.add_long("latency", "redis::wakeups::how_long_a_wakeup_takes", move || {
        println!("redis::wakeups: published to received, p50 and p99: {}", RUNTIME.block_on(takes(timed)));
    });
    suite.add_async_test("redis::wakeups::a_relay_hears_again_when_redis_is_back", async move {
        is_received_after_a_restart().await;
    });
}

/// A task that waits for wakeups and sends the moment at which each wait ended.
fn waits(place: &RedisPlace, queue: &QueueName) -> mpsc::UnboundedReceiver<Instant> {
    let (ended, wakes) = mpsc::unbounded_channel();
    let (wakeup, queue) = (RedisWakeup::new(place.clone()), queue.clone());
    tokio::spawn(async move {
        loop {
            wakeup.wait(&queue).await;
            if ended.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    wakes
}

/// Waits until the listener is connected, which it says by a wakeup.
async fn connected(wakes: &mut mpsc::UnboundedReceiver<Instant>) {
    wakes.recv().await.expect("the waiter has ended");
}

async fn is_received_on_its_queue(place: RedisPlace) {
    let (queue, other) = (Fixture::fresh_queue(), Fixture::fresh_queue());
    let (mut wakes, mut other_wakes) = (waits(&place, &queue), waits(&place, &other));
    connected(&mut wakes).await;
    connected(&mut other_wakes).await;
    let waker = RedisWakeup::new(place);
    waker.wake(&queue).await.expect("wake");
    wakes.recv().await.expect("the waiter has ended");
    // What is published comes in order: had the other received the first, this would be its second.
    waker.wake(&other).await.expect("wake");
    other_wakes.recv().await.expect("the waiter has ended");
    assert!(other_wakes.try_recv().is_err() && wakes.try_recv().is_err());
}

async fn takes(place: RedisPlace) -> String {
    let queue = Fixture::fresh_queue();
    let mut wakes = waits(&place, &queue);
    connected(&mut wakes).await;
    let waker = RedisWakeup::new(place);
    let mut times = Vec::new();
    for _ in 0..500 {
        let begun = Instant::now();
        waker.wake(&queue).await.expect("wake");
        let received = wakes.recv().await.expect("the waiter has ended");
        times.push(received.saturating_duration_since(begun));
    }
    times.sort_unstable();
    format!("{:?} and {:?}", times[times.len() / 2], times[times.len() * 99 / 100])
}

async fn is_received_after_a_restart() {
    let redis = PrivateRedis::start();
    let place: RedisPlace = redis.url().parse().expect("a place");
    let queue = Fixture::fresh_queue();
    let mut wakes = waits(&place, &queue);
    connected(&mut wakes).await;
    redis.kill();
    let waker = RedisWakeup::new(place);
    let error = waker.wake(&queue).await.expect_err("the server is down");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(wakes.try_recv().is_err(), "woken without a wakeup");
    redis.start_again();
    connected(&mut wakes).await;
    eventually("Redis is reached again", || async { waker.wake(&queue).await.is_ok() }).await;
    wakes.recv().await.expect("the waiter has ended");
}
