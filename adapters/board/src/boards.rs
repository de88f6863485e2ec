use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use claimstream_ports::Timer;
use tower::ServiceExt;

use crate::{board::Board, sessions::Sessions, siblings::Siblings, stores::BoardStores};

/// The boards of several databases at one address, each under the path of its name, such as `/orders`; every page leads to the
/// others.
///
/// A user signs in once for all of them. A database may be added while they are shown; one that could not be opened so far is named,
/// and leads nowhere. Clones are the same boards.
#[derive(Clone)]
#[must_use = "they show nothing until their router is served"]
pub struct Boards(Arc<Shared>);

struct Shared {
    timer: Arc<dyn Timer>,
    make: Box<dyn Fn(BoardStores, Arc<dyn Timer>) -> Board + Send + Sync>,
    sessions: Arc<Sessions>,
    siblings: Siblings,
    routers: Mutex<BTreeMap<String, Router>>,
    current: RwLock<Router>,
}

impl Boards {
    /// No boards yet; `make` says who may visit each. All of them go by one timer, because they share their sessions.
    pub fn new(
        timer: Arc<dyn Timer>,
        make: impl Fn(BoardStores, Arc<dyn Timer>) -> Board + Send + Sync + 'static,
    ) -> Self {
        let siblings = Siblings::default();
        let current = RwLock::new(router(&siblings, &BTreeMap::new()));
        let (make, sessions, routers) = (Box::new(make), Arc::default(), Mutex::default());
        Self(Arc::new(Shared { timer, make, sessions, siblings, routers, current }))
    }

    /// Names a database that is still to be opened.
    pub fn announce(&self, name: &str) {
        self.0.siblings.set(name, false);
    }

    /// Shows a database. The name is a part of its address: lower-case letters, digits, `-` and `_`.
    pub fn show(&self, name: &str, stores: BoardStores) {
        let Shared { timer, make, sessions, siblings, routers, current } = &*self.0;
        let board =
            make(stores, Arc::clone(timer)).router_with_siblings(siblings.clone(), Arc::clone(sessions));
        let mut routers = routers.lock().unwrap_or_else(PoisonError::into_inner);
        routers.insert(name.to_owned(), board);
        *current.write().unwrap_or_else(PoisonError::into_inner) = router(siblings, &routers);
        siblings.set(name, true);
    }

    /// Their routes, those of databases that are added later included. They take an address for themselves, and cannot be mounted under
    /// a path.
    pub fn router(&self) -> Router {
        let shared = Arc::clone(&self.0);
        Router::new().fallback(async move |request: Request| {
            let router = shared.current.read().unwrap_or_else(PoisonError::into_inner).clone();
            match router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        })
    }
}

fn router(siblings: &Siblings, boards: &BTreeMap<String, Router>) -> Router {
    let siblings = siblings.clone();
    let all = Router::new().route("/", get(async move || first(&siblings)));
    boards.iter().fold(all, |all, (name, board)| all.nest_service(&format!("/{name}"), board.clone()))
}

/// Leads to the first database that is open.
fn first(siblings: &Siblings) -> Response {
    match siblings.first() {
        Some(name) => Redirect::to(&format!("/{name}")).into_response(),
        None => {
            let headers = [(header::RETRY_AFTER, "5")];
            (StatusCode::SERVICE_UNAVAILABLE, headers, "no database could be opened so far").into_response()
        }
    }
}

impl fmt::Debug for Boards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.siblings.seen_from("").into_iter().map(|one| one.name);
        f.debug_struct("Boards").field("databases", &names.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
