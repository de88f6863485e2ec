use std::fmt;

/// The servers that a database URL names, in its order, as in `mysql://user@db1:3306,db2:3306/shop`.
///
/// A URL with one address is taken as it is; the driver reads it. Debug shows the addresses and nothing else, because the rest may
/// hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddresses {
    before: String,
    addresses: Vec<String>,
    after: String,
}

impl ServerAddresses {
    /// Takes a URL apart; the sentence that refuses one does not repeat it, because it may bear a password.
    pub fn of_url(url: &str) -> Result<Self, String> {
        let Some((scheme @ ("mysql" | "mariadb"), rest)) = url.split_once("://") else {
            return Ok(Self::alone(url));
        };
        let authority_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(authority_ends);
        let (user, list) = authority.rsplit_once('@').map_or(("", authority), |(user, list)| (user, list));
        if !list.contains(',') {
            return Ok(Self::alone(url));
        }
        let addresses: Vec<String> = list.split(',').map(str::to_owned).collect();
        addresses.iter().try_for_each(|address| check(address))?;
        if (1..addresses.len()).any(|at| addresses[..at].contains(&addresses[at])) {
            return Err("the database URL names an address twice; name each server once".into());
        }
        let parameters = after.split_once('?').map_or("", |(_, parameters)| parameters);
        if parameters.split('&').any(|parameter| parameter.starts_with("socket=")) {
            return Err("a socket leads to one server; leave out `socket`, or name one address".into());
        }
        let user = if authority.contains('@') { format!("{user}@") } else { String::new() };
        Ok(Self { before: format!("{scheme}://{user}"), addresses, after: after.to_owned() })
    }

    fn alone(url: &str) -> Self {
        Self { before: url.to_owned(), addresses: vec![String::new()], after: String::new() }
    }

    /// Whether there is more than one.
    pub fn are_several(&self) -> bool {
        self.addresses.len() > 1
    }

    /// The addresses, if there are several; empty for a URL with one, which is left to the driver.
    pub fn several(&self) -> &[String] {
        if self.are_several() { &self.addresses } else { &[] }
    }

    /// A URL for each address.
    pub fn urls(&self) -> impl Iterator<Item = String> + '_ {
        self.addresses.iter().map(|address| format!("{}{address}{}", self.before, self.after))
    }
}

/// Refuses what is no host with an optional port.
fn check(address: &str) -> Result<(), String> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(UNREADABLE)?,
        None => address.find(':').map_or((address, ""), |at| address.split_at(at)),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host = match address.starts_with('[') {
        true => host.parse::<std::net::Ipv6Addr>().is_ok(),
        false => !host.is_empty() && host.chars().all(is_name),
    };
    let is_port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0) && !text.starts_with('+');
    let port_is_good = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    if is_host && port_is_good { Ok(()) } else { Err(UNREADABLE.into()) }
}

const UNREADABLE: &str = "one of the addresses of the database URL cannot be read; write several like \
                          mysql://user:password@host1:3306,host2:3306/database";

impl fmt::Debug for ServerAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerAddresses").field(&self.several()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sea_orm::sqlx::mysql::MySqlConnectOptions;

    use super::*;

    proptest! {
        #[test]
        fn each_address_gets_the_rest_of_the_url(
            servers in prop::collection::btree_map("[a-z][a-z0-9.-]{0,20}[a-z0-9]", 1..=u16::MAX, 2..5),
            user in "[a-z]{1,8}",
            password in "[a-zA-Z0-9,;=_-]{0,12}",
            database in "[a-z_]{1,10}",
        ) {
            let list: Vec<_> = servers.iter().map(|(host, port)| format!("{host}:{port}")).collect();
            let url = format!("mysql://{user}:{password}@{}/{database}?charset=utf8mb4", list.join(","));
            let addresses = ServerAddresses::of_url(&url).unwrap();
            prop_assert_eq!(addresses.several(), &list[..]);
            for (url, (host, port)) in addresses.urls().zip(&servers) {
                let read: MySqlConnectOptions = url.parse().unwrap();
                prop_assert_eq!((read.get_host(), read.get_port()), (host.as_str(), *port));
                prop_assert_eq!(read.get_database(), Some(database.as_str()));
                let begin = format!("mysql://{user}:{password}@");
                prop_assert!(url.starts_with(&begin));
            }
            let shown = format!("{addresses:?}");
            prop_assert!(password.len() < 6 || !shown.contains(&password), "{}", shown);
        }

        #[test]
        fn nothing_makes_it_panic_and_one_address_stays_as_it_is(text in ".{0,60}") {
            let Ok(addresses) = ServerAddresses::of_url(&text) else { return Ok(()) };
            if !addresses.are_several() {
                prop_assert_eq!(addresses.urls().collect::<Vec<_>>(), vec![text]);
            }
        }
    }

    #[test]
    fn a_comma_elsewhere_is_no_list() {
        for url in ["mysql://me:a,b@host/shop", "mysql://host/a,b", "sqlite://a,b.db", "mysql://host?x=a,b"] {
            let addresses = ServerAddresses::of_url(url).unwrap();
            assert_eq!((addresses.several(), addresses.urls().next().as_deref()), (&[][..], Some(url)));
        }
    }

    #[test]
    fn addresses_of_version_six_stand_in_brackets() {
        let addresses = ServerAddresses::of_url("mysql://me@[::1]:3306,[fe80::2],db/shop").unwrap();
        assert_eq!(addresses.several(), ["[::1]:3306", "[fe80::2]", "db"]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_not_repeated() {
        for url in [
            "mysql://me:secret@db1,/shop",
            "mysql://me:secret@,db1/shop",
            "mysql://me:secret@db1:0,db2/shop",
            "mysql://me:secret@db1:x,db2/shop",
            "mysql://me:secret@db1:70000,db2/shop",
            "mysql://me:secret@db 1,db2/shop",
            "mysql://me:secret@[::1,db2/shop",
            "mysql://me:secret@[x],db2/shop",
            "mysql://me:secret@db1,db1/shop",
            "mysql://me:secret@db1,db2/shop?socket=/run/x",
        ] {
            let why = ServerAddresses::of_url(url).unwrap_err();
            assert!(!why.contains("secret") && (why.contains("name") || why.contains("write")), "{why}");
        }
    }
}
