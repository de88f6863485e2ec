use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::notification::InAppEntry;
use claimstream_ports::{Timer, notification::InAppInbox};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use uuid::Uuid;

use super::Cursor;

/// Those who wait for new entries. One question for all of them is asked each second, whatever their number.
#[derive(Debug)]
pub(crate) struct Listeners {
    places: Arc<Semaphore>,
    /// `None` when the server stops.
    waiting: Mutex<Option<Senders>>,
    is_new: Notify,
}

/// The listeners of each user.
type Senders = BTreeMap<String, Vec<mpsc::Sender<Arc<InAppEntry>>>>;

/// A place among the listeners.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) entries: mpsc::Receiver<Arc<InAppEntry>>,
    _place: OwnedSemaphorePermit,
}

impl Listeners {
    /// How often new entries are asked for.
    const PAUSE: Duration = Duration::from_secs(1);
    /// How many users one question names, and the most entries of its answer.
    const USERS: usize = 200;
    const MOST: u32 = 1_000;
    /// How many entries wait for a listener that is slow; one that is slower has to come again.
    const AHEAD: usize = 64;

    /// At most so many.
    pub(crate) fn of(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { places, waiting: Mutex::new(Some(BTreeMap::new())), is_new: Notify::new() }
    }

    /// One more; `None` if there is no place for it or the server stops.
    pub(crate) fn listen(&self, user: &str) -> Option<Listener> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let (sender, entries) = mpsc::channel(Self::AHEAD);
        self.waiting(|waiting| waiting.entry(user.to_owned()).or_default().push(sender))?;
        self.is_new.notify_one();
        Some(Listener { entries, _place: place })
    }

    /// Ends all of them, and takes no more.
    pub(crate) fn stop(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Asks for new entries for as long as a listener waits for them.
    pub(crate) async fn look_after(&self, inbox: &dyn InAppInbox, timer: &dyn Timer) -> Infallible {
        let mut handed: HashMap<Uuid, Duration> = HashMap::new();
        loop {
            let users = self.users();
            if users.is_empty() {
                handed.clear();
                self.is_new.notified().await;
                continue;
            }
            for users in users.chunks(Self::USERS) {
                let entries = self.look(inbox, users).await;
                self.hand_new(entries, &mut handed, timer.now());
            }
            let now = timer.now();
            handed.retain(|_, at| now - *at < 2 * Cursor::OVERLAP);
            timer.sleep(Self::PAUSE).await;
        }
    }

    /// The newest entries of these users.
    async fn look(&self, inbox: &dyn InAppInbox, users: &[String]) -> Vec<InAppEntry> {
        let entries = inbox.recent(users, Cursor::OVERLAP, Self::MOST).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "new entries of inboxes could not be asked for");
            Vec::new()
        });
        // What did not fit into the answer, its listeners find when they come again.
        if entries.len() >= Self::MOST as usize {
            self.waiting(|waiting| users.iter().for_each(|user| drop(waiting.remove(user))));
            return Vec::new();
        }
        entries
    }

    /// Hands on those of these entries, the newest first, that were not handed on before.
    fn hand_new(&self, entries: Vec<InAppEntry>, handed: &mut HashMap<Uuid, Duration>, now: Duration) {
        for entry in entries.into_iter().rev() {
            if handed.insert(entry.entry.id, now).is_none() {
                self.hand(Arc::new(entry));
            }
        }
    }

    /// Hands an entry to those who wait for it; one that is too slow has to come again.
    fn hand(&self, entry: Arc<InAppEntry>) {
        self.waiting(|waiting| {
            let Some(listeners) = waiting.get_mut(&entry.entry.user) else { return };
            listeners.retain(|listener| listener.try_send(Arc::clone(&entry)).is_ok());
        });
    }

    /// The users whose entries a listener waits for.
    fn users(&self) -> Vec<String> {
        let users = self.waiting(|waiting| {
            waiting.retain(|_, listeners| {
                listeners.retain(|listener| !listener.is_closed());
                !listeners.is_empty()
            });
            waiting.keys().cloned().collect()
        });
        users.unwrap_or_default()
    }

    fn waiting<T>(&self, work: impl FnOnce(&mut Senders) -> T) -> Option<T> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
    }
}
