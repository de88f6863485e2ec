use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, header};
use claimstream_domain::notification::{InboxKeys, InboxToken};

use super::Listeners;
use crate::{caller::is_asked_by_another_name, problem::Problem, state::AppState, token::Scope};

/// What the routes of inboxes share.
#[derive(Debug)]
pub(crate) struct Inboxes {
    /// The keys of passes, if there are any.
    pub(crate) keys: Option<InboxKeys>,
    pub(crate) listeners: Listeners,
}

/// The caller of a route of one user's inbox.
pub(crate) struct InboxCaller {
    /// How long it may listen.
    pub(crate) left: Duration,
}

impl Inboxes {
    /// How long a caller with a token of its own listens before it has to come again.
    const LONGEST: Duration = Duration::from_secs(3_600);

    /// Lets in the bearer of a token with the scope `inbox`, and of a pass for this user.
    pub(crate) fn admit(
        &self,
        state: &AppState,
        headers: &HeaderMap,
        in_query: Option<&str>,
        user: &str,
    ) -> Result<InboxCaller, Problem> {
        let Some(tokens) = &state.tokens else {
            return match is_asked_by_another_name(headers) {
                true => Err(Problem::other_host()),
                false => Ok(InboxCaller { left: Self::LONGEST }),
            };
        };
        let given = bearer(headers).or(in_query).ok_or_else(Problem::unauthorized)?;
        // A token of a program is never looked for in a query: queries are logged on the way.
        if let Some(identity) = bearer(headers).and_then(|token| tokens.identify(token)) {
            return match identity.may(Scope::Inbox) {
                true => Ok(InboxCaller { left: Self::LONGEST }),
                false => Err(Problem::forbidden(Scope::Inbox)),
            };
        }
        let now = now();
        let pass = self.keys.as_ref().and_then(|keys| keys.verify(given, now));
        let InboxToken { user: of, until } = pass.ok_or_else(Problem::unauthorized)?;
        match of == user {
            true => {
                Ok(InboxCaller { left: Duration::from_secs(until.saturating_sub(now)).min(Self::LONGEST) })
            }
            false => Err(Problem::another_inbox()),
        }
    }

    /// A pass for a user that ends after this time; `None` without keys.
    pub(crate) fn pass(&self, user: &str, seconds: u64) -> Option<String> {
        let pass = InboxToken { user: user.to_owned(), until: now().saturating_add(seconds) };
        self.keys.as_ref().map(|keys| keys.sign(&pass))
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Seconds since 1970 by this machine's clock, for the end of passes.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
