use std::{convert::Infallible, future::pending, sync::Arc};

use claimstream_board::{Board, BoardStores, Right, Visitor, Visitors};
use claimstream_http::{Scope, Server, Tokens};
use claimstream_sea_orm::SeaOrmOutbox;
use futures::{FutureExt, future::BoxFuture};

use crate::{
    config::{BoardSettings, Config},
    failure::Failure,
    self_check::ProgramCheck,
};

/// The board at an address of its own.
pub(crate) struct BoardServer {
    server: Server,
    settings: BoardSettings,
    tokens: Option<Tokens>,
}

impl BoardServer {
    /// Listens where `board.listen` says.
    pub(crate) async fn start(settings: &BoardSettings) -> Result<Self, Failure> {
        let tokens = settings.visitors()?;
        let listen = settings.listen;
        let refused = |e| Failure::Refused(format!("`board.listen`: {listen} cannot be listened at: {e}"));
        let server = Server::bind(listen).await.map_err(refused)?;
        let address = server.address().map_err(refused)?;
        let visitors =
            tokens.as_ref().map_or_else(|| "anybody on this machine".into(), |t| t.describe().join("; "));
        tracing::info!(board = %address, visitors, "board started");
        Ok(Self { server, settings: settings.clone(), tokens })
    }

    fn board(&self, outbox: &SeaOrmOutbox, config: &Config) -> Board {
        let check = ProgramCheck { outbox: outbox.clone(), config: config.clone() };
        let stores = BoardStores::of(Arc::new(outbox.clone())).with_check(Arc::new(check));
        let board = match &self.tokens {
            Some(tokens) => Board::for_visitors(stores, Arc::new(TokenVisitors(tokens.clone()))),
            None => Board::for_everyone(stores),
        };
        let hosts = self.settings.hosts.iter().flat_map(|names| names.0.iter().cloned());
        let board = board.with_hosts(hosts);
        if self.settings.read_only { board.read_only() } else { board }
    }
}

/// Serves the board, if there is one, for as long as it is polled.
pub(crate) fn run(
    board: Option<BoardServer>,
    outbox: &SeaOrmOutbox,
    config: &Config,
) -> BoxFuture<'static, Infallible> {
    let Some(board) = board else { return pending().boxed() };
    let router = board.board(outbox, config).router();
    board.server.run_router(router).boxed()
}

/// A token with the scope `read` looks, one with `admin` changes, and others do not get in.
struct TokenVisitors(Tokens);

impl Visitors for TokenVisitors {
    fn identify(&self, token: &str) -> Option<Visitor> {
        let identity = self.0.identify(token)?;
        let right = match (identity.may(Scope::Admin), identity.may(Scope::Read)) {
            (true, _) => Right::Change,
            (false, true) => Right::Look,
            (false, false) => return None,
        };
        Some(Visitor { name: identity.name, right })
    }
}
