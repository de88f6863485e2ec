use std::{marker::PhantomData, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::{
    problem::Problem,
    state::State,
    token::{Identity, Scope},
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

impl<S: Needs> FromRequestParts<Arc<State>> for Caller<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, Problem> {
        let identity = match &state.tokens {
            None => Identity::anonymous(),
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

fn bearer(parts: &Parts) -> Option<&str> {
    let given = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
