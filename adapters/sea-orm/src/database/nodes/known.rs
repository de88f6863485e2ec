use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::sqlx::{self, MySqlConnection};
use tokio::sync::Notify;

use super::{addresses::ServerAddresses, ask::place_of, node::Node, search::Search};
use crate::database::{
    moves::Moves,
    store_timer::StoreTimer,
    topology::role::{Home, Role},
};

/// The servers of a URL, and which of them is written to. Clones share it.
#[derive(Clone)]
pub(crate) struct Nodes(Arc<Known>);

struct Known {
    all: Vec<Node>,
    writer: AtomicUsize,
    /// What data that one has, as it said last.
    home: Mutex<Option<Home>>,
    doubts: Notify,
    /// A connection has led to other data than that: its address may have got another server.
    is_elsewhere: AtomicBool,
    moves: Moves,
    timer: StoreTimer,
    /// Held while the options of pools are read and set.
    changing_pools: Mutex<()>,
}

impl Nodes {
    /// The servers of a URL that names several; `None` if it names one. The sentence that refuses one does not repeat it.
    pub(crate) fn of_url(url: &str, timer: &StoreTimer) -> Result<Option<Self>, String> {
        let addresses = ServerAddresses::of_url(url)?;
        if !addresses.are_several() {
            return Ok(None);
        }
        let node = |url: String| Node::of_url(url).map_err(|_| UNREADABLE.to_owned());
        let all = addresses.urls().map(node).collect::<Result<_, String>>()?;
        Ok(Some(Self(Arc::new(Known {
            all,
            writer: AtomicUsize::default(),
            home: Mutex::default(),
            doubts: Notify::new(),
            is_elsewhere: AtomicBool::default(),
            moves: Moves::watched(timer.clone()),
            timer: timer.clone(),
            changing_pools: Mutex::default(),
        }))))
    }

    /// Looks for the server that takes writes, and answers its own URL.
    pub(crate) async fn find(&self, timeout: Duration) -> Result<String, StoreError> {
        let mut search = Search::at_start(self.all(), &self.0.moves, self.timer());
        match self.timer().timeout(timeout, search.found()).await {
            Some(found) => {
                self.0.writer.store(found, Ordering::Relaxed);
                *self.home() = search.home(found);
                Ok(self.0.all[found].url.clone())
            }
            None => Err(StoreError::new(StoreErrorKind::Unavailable, "open", search.says(timeout))),
        }
    }

    /// Refuses a connection to a server that does not take writes, and has the one that does looked for. While one is looked for, nothing
    /// is asked here: the search asks for all that wait.
    ///
    /// A server that takes writes and has other data than the one that is written to is refused as well: it may be one that was given up for
    /// dead, and a connection that was on its way to it arrives after all.
    pub(crate) async fn check(&self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        if self.0.moves.is_looking() {
            return Err(refused("one that does is being looked for"));
        }
        let why = match Box::pin(place_of(connection)).await.map(|place| place.role()) {
            Ok(Role::Writes(home)) if self.home().as_ref().is_none_or(|known| *known == home) => {
                return Ok(());
            }
            Ok(Role::Writes(_)) => {
                self.0.is_elsewhere.store(true, Ordering::Relaxed);
                "it takes writes, and has other data than the one that is written to".to_owned()
            }
            Ok(Role::Refuses(why)) => why,
            Err(error) => error.to_string(),
        };
        self.doubt();
        Err(refused(&why))
    }

    /// What data the server that is written to has; answers whether it is other data than before.
    pub(super) fn has_moved_in(&self, home: &Home) -> bool {
        let mut known = self.home();
        let is_other = known.as_ref().is_some_and(|known| known != home);
        *known = Some(home.clone());
        is_other
    }

    /// Whether a connection has led to other data since this was asked last.
    pub(super) fn was_elsewhere(&self) -> bool {
        self.0.is_elsewhere.swap(false, Ordering::Relaxed)
    }

    fn home(&self) -> MutexGuard<'_, Option<Home>> {
        self.0.home.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is amiss with the server that is written to: it is asked at once.
    pub(crate) fn doubt(&self) {
        self.0.doubts.notify_one();
    }

    /// Notifies of the servers that are found.
    pub(crate) fn moves(&self) -> Moves {
        self.0.moves.clone()
    }

    /// To be held while the options of pools are read and set, which a takeover and another password do.
    pub(crate) fn changing_pools(&self) -> MutexGuard<'_, ()> {
        self.0.changing_pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has connections made from now on log in with this password.
    pub(crate) fn use_password(&self, password: &str) {
        self.all().iter().for_each(|node| node.use_password(password));
    }

    /// The URL of the first one.
    pub(crate) fn first_url(&self) -> Option<&str> {
        self.0.all.first().map(|node| node.url.as_str())
    }

    pub(super) async fn doubted(&self) {
        self.0.doubts.notified().await;
    }

    pub(super) fn timer(&self) -> &StoreTimer {
        &self.0.timer
    }

    pub(super) fn all(&self) -> &[Node] {
        &self.0.all
    }

    /// Which one is written to.
    pub(super) fn writer(&self) -> usize {
        self.0.writer.load(Ordering::Relaxed)
    }

    /// A search has ended here, at a server with this data.
    pub(super) fn announce(&self, found: usize, home: Option<Home>) {
        *self.home() = home;
        let is_another = self.0.writer.swap(found, Ordering::Relaxed) != found;
        self.0.moves.found(is_another);
    }
}

/// What the pool takes for a server that is not there yet, and so asks again.
fn refused(why: &str) -> sqlx::Error {
    let why = format!("the server is not the one to write to: {why}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::ConnectionRefused, why))
}

const UNREADABLE: &str = "the database URL cannot be read; write several servers like mysql://user:password@host1:3306,host2:3306/database";
