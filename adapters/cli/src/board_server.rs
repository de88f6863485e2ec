use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use claimstream_board::{Board, BoardStores, Boards, Right, User, Users};
use claimstream_http::{Scope, Server, Tokens};
use claimstream_ports::Timer;
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use crate::{
    OneDatabase,
    config::{BoardSettings, Config},
    failure::Failure,
    self_check::ProgramCheck,
};

/// The board at an address of its own.
pub(crate) struct BoardServer {
    server: Server,
    settings: BoardSettings,
    tokens: Option<Tokens>,
    timer: TokioTimer,
}

impl BoardServer {
    /// Listens where `board.listen` says.
    pub(crate) async fn start(settings: &BoardSettings, timer: TokioTimer) -> Result<Self, Failure> {
        let tokens = settings.users()?;
        let listen = settings.listen;
        let refused = |e| Failure::Refused(format!("`board.listen`: {listen} cannot be listened at: {e}"));
        let server = Server::bind(listen, Arc::new(timer)).await.map_err(refused)?;
        let address = server.address().map_err(refused)?;
        let users =
            tokens.as_ref().map_or_else(|| "every user of this machine".into(), |t| t.describe().join("; "));
        tracing::info!(board = %address, users, "board started");
        Ok(Self { server, settings: settings.clone(), tokens, timer })
    }

    /// Serves the boards of several databases, each from when it is open, for as long as it is polled.
    async fn run_several(self, config: &Config) -> Infallible {
        let (settings, tokens, timer) = (self.settings.clone(), self.tokens.clone(), self.timer);
        let board = move |stores, timer| board(stores, timer, &settings, tokens.as_ref());
        let boards = Boards::new(Arc::new(timer), board);
        let databases = config.each_database();
        let showing = join_all(databases.iter().map(|database| show_once_open(database, &boards, timer)));
        let serving = self.server.run_router(boards.router());
        tokio::join!(serving, showing).0
    }
}

/// The pages of what the database is used for; one that is used for more later is shown whole after the next start.
async fn stores(outbox: &SeaOrmOutbox, config: &Config, timer: TokioTimer) -> BoardStores {
    let check = ProgramCheck { outbox: outbox.clone(), config: config.clone(), timer };
    let store = Arc::new(outbox.clone());
    let stores = BoardStores::new(store.clone(), store.clone());
    let stores = stores.with_pauses(store.clone()).with_audit(store.clone()).with_check(Arc::new(check));
    let mut stores = stores.with_holders(store.clone()).with_messages(store.clone(), store.clone());
    let used = outbox.capabilities().await;
    let is_used = |capability| used.as_ref().map_or(true, |used| used.contains(&capability));
    if is_used(Capability::Steps) {
        stores = stores.with_runs(store.clone());
    }
    if is_used(Capability::Notifications) {
        stores = stores.with_notifications(store);
    }
    stores
}

fn board(
    stores: BoardStores,
    timer: Arc<dyn Timer>,
    settings: &BoardSettings,
    tokens: Option<&Tokens>,
) -> Board {
    let board = match tokens {
        Some(tokens) => Board::for_users(stores, timer, Arc::new(TokenUsers(tokens.clone()))),
        None => Board::for_everyone(stores, timer),
    };
    let hosts = settings.hosts.iter().flat_map(|names| names.0.iter().cloned());
    let board = board.with_hosts(hosts);
    if settings.read_only { board.read_only() } else { board }
}

/// Shows a database as soon as it can be opened; others do not wait for it.
async fn show_once_open(database: &OneDatabase, boards: &Boards, timer: TokioTimer) {
    let Some(name) = &database.name else { return };
    boards.announce(name.as_str());
    loop {
        match database.config.database.open_one_of_several(None).await {
            Ok(outbox) => {
                return boards.show(name.as_str(), stores(&outbox, &database.config, timer).await);
            }
            Err(error) => {
                tracing::warn!(database = %name, %error, "the board does not show the database yet");
                timer.sleep(OPENED_AGAIN).await;
            }
        }
    }
}

/// How long a database that is away is left alone before the board tries to open it again.
const OPENED_AGAIN: Duration = Duration::from_secs(5);

/// Serves the board, if there is one, for as long as it is polled.
pub(crate) fn run(
    board: Option<BoardServer>,
    outbox: &SeaOrmOutbox,
    config: &Config,
) -> BoxFuture<'static, Infallible> {
    let Some(board) = board else { return pending().boxed() };
    if config.has_several_databases() {
        let config = config.clone();
        return async move { board.run_several(&config).await }.boxed();
    }
    let BoardServer { server, settings, tokens, timer } = board;
    let (outbox, config) = (outbox.clone(), config.clone());
    let serving = async move {
        let stores = stores(&outbox, &config, timer).await;
        let router = self::board(stores, Arc::new(timer), &settings, tokens.as_ref()).router();
        server.run_router(router).await
    };
    serving.boxed()
}

/// A token with the scope `read` looks, one with `admin` changes, and others do not get in.
struct TokenUsers(Tokens);

impl Users for TokenUsers {
    fn identify(&self, token: &str) -> Option<User> {
        let identity = self.0.identify(token)?;
        let right = match (identity.may(Scope::Admin), identity.may(Scope::Read)) {
            (true, _) => Right::Change,
            (false, true) => Right::Look,
            (false, false) => return None,
        };
        Some(User { name: identity.name, right })
    }
}
