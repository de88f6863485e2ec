use std::{fmt, str::FromStr, time::Duration};

use claimstream_domain::Invalid;
use redis::{ConnectionAddr, IntoConnectionInfo};
use url::Url;

/// Where Redis is and what our keys begin with there; its password is never shown.
///
/// | URL | means |
/// |---|---|
/// | `redis://user:password@host:6379/0` | one server; `rediss://` with TLS, if the feature `tls` is on |
/// | `redis-cluster://user:password@host:6379,host:6380` | a cluster, by some of its nodes |
/// | `redis-sentinel://user:password@host:26379,host:26380/0#mymaster` | the master that sentinels know by this name |
///
/// Services that share a Redis and not a database say so with `?namespace=shop`; the default is `claimstream`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisPlace {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Server(String),
    Cluster(Vec<String>),
    Sentinel { nodes: Vec<String>, master: String, access: Access },
}

/// How to be let in at the master that sentinels name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
}

impl RedisPlace {
    /// How long a call waits for a connection or an answer.
    pub const TIMEOUT: Duration = Duration::from_millis(500);

    const NAMESPACE: &str = "claimstream";
    const FORMS: &str = "like redis://host:6379/0, redis-cluster://host:6379,host:6380 or \
                         redis-sentinel://host:26379,host:26380/0#master";

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or_else(|| Self::refused("no URL"))?;
        match scheme {
            "redis" => Self::server(text),
            "rediss" if cfg!(feature = "tls") => Self::server(text),
            "rediss" => Err(Self::refused("a URL with TLS, which this program is built without")),
            "redis-cluster" => Self::cluster(rest),
            "redis-sentinel" => Self::sentinel(rest),
            _ => Err(Self::refused("a URL of something else")),
        }
    }

    fn server(text: &str) -> Result<Self, Invalid> {
        let (url, namespace) = Self::parsed(text)?;
        // The driver says what it thinks of a URL when it is to connect; better to know now.
        url.as_str().into_connection_info().map_err(|_| Self::refused("a URL that cannot be understood"))?;
        Ok(Self { kind: Kind::Server(url.into()), namespace })
    }

    fn cluster(rest: &str) -> Result<Self, Invalid> {
        let mut namespace = Self::NAMESPACE.to_owned();
        let mut nodes = Vec::new();
        for node in Self::nodes(rest) {
            let (url, named) = Self::parsed(&node)?;
            if named != Self::NAMESPACE {
                namespace = named;
            }
            nodes.push(url.into());
        }
        Ok(Self { kind: Kind::Cluster(nodes), namespace })
    }

    fn sentinel(rest: &str) -> Result<Self, Invalid> {
        let (rest, master) =
            rest.split_once('#').ok_or_else(|| Self::refused("a URL without a master's name"))?;
        let mut place = Self::cluster(rest)?;
        let Kind::Cluster(urls) = &place.kind else { return Err(Self::refused("no URL")) };
        let mut access = None;
        let mut nodes = Vec::new();
        for url in urls {
            let info = url.as_str().into_connection_info().map_err(|_| Self::refused("no URL"))?;
            let redis = info.redis_settings();
            access.get_or_insert_with(|| Access {
                user: redis.username().map(str::to_owned),
                password: redis.password().map(str::to_owned),
                database: redis.db(),
            });
            match info.addr() {
                ConnectionAddr::Tcp(host, port) => nodes.push(format!("redis://{host}:{port}")),
                _ => return Err(Self::refused("a sentinel without a host")),
            }
        }
        let access = access.ok_or_else(|| Self::refused("a URL without a sentinel"))?;
        place.kind = Kind::Sentinel { nodes, master: master.to_owned(), access };
        Ok(place)
    }

    /// `user:password@a:1,b:2/0?x=y` as one URL for each node, each with all the rest.
    fn nodes(rest: &str) -> Vec<String> {
        let at = rest.rfind('@').map_or(0, |at| at + 1);
        let (login, rest) = rest.split_at(at);
        let (hosts, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        hosts.split(',').map(|host| format!("redis://{login}{host}{tail}")).collect()
    }

    /// The URL without our own parameters.
    fn parsed(text: &str) -> Result<(Url, String), Invalid> {
        let mut url: Url = text.parse().map_err(|_| Self::refused("a URL that cannot be understood"))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(Self::refused("a URL without a host"));
        }
        let (ours, theirs): (Vec<_>, Vec<_>) =
            url.query_pairs().into_owned().partition(|(name, _)| name == "namespace");
        match theirs.is_empty() {
            true => url.set_query(None),
            false => {
                url.query_pairs_mut().clear().extend_pairs(theirs);
            }
        }
        let namespace = ours.into_iter().next_back().map_or_else(|| Self::NAMESPACE.into(), |(_, name)| name);
        // It stands in patterns and between braces.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match !namespace.is_empty() && namespace.chars().all(is_plain) {
            true => Ok((url, namespace)),
            false => {
                Err(Self::refused("a namespace with other characters than letters, digits, '-', '_' and '.'"))
            }
        }
    }

    fn refused(given: &str) -> Invalid {
        Invalid::OutOfRange { what: "redis", given: given.into(), allowed: Self::FORMS.into() }
    }

    /// The name of something of ours.
    pub(crate) fn name(&self, kind: &str, of: &str) -> String {
        format!("{}/{kind}/{of}", self.namespace)
    }
}

