use std::net::SocketAddr;

use claimstream_http::Tokens;

use super::{
    contradiction::Contradiction,
    error::ConfigError,
    secret::SecretSource,
    setting::{ConfigValue, Setting, quoted},
};

/// How the board is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoardSettings {
    /// Where it listens; `127.0.0.1:8081` by default. Any address of other machines needs tokens.
    pub listen: SocketAddr,
    /// The tokens of its users, as [`Tokens::read`] reads them; without any, users of this machine need none.
    pub tokens: SecretSource,
    /// Whether it refuses all changes, whatever a token allows; not by default.
    pub read_only: bool,
    /// The names under which browsers reach it, in addition to addresses and `localhost`.
    pub hosts: Option<HostNames>,
}

/// Names of hosts, without ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostNames(pub Vec<String>);

impl BoardSettings {
    /// The tokens; `None` if users need none. Refuses a configuration that names none where one is needed.
    pub fn users(&self) -> Result<Option<Tokens>, ConfigError> {
        let refused = |why: String| ConfigError::new(format!("`board.tokens`: {why}"));
        let Some(text) = self.tokens.read().map_err(refused)? else { return Ok(None) };
        let tokens = Tokens::read(text.reveal()).map_err(refused)?;
        match tokens.is_empty() {
            true => Err(refused("there is no token in it".into())),
            false => Ok(Some(tokens)),
        }
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("board.listen", &mut self.listen);
        self.tokens.each("board.tokens", visit);
        visit("board.read_only", &mut self.read_only);
        visit("board.hosts", &mut self.hosts);
    }

    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let open = !self.listen.ip().is_loopback() && !self.tokens.is_set();
        open.then(|| {
            let why = "others than this machine reach it; set board.tokens_file, or listen at 127.0.0.1";
            ("board.listen".into(), why.into())
        })
    }
}

impl Default for BoardSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8081)),
            tokens: SecretSource::default(),
            read_only: false,
            hosts: None,
        }
    }
}

impl ConfigValue for HostNames {
    fn read(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
        let is_name = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        match names.iter().all(is_name) {
            true => Ok(Self(names)),
            false => {
                Err(format!("{text:?} is not names of hosts without ports, such as \"ops.example.com\""))
            }
        }
    }

    fn write(&self) -> String {
        quoted(&self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn an_address_of_other_machines_needs_tokens() {
        let at =
            |address: &str| BoardSettings { listen: address.parse().unwrap(), ..BoardSettings::default() };
        for here in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert_eq!(at(here).contradiction(), None, "{here}");
        }
        for elsewhere in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:127.0.0.1]:1"] {
            let (key, why) = at(elsewhere).contradiction().unwrap();
            assert!(key == "board.listen" && why.contains("board.tokens_file"), "{elsewhere}");
            let value = Some(Secret::new("ann read env:X"));
            let tokens = SecretSource { value, ..SecretSource::default() };
            assert_eq!(BoardSettings { tokens, ..at(elsewhere) }.contradiction(), None, "{elsewhere}");
        }
        let tokens = SecretSource { value: Some(Secret::new("# none")), ..SecretSource::default() };
        let why = BoardSettings { tokens, ..at("0.0.0.0:1") }.users().unwrap_err().to_string();
        assert!(why.contains("`board.tokens`: there is no token in it"), "{why}");
        assert!(BoardSettings::default().users().unwrap().is_none());
    }

    #[test]
    fn names_of_hosts_have_no_port_and_no_path() {
        let names = HostNames::read("a.example, b").unwrap();
        assert_eq!(
            (names.write(), names.0),
            ("\"a.example, b\"".into(), vec!["a.example".into(), "b".to_owned()])
        );
        for wrong in ["a:80", "http://a", "a,,b", "a/b"] {
            assert!(HostNames::read(wrong).unwrap_err().contains("without ports"), "{wrong}");
        }
    }
}
