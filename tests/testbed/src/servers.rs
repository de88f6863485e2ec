//! The database servers that the suite runs on, and the variables of the environment that say where they are.

use claimstream_sea_orm::Strategy;

/// A database server that the suite wants to be run on, and the variable that holds its URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its name and version.
    pub name: &'static str,
    /// Where its URL stands.
    pub variable: &'static str,
    /// Whether it steps over locked rows.
    pub skips_locked: bool,
}

/// The variable that lists the servers without which the suite must fail; `1` means all.
pub const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_SERVERS";

impl Server {
    /// Every server.
    pub const ALL: [Self; 4] = [
        Self { name: "mariadb-10.5", variable: "CLAIMSTREAM_MARIADB_10_5_URL", skips_locked: false },
        Self { name: "mariadb-10.11", variable: "CLAIMSTREAM_MARIADB_10_11_URL", skips_locked: true },
        Self { name: "mariadb-11.8", variable: "CLAIMSTREAM_MARIADB_11_8_URL", skips_locked: true },
        Self { name: "mysql-9.7", variable: "CLAIMSTREAM_MYSQL_9_7_URL", skips_locked: true },
    ];

    /// The strategies that it runs.
    pub fn strategies(self) -> &'static [Strategy] {
        match self.skips_locked {
            true => &[Strategy::SkipLocked, Strategy::PreemptiveUpdate, Strategy::ShardLease],
            false => &[Strategy::PreemptiveUpdate, Strategy::ShardLease],
        }
    }

    /// The one of them that `auto` is.
    pub fn chooses(self) -> Strategy {
        match self.skips_locked {
            true => Strategy::SkipLocked,
            false => Strategy::PreemptiveUpdate,
        }
    }

    /// An environment in which every server is somewhere, for those who only want to know what would be run.
    pub fn anywhere(variable: &str) -> Option<String> {
        let is_here = Self::ALL.iter().any(|server| server.variable == variable);
        match variable {
            REDIS_VARIABLE => Some("redis://127.0.0.1:1/0".to_owned()),
            _ => is_here.then(|| "mysql://root@127.0.0.1:1/claimstream".to_owned()),
        }
    }

    /// Its URL, if the environment has one.
    pub fn url(self, environment: impl Fn(&str) -> Option<String>) -> Option<String> {
        environment(self.variable).filter(|url| !url.is_empty())
    }

    /// Whether the environment says that the suite must fail without it.
    pub fn is_required(self, environment: impl Fn(&str) -> Option<String>) -> bool {
        is_required(self.name, environment)
    }

    /// Names that the environment requires and that are unknown.
    pub fn unknown_requirements(environment: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let required = environment(REQUIRED).unwrap_or_default();
        let known = |name: &str| name == "1" || name == REDIS || Self::ALL.iter().any(|s| s.name == name);
        names(&required).filter(|name| !known(name)).map(str::to_owned).collect()
    }
}

/// The Redis that locks and wakeups want to be run on.
pub const REDIS: &str = "redis";

/// Where its URL stands.
pub const REDIS_VARIABLE: &str = "CLAIMSTREAM_REDIS_URL";

/// Its URL, if the environment has one.
pub fn redis_url(environment: impl Fn(&str) -> Option<String>) -> Option<String> {
    environment(REDIS_VARIABLE).filter(|url| !url.is_empty())
}

/// Whether the environment says that the suite must fail without this server.
pub fn is_required(server: &str, environment: impl Fn(&str) -> Option<String>) -> bool {
    let required = environment(REQUIRED).unwrap_or_default();
    names(&required).any(|name| name == "1" || name == server)
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split([' ', ',', '\n', '\t']).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(list: &'static str) -> Vec<&'static str> {
        let environment = |name: &str| (name == REQUIRED).then(|| list.to_owned());
        Server::ALL.into_iter().filter(|s| s.is_required(environment)).map(|s| s.name).collect()
    }

    #[test]
    fn a_list_names_servers_and_one_means_all() {
        assert_eq!(required("mysql-9.7, mariadb-10.5"), ["mariadb-10.5", "mysql-9.7"]);
        assert_eq!(required("1").len(), 4);
        assert!(required("").is_empty() && required("mysql-9").is_empty());
    }

    #[test]
    fn a_misspelt_requirement_is_found() {
        let environment = |_: &str| Some("mysql-9.7 mysql-97".to_owned());
        assert_eq!(Server::unknown_requirements(environment), ["mysql-97"]);
    }

    #[test]
    fn an_empty_url_is_none() {
        let empty = |_: &str| Some(String::new());
        assert_eq!(Server::ALL[0].url(empty), None);
    }
}