impl FromStr for RedisPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for RedisPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |urls: &[String]| urls.iter().map(|url| address(url)).collect::<Vec<_>>().join(",");
        match &self.kind {
            Kind::Server(url) => {
                let scheme = url.split("://").next().unwrap_or("redis");
                write!(f, "{scheme}://{}", address(url))
            }
            Kind::Cluster(nodes) => write!(f, "redis-cluster://{}", shown(nodes)),
            Kind::Sentinel { nodes, master, .. } => write!(f, "redis-sentinel://{}#{master}", shown(nodes)),
        }
    }
}

impl fmt::Debug for RedisPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Host, port and path, without a user and parameters.
fn address(url: &str) -> String {
    let Ok(url) = url.parse::<Url>() else { return "***".into() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}{}", url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> RedisPlace {
        text.parse().unwrap()
    }

    #[test]
    fn a_server_is_shown_without_its_password() {
        let place = place("redis://app:hunter2@cache:6380/3?namespace=shop");
        assert_eq!(place.to_string(), "redis://cache:6380/3");
        assert!(matches!(&place.kind, Kind::Server(url) if url == "redis://app:hunter2@cache:6380/3"));
        assert_eq!(place.name("lock", "a"), "shop/lock/a");
    }

    #[test]
    fn a_cluster_is_some_of_its_nodes() {
        let place = place("redis-cluster://:hunter2@a:7000,b:7001?namespace=shop");
        assert_eq!(place.to_string(), "redis-cluster://a:7000,b:7001");
        let nodes = ["redis://:hunter2@a:7000", "redis://:hunter2@b:7001"].map(str::to_owned);
        assert!(matches!(&place.kind, Kind::Cluster(urls) if *urls == nodes));
        assert_eq!(place.namespace, "shop");
    }

    #[test]
    fn sentinels_name_a_master() {
        let place = place("redis-sentinel://app:hunter2@a:26379,b:26380/2#mymaster");
        assert_eq!(place.to_string(), "redis-sentinel://a:26379,b:26380#mymaster");
        let Kind::Sentinel { nodes, master, access } = &place.kind else { panic!("not a sentinel") };
        assert_eq!((nodes.len(), master.as_str(), access.database), (2, "mymaster", 2));
        assert_eq!((access.user.as_deref(), access.password.as_deref()), (Some("app"), Some("hunter2")));
    }

    #[test]
    fn what_is_refused_is_not_repeated() {
        for bad in
            ["hunter2", "http://hunter2", "redis://", "redis-sentinel://hunter2:1", "redis://h:hunter2/x"]
        {
            let why = RedisPlace::new(bad).unwrap_err().to_string();
            assert!(!why.contains("hunter2") && why.contains("redis://host:6379/0"), "{why}");
        }
    }
}
