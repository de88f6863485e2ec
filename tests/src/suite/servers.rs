use std::sync::Arc;

use claimstream_testbed::servers::{self, REQUIRED};

use super::Suite;
use crate::{
    Server,
    backend::{Backends, SeaOrmBackend},
};

impl Suite {
    /// Adds what can be said about a server: its backends if it is there, a failure if it is required and missing, and a
    /// line in the report otherwise.
    pub fn add_server(&mut self, server: Server, environment: impl Fn(&str) -> Option<String>) {
        if let Some(url) = server.url(&environment) {
            let redis = servers::redis_url(&environment);
            self.add_backends(Backends::of_server(server, &url, redis.as_deref()));
            if !server.skips_locked {
                let refused = SeaOrmBackend::server(server.name, &url, "skip_locked");
                self.add_refusal(Arc::new(refused), server.strategies());
            }
            return;
        }
        let why = format!("{} is not set; tests/run sets it", server.variable);
        if server.is_required(&environment) {
            let why = format!("{REQUIRED} asks for {}, but {why}", server.name);
            self.add_trial(&format!("{}::is_there", server.name), move || panic!("{why}"));
        } else {
            self.add_not_run(server.name, &why);
        }
    }

    /// The same about a Redis: its URL if it is there.
    pub fn add_redis(&mut self, environment: impl Fn(&str) -> Option<String>) -> Option<String> {
        let (name, variable) = (servers::REDIS, servers::REDIS_VARIABLE);
        let why = format!("{variable} is not set; tests/run sets it");
        match servers::redis_url(&environment) {
            Some(url) => {
                self.add_backends(Backends::of_redis(&url));
                return Some(url);
            }
            None if servers::is_required(name, &environment) => {
                let why = format!("{REQUIRED} asks for {name}, but {why}");
                self.add_trial(&format!("{name}::is_there"), move || panic!("{why}"));
            }
            None => ["redis::locks", "redis::wakeups", "lock:redis"]
                .map(|what| self.add_not_run(what, &why))
                .into_iter()
                .collect(),
        }
        None
    }

    /// Adds a failure for each server that is required and unknown.
    pub fn add_unknown_requirements(&mut self, environment: impl Fn(&str) -> Option<String>) {
        for name in Server::unknown_requirements(environment) {
            let why =
                format!("{REQUIRED} names {name:?}, known are {:?} and redis", Server::ALL.map(|s| s.name));
            self.add_trial(&format!("{name}::is_known"), move || panic!("{why}"));
        }
    }
}
