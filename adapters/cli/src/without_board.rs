use std::{convert::Infallible, future::pending};

use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture};

use crate::{
    config::{BoardSettings, Config},
    failure::Failure,
    not_built::not_built,
};

/// The board of a program that was built without it.
pub(crate) enum BoardServer {}

impl BoardServer {
    /// Refuses, with the feature that brings the board.
    pub(crate) async fn start(_: &BoardSettings, _: TokioTimer) -> Result<Self, Failure> {
        Err(Failure::Refused(not_built("the board", "board")))
    }
}

pub(crate) fn run(
    board: Option<BoardServer>,
    _: &SeaOrmOutbox,
    _: &Config,
) -> BoxFuture<'static, Infallible> {
    match board {
        Some(board) => match board {},
        None => pending().boxed(),
    }
}
