use std::net::SocketAddr;

use claimstream_domain::notification::InboxKeys;
use claimstream_http::{Limits, Tokens};

use super::{contradiction::Contradiction, error::ConfigError, secret::SecretSource, setting::Setting};

/// How notifications are taken in over HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Serve {
    /// Where the server listens; `127.0.0.1:8080` by default.
    pub listen: SocketAddr,
    /// The tokens of callers, as [`Tokens::read`] reads them.
    pub tokens: SecretSource,
    /// Whether callers need no token, which is possible on this machine only; not by default.
    pub anonymous: bool,
    /// The key that signs passes for inboxes, at least 32 bytes; no passes are made without it.
    pub inbox_key: SecretSource,
    /// Of several databases, the one that takes in what comes over HTTP; there is no default.
    pub database: Option<String>,
    /// How much the server takes on at a time.
    pub limits: Limits,
}

impl Serve {
    /// The tokens of callers; `None` if they need none. Refuses a configuration that says neither.
    pub fn callers(&self) -> Result<Option<Tokens>, ConfigError> {
        let refused = |why: String| ConfigError::new(format!("`serve.tokens`: {why}"));
        if self.anonymous {
            return Ok(None);
        }
        let text = self.tokens.read().map_err(refused)?.ok_or_else(|| refused(UNSET.into()))?;
        let tokens = Tokens::read(text.reveal()).map_err(refused)?;
        match tokens.is_empty() {
            true => Err(refused("there is no token in it".into())),
            false => Ok(Some(tokens)),
        }
    }

    /// The keys of passes for inboxes, if there are any; fails if one cannot be read or used. Several stand on lines of their own, the
    /// newest first.
    pub fn inbox_keys(&self) -> Result<Option<InboxKeys>, ConfigError> {
        let refused = |why: String| ConfigError::new(format!("`serve.inbox_key`: {why}"));
        let Some(secret) = self.inbox_key.read().map_err(refused)? else { return Ok(None) };
        let keys = secret.reveal().lines().map(str::trim).filter(|line| !line.is_empty()).map(str::as_bytes);
        InboxKeys::new(keys).map(Some).map_err(|e| refused(e.to_string()))
    }

    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("serve.listen", &mut self.listen);
        self.tokens.each("serve.tokens", visit);
        visit("serve.anonymous", &mut self.anonymous);
        self.inbox_key.each("serve.inbox_key", visit);
        visit("serve.database", &mut self.database);
        visit("serve.listeners", &mut self.limits.listeners);
        visit("serve.body_limit", &mut self.limits.body);
        visit("serve.timeout", &mut self.limits.timeout);
        visit("serve.concurrency", &mut self.limits.concurrency);
        visit("serve.connections", &mut self.limits.connections);
        visit("serve.idle", &mut self.limits.idle);
        visit("serve.queue", &mut self.limits.queue);
        visit("serve.writers", &mut self.limits.writers);
        visit("serve.drain", &mut self.limits.drain);
    }

    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let Limits { body, concurrency, connections, queue, writers, timeout, idle, .. } = self.limits;
        let counts = [
            ("body_limit", body),
            ("concurrency", concurrency),
            ("connections", connections),
            ("queue", queue),
            ("writers", writers),
        ];
        let none = counts.into_iter().filter(|(_, count)| *count == 0).map(|(key, _)| key);
        let no_time = [("timeout", timeout), ("idle", idle)].into_iter().filter(|(_, time)| time.is_zero());
        let zero = none.chain(no_time.map(|(key, _)| key));
        let mut found: Vec<Contradiction> =
            zero.map(|key| (format!("serve.{key}"), "it must be more than nothing".into())).collect();
        if writers > MOST_WRITERS {
            found.push(("serve.writers".into(), format!("use 1 to {MOST_WRITERS}; each takes a connection")));
        }
        if self.anonymous && self.tokens.is_set() {
            found.push(("serve.anonymous".into(), "tokens are set too; remove one of the two".into()));
        }
        if self.anonymous && !self.listen.ip().is_loopback() {
            let why = "others than this machine reach serve.listen; set serve.tokens, or listen at 127.0.0.1";
            found.push(("serve.anonymous".into(), why.into()));
        }
        found
    }
}

const MOST_WRITERS: usize = 64;

const UNSET: &str = "is not set; write a line such as `shop send,read sha256:HEX` for each caller into the file that \
                     serve.tokens_file names, or --set serve.anonymous=true to try it out on this machine";

impl Default for Serve {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tokens: SecretSource::default(),
            anonymous: false,
            inbox_key: SecretSource::default(),
            database: None,
            limits: Limits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    fn found(edit: impl FnOnce(&mut Serve)) -> Vec<String> {
        let mut serve = Serve::default();
        edit(&mut serve);
        serve.contradictions().into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn callers_without_tokens_are_let_in_on_this_machine_only_and_when_asked_for() {
        let why = Serve::default().callers().unwrap_err().to_string();
        assert!(why.contains("`serve.tokens`: is not set") && why.contains("serve.anonymous=true"), "{why}");
        let open = Serve { anonymous: true, ..Serve::default() };
        assert!(open.callers().unwrap().is_none());
        assert_eq!(found(|s| s.anonymous = true), [""; 0]);
        assert_eq!(
            found(|s| (s.anonymous, s.listen) = (true, "0.0.0.0:80".parse().unwrap())),
            ["serve.anonymous"]
        );
        let secret = Some(Secret::new("a send env:X"));
        assert_eq!(found(|s| (s.anonymous, s.tokens.value) = (true, secret)), ["serve.anonymous"]);
    }

    #[test]
    fn nothing_at_all_is_no_limit() {
        assert_eq!(found(|s| s.limits.writers = 0), ["serve.writers"]);
        assert_eq!(found(|s| s.limits.writers = 65), ["serve.writers"]);
        assert_eq!(found(|s| s.limits.timeout = std::time::Duration::ZERO), ["serve.timeout"]);
        let empty = SecretSource { value: Some(Secret::new("# none")), ..SecretSource::default() };
        let serve = Serve { tokens: empty, ..Serve::default() };
        assert!(serve.callers().unwrap_err().to_string().contains("there is no token in it"));
    }
}
