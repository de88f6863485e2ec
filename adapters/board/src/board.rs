use std::{fmt, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use claimstream_ports::Timer;

use crate::{
    access::{Access, Users},
    app_state::AppState,
    guard,
    host::Hosts,
    pages::{
        audit, dead_groups, dead_letter, dead_list, dead_work, doctor, find, instances, leases, locks,
        message, overview, pause, queue, release_lease, release_lock, request, request_cancel, requests, run,
        run_list, saga_continue, sign_in, style, timers,
    },
    refusal::Refusal,
    request_context::RequestContext,
    sessions::Sessions,
    siblings::Siblings,
    stores::BoardStores,
};

/// The board: a router that any axum service mounts, at its root or under a path. `Router::nest_service("/ops/board", board.router())` answers
/// `/ops/board` and `/ops/board/`; `Router::nest` answers the first alone.
///
/// | route | shows |
/// |---|---|
/// | `GET /` | every queue: how many messages are due, leased, waiting and dead, and for how long the oldest has been due |
/// | `GET /queue` | one queue, and how it stood during the last hour |
/// | `POST /queue/pause`, `POST /queue/resume` | stops claims from a queue; lets them begin again |
/// | `GET /dead` | the dead letters of a queue by error |
/// | `GET /dead/letters`, `GET /dead/letters/{id}` | a list of them, newest first; one of them |
/// | `POST /dead/letters/{id}/payload` | the same with its payload and its headers; noted |
/// | `POST /dead/preview`, `POST /dead/confirm` | what would be revived or purged; does it |
/// | `GET /dead/work/{name}`, `POST /dead/work/{name}/stop` | how far that has come; stops it |
/// | `GET /find`, `POST /find` | finds a message, a dead letter or a request by its id, or a message by its dedup key |
/// | `GET /message/{id}` | one message: where it stands, its attempts, its notification |
/// | `POST /message/{id}/payload` | the same with its payload and its headers; noted |
/// | `GET /requests`, `GET /requests/{id}` | notification requests, newest first; how far one has come |
/// | `POST /requests/{id}/recipients` | the same with its recipients; noted |
/// | `POST /requests/{id}/cancel`, `POST /requests/{id}/cancel/confirm` | what cancelling takes back; does it |
/// | `GET /doctor` | the findings of the self-check, the worst first |
/// | `GET /audit` | what people did, newest first |
/// | `GET /instances`, `GET /leases`, `GET /locks` | the instances that claim, the leases of shards, the distributed locks |
/// | `POST /leases/preview`, `POST /leases/release` | what the release of a lease would do; releases it |
/// | `POST /locks/preview`, `POST /locks/release` | the same for a lock |
/// | `GET /sagas`, `GET /tcc`, `GET /tcc/branches` | sagas, TCC transactions and branches, the one that has stood still for longest first |
/// | `GET /sagas/one`, `GET /tcc/one` | one of them with its steps or branches |
/// | `POST /sagas/preview`, `POST /sagas/continue` | what continuing a saga does; does it |
/// | `GET /timers`, `GET /timers/events`, `GET /timers/event` | timers with their next occurrence; events that were begun; one of them |
/// | `GET /sign-in`, `POST /sign-in`, `POST /sign-out` | takes a token, once for each browser |
///
/// It knows IP addresses and `localhost` as its own names, and further ones by [`with_hosts`](Self::with_hosts).
#[derive(Clone)]
#[must_use = "it shows nothing until its router is served"]
pub struct Board {
    stores: BoardStores,
    timer: Arc<dyn Timer>,
    access: Access,
    hosts: Vec<String>,
    read_only: bool,
}

impl Board {
    /// The longest body of a request, in bytes.
    const BODY: usize = 16 * 1024;

    /// A board for everybody who reaches it: at an address of this machine alone, or behind a service that checks its callers. It
    /// waits and counts time by `timer`.
    pub fn for_everyone(stores: BoardStores, timer: Arc<dyn Timer>) -> Self {
        Self { stores, timer, access: Access::Everyone, hosts: Vec::new(), read_only: false }
    }

    /// A board for people whose tokens `users` knows.
    pub fn for_users(stores: BoardStores, timer: Arc<dyn Timer>, users: Arc<dyn Users>) -> Self {
        Self { access: Access::Users(users), ..Self::for_everyone(stores, timer) }
    }

    /// The same, reached under these names too, such as `ops.example.com`; without a port.
    pub fn with_hosts(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { hosts: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same, on which no user changes anything.
    pub fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Its routes. Serve one router in a process, because those who look at it share what it has counted.
    pub fn router(&self) -> Router {
        self.router_with_siblings(Siblings::default(), Arc::default())
    }

    /// The same with boards of other databases, with which it shares its users.
    pub(crate) fn router_with_siblings(&self, siblings: Siblings, sessions: Arc<Sessions>) -> Router {
        let (stores, timer, hosts) = (self.stores.clone(), Arc::clone(&self.timer), Hosts::new(&self.hosts));
        let app = AppState::new(stores, timer, self.access.clone(), hosts, self.read_only);
        let app = Arc::new(AppState { siblings, sessions, ..app });
        app.history.keep();
        let shared = Arc::clone(&app);
        let changing = Router::new()
            .route("/queue/pause", post(pause::pause))
            .route("/queue/resume", post(pause::resume))
            .route("/dead/preview", post(dead_work::preview))
            .route("/dead/confirm", post(dead_work::confirm))
            .route("/dead/work/{name}/stop", post(dead_work::stop))
            .route("/requests/{id}/cancel", post(request_cancel::preview))
            .route("/requests/{id}/cancel/confirm", post(request_cancel::confirm))
            .route("/leases/preview", post(release_lease::preview))
            .route("/leases/release", post(release_lease::release))
            .route("/locks/preview", post(release_lock::preview))
            .route("/locks/release", post(release_lock::release))
            .route("/sagas/preview", post(saga_continue::preview))
            .route("/sagas/continue", post(saga_continue::confirm))
            .route_layer(from_fn_with_state(Arc::clone(&app), guard::changing));
        let inside = Router::new()
            .route("/", get(overview::show))
            .route("/queue", get(queue::show))
            .route("/doctor", get(doctor::show))
            .route("/audit", get(audit::show))
            .route("/dead", get(dead_groups::show))
            .route("/dead/letters", get(dead_list::show))
            .route("/dead/letters/{id}", get(dead_letter::show))
            .route("/dead/letters/{id}/payload", post(dead_letter::reveal))
            .route("/dead/work/{name}", get(dead_work::show))
            .route("/find", get(find::show).post(find::find))
            .route("/message/{id}", get(message::show))
            .route("/message/{id}/payload", post(message::reveal))
            .route("/requests", get(requests::show))
            .route("/requests/{id}", get(request::show))
            .route("/requests/{id}/recipients", post(request::reveal))
            .route("/instances", get(instances::show))
            .route("/leases", get(leases::show))
            .route("/locks", get(locks::show))
            .route("/sagas", get(run_list::sagas))
            .route("/sagas/one", get(run::saga))
            .route("/tcc", get(run_list::transactions))
            .route("/tcc/branches", get(run_list::branches))
            .route("/tcc/one", get(run::transaction))
            .route("/timers", get(timers::show))
            .route("/timers/events", get(run_list::events))
            .route("/timers/event", get(run::event))
            .merge(changing)
            .fallback(async |context: RequestContext| context.refuse(&Refusal::no_such_page()))
            .layer(from_fn_with_state(Arc::clone(&app), guard::known));
        let outside = Router::new()
            .route("/board.css", get(style::show))
            .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
            .route("/sign-out", post(sign_in::sign_out));
        outside
            .merge(inside)
            .method_not_allowed_fallback(async |context: RequestContext| {
                context.refuse(&Refusal::wrong_method())
            })
            .layer(DefaultBodyLimit::max(Self::BODY))
            .layer(from_fn_with_state(shared, guard::admit))
            .layer(from_fn(guard::finish))
            .with_state(app)
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stores: _, timer: _, access, hosts, read_only } = self;
        f.debug_struct("Board")
            .field("access", access)
            .field("hosts", hosts)
            .field("read_only", read_only)
            .finish_non_exhaustive()
    }
}
