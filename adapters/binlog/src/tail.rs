use std::{collections::BTreeSet, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use claimstream_domain::QueueName;
use claimstream_ports::{Deadline, Timer};
use futures::{FutureExt, StreamExt};
use mysql_async::{BinlogStream, Error};

use crate::{
    connection::Connection,
    listeners::Listeners,
    news::News,
    place::BinlogPlace,
    position::{Position, Reading},
    retry::Retry,
    standing::Standing,
    trouble::Trouble,
};

/// Reads the log for as long as it is polled, and wakes those whom it concerns.
pub(crate) struct Tail {
    place: BinlogPlace,
    listeners: Arc<Listeners>,
    timer: Arc<dyn Timer>,
    /// How far the log was read, also by a connection that has ended.
    reading: Option<Reading>,
    standing: Standing,
}

impl Tail {
    /// How long the server may take to begin.
    const TIMEOUT: Duration = Duration::from_secs(10);
    /// A server that misses two heartbeats is gone.
    const SILENCE: Duration = Duration::from_secs(3 * Connection::HEARTBEAT);

    pub(crate) fn new(place: BinlogPlace, listeners: Arc<Listeners>, timer: Arc<dyn Timer>) -> Self {
        Self { place, listeners, timer, reading: None, standing: Standing::default() }
    }

    pub(crate) async fn run(mut self) {
        let mut retry = Retry::new(self.place.refused_for());
        loop {
            let begun = self.timer.now();
            // The driver panics at some events that are damaged.
            let read = AssertUnwindSafe(self.read()).catch_unwind().await;
            let trouble =
                read.unwrap_or_else(|_| Trouble::Unreadable("the driver cannot read an event".into()));
            self.note(&trouble);
            self.timer.sleep(retry.after(&trouble, self.timer.now().saturating_sub(begun))).await;
        }
    }

    /// Reads on until something is wrong.
    async fn read(&mut self) -> Trouble {
        let timer = Arc::clone(&self.timer);
        let mut events = match Deadline::after(Self::TIMEOUT, &timer).within(self.begin()).await {
            Some(Ok(events)) => events,
            Some(Err(trouble)) => return trouble,
            None => return Trouble::Passing("the server does not answer".into()),
        };
        let (mut is_new, mut second_look) = (true, SecondLook::default());
        let mut lasts = pin!(timer.sleep(Retry::STEADY));
        let mut has_lasted = false;
        loop {
            tokio::select! {
                event = async { Deadline::after(Self::SILENCE, &timer).within(events.next()).await } => {
                    let event = match event {
                        Some(Some(Ok(event))) => event,
                        Some(Some(Err(error))) => return self.trouble_with_event(&error),
                        Some(None) => return Trouble::Passing("the server has ended the log".into()),
                        None => return self.silent(),
                    };
                    if let Some(reading) = &mut self.reading {
                        reading.note(&event);
                    }
                    let news = match std::mem::take(&mut is_new) {
                        // Something may have been written while the log was not read.
                        true => self.opened(),
                        false => News::of(&event, self.place.database(), |table| events.get_tme(table)),
                    };
                    let concerned = self.listeners.concerned(&news);
                    self.listeners.wake(&concerned).await;
                    second_look.add(concerned, &timer);
                }
                () = second_look.is_due(), if second_look.at.is_some() => {
                    self.listeners.wake(&second_look.take()).await;
                }
                () = &mut lasts, if !has_lasted => {
                    has_lasted = true;
                    self.say_again();
                }
            }
        }
    }

    async fn begin(&mut self) -> Result<BinlogStream, Trouble> {
        let mut connection = Connection::open(&self.place).await?;
        let end = connection.end_of_log().await?;
        let kept = self.reading.as_ref().map(|reading| reading.position.clone());
        let from = Position::begin(kept, end.clone());
        let events = connection.events(&from).await?;
        self.reading = Some(Reading::from(from, &end));
        Ok(events)
    }

    fn trouble_with_event(&self, error: &Error) -> Trouble {
        match Trouble::of(error, &self.place) {
            Trouble::Passing(why) => self.passing(why),
            trouble => trouble,
        }
    }

    /// Nothing has come for longer than a server may be silent; a long event is nothing until all of it is there.
    fn silent(&self) -> Trouble {
        self.passing("the server is silent".into())
    }

    /// A connection that breaks or is silent passes; one that ends where an earlier one has ended, at an event that is still there, meets
    /// what cannot be read, or takes longer than a server may be silent.
    fn passing(&self, why: String) -> Trouble {
        match self.reading.as_ref().is_some_and(Reading::is_stuck) {
            true => Trouble::Unreadable(why),
            false => Trouble::Passing(why),
        }
    }

    /// The server sends events.
    fn opened(&mut self) -> News {
        let (file, at) = self.at();
        let (place, server_id) = (&self.place, self.place.server_id());
        match self.standing.opened() {
            Some(_) => tracing::info!(%place, server_id, file, at, "the binary log wakes relays"),
            None => tracing::debug!(%place, server_id, file, at, "the binary log is read again"),
        }
        News::Any
    }

    fn say_again(&mut self) {
        let ((file, at), place) = (self.at(), &self.place);
        if self.standing.lasted().is_some() {
            tracing::info!(%place, file, at, "the binary log wakes relays again");
        }
    }

    /// Where it reads.
    fn at(&self) -> (String, u64) {
        let position = self.reading.as_ref().map(|reading| &reading.position);
        position.map_or_else(Default::default, |it| (it.file(), it.at))
    }

    /// Says what is wrong, once, and forgets a place from which nothing more can be read.
    fn note(&mut self, trouble: &Trouble) {
        let ((file, at), place) = (self.at(), &self.place);
        let is_news = self.standing.ended(trouble).is_some();
        match trouble {
            Trouble::Refused(why) if is_news => {
                tracing::warn!(%place, why, "the binary log wakes no relay; {BY_THEMSELVES}");
            }
            Trouble::Passing(why) if is_news => {
                tracing::warn!(%place, why, "the binary log is not read for now; {BY_THEMSELVES}");
            }
            Trouble::Lost(why) if is_news => tracing::warn!(
                %place, why, file, at,
                "the place in the binary log is lost; it is read from its end, and every queue is looked at"
            ),
            Trouble::Unreadable(why) if is_news => tracing::warn!(
                %place, why, file, at,
                "an event of the binary log cannot be read; the log is skipped to its end, and every queue is looked at"
            ),
            Trouble::Refused(why) | Trouble::Passing(why) | Trouble::Lost(why) | Trouble::Unreadable(why) => {
                tracing::debug!(%place, why, file, at, "the binary log is still not read");
            }
        }
        if matches!(trouble, Trouble::Lost(_) | Trouble::Unreadable(_)) {
            self.reading = None;
        }
    }
}

const BY_THEMSELVES: &str = "relays look by themselves, every relay.idle_max at least";

/// Queues that are looked at again, because an event may come before its row can be seen.
///
/// A server writes its log before it makes a commit visible, and with semi-synchronous replication the time between is a round trip to a replica.
#[derive(Default)]
struct SecondLook {
    queues: BTreeSet<QueueName>,
    at: Option<Deadline>,
}

impl SecondLook {
    /// How long after an event; shorter than the wait of a relay that has found nothing.
    const AFTER: Duration = Duration::from_millis(10);

    fn add(&mut self, queues: BTreeSet<QueueName>, timer: &Arc<dyn Timer>) {
        if !queues.is_empty() {
            self.queues.extend(queues);
            self.at.get_or_insert_with(|| Deadline::after(Self::AFTER, timer));
        }
    }

    async fn is_due(&self) {
        if let Some(at) = &self.at {
            at.passes().await;
        }
    }

    fn take(&mut self) -> BTreeSet<QueueName> {
        self.at = None;
        std::mem::take(&mut self.queues)
    }
}

#[cfg(test)]
mod tests {
    use claimstream_ports::mock::{HandTimer, MockWakeup};

    use super::*;

    /// Guard: an event that takes longer than a server may be silent is skipped | src/tail.rs `silent`: always `Passing`
    #[test]
    fn a_server_that_is_silent_twice_at_one_event_has_one_that_cannot_be_read() {
        let place = BinlogPlace::new("mysql://app@127.0.0.1/shop").unwrap();
        let listeners = Arc::new(Listeners::new(Arc::new(MockWakeup::new())));
        let mut tail = Tail::new(place, listeners, Arc::new(HandTimer::default()));
        let at = |at| Position { file: b"log.2".to_vec(), at };
        tail.reading = Some(Reading::from(at(4_000), &at(4_000)));
        assert!(matches!(tail.silent(), Trouble::Passing(_)), "nothing was there to read");
        tail.reading = Some(Reading::from(at(4_000), &at(5_000)));
        assert!(matches!(tail.silent(), Trouble::Unreadable(_)));
    }

    #[test]
    fn what_an_event_was_about_is_looked_at_once_more() {
        let [orders, mails] = ["orders", "mails"].map(|name| QueueName::new(name).unwrap());
        let (mut second_look, hand) = (SecondLook::default(), HandTimer::default());
        let timer: Arc<dyn Timer> = Arc::new(hand.clone());
        second_look.add(BTreeSet::new(), &timer);
        assert!(second_look.at.is_none());
        second_look.add([orders.clone()].into(), &timer);
        hand.advance(SecondLook::AFTER / 2);
        second_look.add([mails.clone()].into(), &timer);
        assert!(second_look.is_due().now_or_never().is_none());
        hand.advance(SecondLook::AFTER / 2);
        assert!(second_look.is_due().now_or_never().is_some());
        assert_eq!(second_look.take(), [mails, orders].into());
        assert!(second_look.at.is_none() && second_look.take().is_empty());
    }
}
