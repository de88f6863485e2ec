use std::time::Duration;

use futures::future::join_all;
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, Statement};

/// The nodes of a cluster that take writes, and a connection to each of them.
pub struct Nodes {
    urls: Vec<String>,
    connections: Vec<DatabaseConnection>,
}

impl Nodes {
    /// Those that the node at `url` knows of; only itself where it is no cluster, or the one that takes writes.
    pub async fn of(url: &str) -> Result<Self, DbErr> {
        let first = connect(url).await?;
        let mut urls = vec![url.to_owned()];
        for place in [galera(&first).await, group(&first).await].concat() {
            let other = at(url, &place);
            if other != url {
                urls.push(other);
            }
        }
        let mut connections = vec![first];
        for url in &urls[1..] {
            connections.push(connect(url).await?);
        }
        for connection in &connections {
            have_reads_wait(connection).await;
        }
        Ok(Self { urls, connections })
    }

    /// Where they are, the one that was asked first.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The URL of a database at each of them.
    pub fn of_database(&self, url: &str) -> Vec<String> {
        self.urls.iter().map(|node| at(url, place(node))).collect()
    }

    /// Waits until each has whatever any of them had committed before.
    pub async fn catch_up(&self) {
        let waiting = self.connections.iter().map(|node| send(node, "SELECT COUNT(*) FROM mysql.user"));
        join_all(waiting).await;
    }

    /// Keeps the last node from carrying out what others commit until [`go_on`](Self::go_on): what is read there is old.
    pub async fn hold_back(&self) {
        send(self.last(), "FLUSH TABLES WITH READ LOCK").await;
    }

    /// Lets it carry out everything.
    pub async fn go_on(&self) {
        send(self.last(), "UNLOCK TABLES").await;
    }

    fn last(&self) -> &DatabaseConnection {
        &self.connections[self.connections.len() - 1]
    }
}

/// The same URL at another place, which is a host and a port.
fn at(url: &str, other: &str) -> String {
    url.replacen(place(url), other, 1)
}

/// The host and the port of a URL.
pub(crate) fn place(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

async fn send(node: &DatabaseConnection, statement: &str) {
    node.execute_unprepared(statement).await.expect("a node that does it");
}

async fn connect(url: &str) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).acquire_timeout(Duration::from_secs(10)).sqlx_logging(false);
    Database::connect(options).await
}

async fn galera(db: &DatabaseConnection) -> Vec<String> {
    let asked = Statement::from_string(DbBackend::MySql, "SHOW STATUS LIKE 'wsrep_incoming_addresses'");
    let Ok(Some(row)) = db.query_one_raw(asked).await else { return Vec::new() };
    let places: String = row.try_get_by_index(1).unwrap_or_default();
    places.split(',').filter(|place| place.contains(':')).map(str::to_owned).collect()
}

/// The members of a group that take writes; MariaDB has no such table.
async fn group(db: &DatabaseConnection) -> Vec<String> {
    let sql = "SELECT CAST(CONCAT(MEMBER_HOST, ':', MEMBER_PORT) AS CHAR) FROM performance_schema.replication_group_members
                WHERE MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY'";
    let found = db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await.unwrap_or_default();
    found.iter().filter_map(|row| row.try_get_by_index(0).ok()).collect()
}

/// Each kind of cluster has its own word for it, and refuses the other's.
async fn have_reads_wait(db: &DatabaseConnection) {
    for set in ["SET SESSION wsrep_sync_wait = 1", "SET SESSION group_replication_consistency = 'BEFORE'"] {
        let _ = db.execute_unprepared(set).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_host_and_a_port() {
        assert_eq!(place("mysql://root@127.0.0.1:3306/x?ssl-mode=disabled"), "127.0.0.1:3306");
        assert_eq!(place("redis://127.0.0.1:6379/0"), "127.0.0.1:6379");
    }

    #[test]
    fn a_url_keeps_its_rest_at_another_place() {
        assert_eq!(at("mysql://root@h:1/x?a=b", "h:2"), "mysql://root@h:2/x?a=b");
    }
}
