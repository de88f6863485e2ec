//! Wakeups from the server's binary log, which hear every writer; on servers of their own, because the shared ones write no log.

mod commits;
mod damage;
mod formats;
mod interruptions;
mod refusals;
mod site;

use std::sync::Arc;

use self::site::LoggingServer;
use crate::{Server, Suite};

/// Adds them for every server that is here; those of one kind share a server with a log, but for one that is killed.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let logging = Arc::new(LoggingServer::of(server));
        let name = |what: &str| format!("{}::binlog::{what}", server.name);
        commits::add_to(suite, &name, &logging);
        formats::add_to(suite, &name, &logging);
        interruptions::add_to(suite, &name, &logging);
        refusals::add_to(suite, &name, &logging, &url);
    }
}
