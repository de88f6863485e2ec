use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::sqlx::{self, MySqlConnection, mysql::MySqlConnectOptions};
use tokio::sync::Notify;

use super::{addresses::ServerAddresses, ask::place_of, node::Node, search::Search};
use crate::database::{moves::Moves, topology::role::Role};

/// The servers of a URL, and which of them is written to. Clones share it.
#[derive(Clone)]
pub(crate) struct Nodes(Arc<Known>);

struct Known {
    all: Vec<Node>,
    writer: AtomicUsize,
    doubts: Notify,
    moves: Moves,
}

impl Nodes {
    /// The servers of a URL that names several; `None` if it names one. The sentence that refuses one does not repeat it.
    pub(crate) fn of_url(url: &str) -> Result<Option<Self>, String> {
        let addresses = ServerAddresses::of_url(url)?;
        if !addresses.are_several() {
            return Ok(None);
        }
        let node = |url: String| {
            let options: MySqlConnectOptions = url.parse().map_err(|_| UNREADABLE.to_owned())?;
            let name = format!("{}:{}", options.get_host(), options.get_port());
            Ok(Node { name, url, options: sqlx::ConnectOptions::disable_statement_logging(options) })
        };
        let all = addresses.urls().map(node).collect::<Result<_, String>>()?;
        let (writer, doubts, moves) = (AtomicUsize::default(), Notify::new(), Moves::watched());
        Ok(Some(Self(Arc::new(Known { all, writer, doubts, moves }))))
    }

    /// Looks for the server that takes writes, and answers its own URL.
    pub(crate) async fn find(&self, patience: Duration) -> Result<String, StoreError> {
        let mut search = Search::at_start(self.all(), &self.0.moves);
        match tokio::time::timeout(patience, search.found()).await {
            Ok(found) => {
                self.0.writer.store(found, Ordering::Relaxed);
                Ok(self.0.all[found].url.clone())
            }
            Err(_) => {
                let why = format!("no server takes writes within {patience:?}: {}", search.says());
                Err(StoreError::new(StoreErrorKind::Unavailable, "open", why))
            }
        }
    }

    /// Refuses a connection to a server that does not take writes, and has the one that does looked for. While one is looked for, nothing
    /// is asked here: the search asks for all that wait.
    pub(crate) async fn check(&self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        if self.0.moves.is_looking() {
            return Err(refused("one that does is being looked for"));
        }
        let why = match Box::pin(place_of(connection)).await.map(|place| place.role()) {
            Ok(Role::Writes(_)) => return Ok(()),
            Ok(Role::Refuses(why)) => why,
            Err(error) => error.to_string(),
        };
        self.doubt();
        Err(refused(&why))
    }

    /// Something is amiss with the server that is written to: it is asked at once.
    pub(crate) fn doubt(&self) {
        self.0.doubts.notify_one();
    }

    /// Tells of the servers that are found.
    pub(crate) fn moves(&self) -> Moves {
        self.0.moves.clone()
    }

    /// The URL of the first one.
    pub(crate) fn first_url(&self) -> Option<&str> {
        self.0.all.first().map(|node| node.url.as_str())
    }

    pub(super) async fn doubted(&self) {
        self.0.doubts.notified().await;
    }

    pub(super) fn all(&self) -> &[Node] {
        &self.0.all
    }

    /// Which one is written to.
    pub(super) fn writer(&self) -> usize {
        self.0.writer.load(Ordering::Relaxed)
    }

    /// A search has ended here.
    pub(super) fn announce(&self, found: usize) {
        let is_another = self.0.writer.swap(found, Ordering::Relaxed) != found;
        self.0.moves.found(is_another);
    }
}

/// What the pool takes for a server that is not there yet, and so asks again.
fn refused(why: &str) -> sqlx::Error {
    let why = format!("the server does not take writes: {why}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::ConnectionRefused, why))
}

const UNREADABLE: &str = "the database URL cannot be read; write several servers like mysql://user:password@host1:3306,host2:3306/database";
