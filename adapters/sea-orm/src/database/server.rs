use std::collections::BTreeMap;

use claimstream_ports::StoreError;
use sea_orm::DatabaseConnection;

use super::{args::Args, dialect::Dialect, packet::Packet, unit::rows};
use crate::database::statements::Statements;

/// What a server says of itself and of our session.
pub(crate) async fn server_variables(
    db: &DatabaseConnection,
    sql: &Statements,
) -> Result<BTreeMap<String, String>, StoreError> {
    let found = rows(db, "doctor", sql.doctor.server.bind(&Args::new())).await?;
    found.iter().map(|row| Ok((row.text("Variable_name")?, row.text("Value")?))).collect()
}

/// The server's product and version, for people.
pub(crate) async fn server_name(db: &DatabaseConnection, sql: &Statements) -> Result<String, StoreError> {
    let variables = server_variables(db, sql).await?;
    let version = variables.get("version").cloned().unwrap_or_default();
    Ok(match version.split_once("-MariaDB") {
        Some((number, _)) => format!("MariaDB {number}"),
        None => format!("MySQL {version}"),
    })
}

/// How much one statement may carry.
pub(crate) async fn packet(
    db: &DatabaseConnection,
    dialect: Dialect,
    sql: &Statements,
) -> Result<Packet, StoreError> {
    match dialect {
        // SQLITE_MAX_LENGTH, the default of the bundled library.
        Dialect::Sqlite => Ok(Packet::new(1_000_000_000)),
        Dialect::MySql => {
            let variables = server_variables(db, sql).await?;
            let packet = variables.get("max_allowed_packet").and_then(|bytes| bytes.parse().ok());
            let packet = Packet::new(packet.unwrap_or(1024 * 1024));
            Ok(if is_encrypted(db, sql).await? { packet.encrypted() } else { packet })
        }
    }
}

/// Whether the pool's connections speak TLS; callers' connections count as the same. TLS is assumed where the server does not
/// answer.
async fn is_encrypted(db: &DatabaseConnection, sql: &Statements) -> Result<bool, StoreError> {
    let found = match rows(db, "open", sql.session.cipher.bind(&Args::new())).await {
        Err(error) if error.is_retryable() => return Err(error),
        found => found.unwrap_or_default(),
    };
    Ok(found.first().and_then(|row| row.text("Value").ok()).is_none_or(|cipher| !cipher.is_empty()))
}
