use std::net::{IpAddr, Ipv6Addr};

/// The names under which browsers may reach a board.
///
/// A page of another site can have its own name lead to our address, and its scripts then count as ours (DNS rebinding). So a
/// name has to be known; an address is no name, and no site can have it lead elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    pub(crate) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(|name| name.into().to_ascii_lowercase()).collect())
    }

    /// Whether the `Host` of a request, a name or an address with or without a port, is ours.
    pub(crate) fn allow(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        is_address(&name) || name == "localhost" || self.0.contains(&name)
    }
}

fn without_port(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    }
}

fn is_address(name: &str) -> bool {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_known_names_are_ours_and_no_other_name_is() {
        let hosts = Hosts::new(["Ops.Example.com"]);
        for ours in [
            "127.0.0.1:8081",
            "10.0.0.7",
            "[::1]:8081",
            "[fe80::1]",
            "localhost",
            "LOCALHOST:1",
            "ops.example.com:443",
        ] {
            assert!(hosts.allow(ours), "{ours}");
        }
        let others = [
            "",
            "evil.example",
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "::1",
            "[evil.example]",
            "ops.example.com.",
            "ops.example.com:8081:80",
            "2130706433",
        ];
        for other in others {
            assert!(!hosts.allow(other), "{other}");
        }
    }
}
