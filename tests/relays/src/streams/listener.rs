//! Promise: several waits notice the same wakeup, and a wakeup without a wait is kept for one

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::QueueName;
use claimstream_ports::Wakeup;
use futures::FutureExt;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{sleep, timeout},
};

/// A task that waits on a queue again and again, and the moments at which its waits ended.
pub(super) struct Listener(UnboundedReceiver<Instant>);

impl Listener {
    /// It proves nothing: it ends a run that would never end, and names what it waits for.
    pub(super) const STUCK: Duration = Duration::from_secs(300);
    /// What has not come by then was not sent; the second look after an event is over by then.
    const SOON: Duration = Duration::from_millis(150);

    pub(super) fn on(wakeup: &Arc<dyn Wakeup>, queue: &QueueName) -> Self {
        let (ended, moments) = unbounded_channel();
        let (wakeup, queue) = (Arc::clone(wakeup), queue.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = wakeup.wait(&queue) => {}
                    () = ended.closed() => return,
                }
                if ended.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
        Self(moments)
    }

    /// Waits until a wait has ended.
    pub(super) async fn receives(&mut self, what: &str) -> Instant {
        let received = timeout(Self::STUCK, self.0.recv()).await;
        received.unwrap_or_else(|_| panic!("not received: {what}")).expect("the listener has ended")
    }

    /// Waits until the reader is connected, which it says by a wakeup, and forgets that.
    pub(super) async fn is_connected(&mut self) {
        self.receives("a connection").await;
        self.is_quiet().await;
    }

    /// Waits until nothing more comes, and says how often something did.
    pub(super) async fn is_quiet(&mut self) -> usize {
        let mut ended = 0;
        while timeout(Self::SOON, self.0.recv()).await.is_ok() {
            ended += 1;
        }
        ended
    }
}

/// What the port owes of waits, on a queue that `cause` makes something happen to, and on which nothing else happens.
pub(super) async fn keeps_the_contract<F: Future<Output = ()>>(
    wakeup: &Arc<dyn Wakeup>,
    queue: &QueueName,
    cause: impl Fn() -> F,
) {
    let wait = || {
        let (wakeup, queue) = (Arc::clone(wakeup), queue.clone());
        async move { wakeup.wait(&queue).await }.boxed()
    };
    let ends = async |wait, what: &str| {
        timeout(Listener::STUCK, wait).await.unwrap_or_else(|_| panic!("not woken: {what}"));
    };
    // What connecting and earlier events have left.
    let forget = async || while timeout(Listener::SOON, wait()).await.is_ok() {};
    forget().await;
    let (mut polled, mut other) = (wait(), wait());
    assert!((&mut polled).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    cause().await;
    ends(other, "a wait that was polled before").await;
    ends(polled, "a wait that another has ended before").await;
    forget().await;
    cause().await;
    sleep(Listener::SOON).await;
    ends(wait(), "a wait that begins after a wakeup without a waiter").await;
    let left = timeout(Listener::SOON, wait()).await;
    assert!(left.is_err(), "a wakeup is kept for one wait and not for two");
}
