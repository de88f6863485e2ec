use std::{marker::PhantomData, net::IpAddr, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts, uri::Authority},
};

use crate::{
    problem::Problem,
    state::AppState,
    token::{Scope, TokenIdentity},
};

/// The caller of a route, whose token has the route's scope.
pub(crate) struct Caller<S> {
    /// The name of its token.
    pub(crate) name: String,
    scope: PhantomData<S>,
}

/// A scope as a type, for the signature of a handler.
pub(crate) trait Needs {
    const SCOPE: Scope;
}

/// May hand requests in.
pub(crate) struct Send;

/// May read.
pub(crate) struct Read;

/// May read inboxes and mark their entries.
pub(crate) struct Inbox;

/// May do everything.
pub(crate) struct Admin;

impl Needs for Send {
    const SCOPE: Scope = Scope::Send;
}

impl Needs for Read {
    const SCOPE: Scope = Scope::Read;
}

impl Needs for Inbox {
    const SCOPE: Scope = Scope::Inbox;
}

impl Needs for Admin {
    const SCOPE: Scope = Scope::Admin;
}

impl<S: Needs> FromRequestParts<Arc<AppState>> for Caller<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, Problem> {
        let identity = match &state.tokens {
            None if is_asked_by_another_name(&parts.headers) => return Err(Problem::other_host()),
            None => TokenIdentity::anonymous(),
            Some(tokens) => {
                bearer(parts).and_then(|token| tokens.identify(token)).ok_or_else(Problem::unauthorized)?
            }
        };
        match identity.may(S::SCOPE) {
            true => Ok(Self { name: identity.name, scope: PhantomData }),
            false => Err(Problem::forbidden(S::SCOPE)),
        }
    }
}

/// Whether the `Host` of a request is a name other than `localhost`. A page of another site can have its own name lead to this machine,
/// and its scripts may read the answers then (DNS rebinding); an address leads nowhere else.
pub(crate) fn is_asked_by_another_name(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return false };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let name = authority.as_ref().map_or("", Authority::host);
    let inner = name.trim_start_matches('[').trim_end_matches(']');
    inner.parse::<IpAddr>().is_err() && !name.eq_ignore_ascii_case("localhost")
}

fn bearer(parts: &Parts) -> Option<&str> {
    let given = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
