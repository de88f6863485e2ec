use std::{io, time::Duration};

use claimstream_ports::StoreError;
use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{self, ConnectOptions, Connection, MySqlConnection, mysql::MySqlConnectOptions},
};

use super::choice::Answer;
use crate::database::{
    classify::classify,
    dialect::Dialect,
    sqlx_connection::SqlxMySql,
    statements::Statements,
    store_timer::StoreTimer,
    topology::{place::Place, read},
};

const TOPOLOGY: &str = "topology";

/// How long a server may take to say whether it takes writes.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// Asks a server on a connection of its own, which has this time for all of it. No caller waits for its end, which takes as long as the server
/// likes.
pub(super) async fn ask(timer: StoreTimer, options: &MySqlConnectOptions, timeout: Duration) -> Answer {
    let mut line = None;
    let said = ask_on(&timer, &mut line, options, timeout).await;
    if let Some(connection) = line {
        tokio::spawn(async move { timer.timeout(TIMEOUT, connection.close()).await });
    }
    said
}

/// Asks the server that a connection leads to, or opens one first; what does not answer well is closed.
pub(super) async fn ask_again(
    timer: &StoreTimer,
    line: &mut Option<MySqlConnection>,
    options: &MySqlConnectOptions,
) -> Answer {
    ask_on(timer, line, options, TIMEOUT).await
}

async fn ask_on(
    timer: &StoreTimer,
    line: &mut Option<MySqlConnection>,
    options: &MySqlConnectOptions,
    timeout: Duration,
) -> Answer {
    let asked = async {
        let mut connection = match line.take() {
            Some(connection) => connection,
            None => options.connect().await.map_err(of_connecting)?,
        };
        let place = place_of(&mut connection).await.map_err(failed)?;
        *line = Some(connection);
        Ok(Answer::Says(place.role()))
    };
    match timer.timeout(timeout, Box::pin(asked)).await {
        Some(Ok(answer) | Err(answer)) => answer,
        None => Answer::Failed(format!("no answer within {timeout:?}")),
    }
}

/// Asks the server that a connection leads to.
pub(super) async fn place_of(connection: &mut MySqlConnection) -> Result<Place, StoreError> {
    let on = SqlxMySql::new(connection);
    read::place(&on, Statements::of(Dialect::MySql)).await
}

fn of_connecting(error: sqlx::Error) -> Answer {
    match error {
        sqlx::Error::Io(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
            Answer::Refused(why.to_string())
        }
        error => failed(classify(TOPOLOGY, DbErr::Conn(RuntimeErr::SqlxError(error.into())))),
    }
}

fn failed(error: StoreError) -> Answer {
    Answer::Failed(error.get_ref().to_string())
}
