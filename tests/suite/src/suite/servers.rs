use claimstream_testbed::{
    CLUSTERS, ClusterKind, Keeps,
    servers::{self, REQUIRED},
};

use super::Suite;
use crate::Server;

impl Suite {
    /// The URL of a server if it is there; if not, adds a failure where it is required, and a line in the report otherwise.
    pub fn add_server(
        &mut self,
        server: Server,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let url = server.url(&environment);
        if url.is_none() {
            let why = format!("{} is not set; tests/run sets it", server.variable);
            self.add_missing(server.name, server.is_required(&environment), &[server.name], &why);
        }
        url
    }

    /// The same about a Redis, with a line in the report for each of `left_out`.
    pub fn add_redis(
        &mut self,
        environment: impl Fn(&str) -> Option<String>,
        left_out: &[&str],
    ) -> Option<String> {
        let url = servers::redis_url(&environment);
        if url.is_none() {
            let why = format!("{} is not set; tests/run sets it", servers::REDIS_VARIABLE);
            let is_required = servers::is_required(servers::REDIS, &environment);
            self.add_missing(servers::REDIS, is_required, left_out, &why);
        }
        url
    }

    /// Adds a failure for each server that is required and not there, and a line in the report for each other that is not there.
    pub fn add_missing_servers(&mut self, environment: impl Fn(&str) -> Option<String> + Copy) {
        for server in Server::ALL {
            self.add_server(server, environment);
        }
        self.add_unknown_requirements(environment);
    }

    /// Adds a failure for each server that is required and unknown.
    pub fn add_unknown_requirements(&mut self, environment: impl Fn(&str) -> Option<String>) {
        for name in Server::unknown_requirements(environment) {
            let why =
                format!("{REQUIRED} names {name:?}, known are {:?} and redis", Server::ALL.map(|s| s.name));
            self.add_test(&format!("{name}::is_known"), move || panic!("{why}"));
        }
    }

    /// Adds to the long tier what runs on a node of each running cluster whose nodes keep every commit; `what` is named in the report if it does not run.
    pub fn on_clusters(
        &mut self,
        environment: impl Fn(&str) -> Option<String>,
        what: &str,
        add: impl Fn(&mut Self, ClusterKind, &str),
    ) {
        for kind in ClusterKind::ALL.into_iter().filter(|kind| kind.keeps == Keeps::EachCommit) {
            let name = format!("{}::{what}", kind.name);
            if !kind.is_asked_for(&environment) {
                self.add_not_run(&name, &format!("{CLUSTERS} does not name it; tests/run says how"));
            } else if let Some(url) = kind.url(&environment) {
                self.long("clusters", |suite| add(suite, kind, &url));
            } else {
                self.add_not_run(&name, &format!("{} is not set; tests/run sets it", kind.variable));
            }
        }
    }

    fn add_missing(&mut self, name: &str, is_required: bool, left_out: &[&str], why: &str) {
        if is_required {
            let why = format!("{REQUIRED} asks for {name}, but {why}");
            self.add_test(&format!("{name}::is_there"), move || panic!("{why}"));
        } else {
            left_out.iter().for_each(|what| self.add_not_run(what, why));
        }
    }
}
