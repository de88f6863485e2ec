use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    access::{Right, User},
    place::place,
    section::Section,
    siblings::Sibling,
};

/// What stands around every page.
#[derive(Clone)]
pub(crate) struct Frame {
    base: String,
    user: Option<User>,
    /// Whether there is anything to sign out of.
    signs_in: bool,
    sections: Vec<Section>,
    siblings: Vec<Sibling>,
}

impl Frame {
    pub(crate) fn new(base: &str, user: Option<User>, signs_in: bool, sections: Vec<Section>) -> Self {
        Self { base: base.to_owned(), user, signs_in, sections, siblings: Vec::new() }
    }

    /// The same with links to the boards of other databases.
    pub(crate) fn with_siblings(self, siblings: Vec<Sibling>) -> Self {
        Self { siblings, ..self }
    }

    /// The databases that have boards at this address; none if there is one only, which needs no name.
    pub(crate) fn siblings(&self) -> &[Sibling] {
        &self.siblings
    }

    /// The address of a page without values.
    pub(crate) fn to(&self, path: &str) -> String {
        place(&self.base, path, &[])
    }

    /// The address of a page about these values.
    pub(crate) fn about(&self, path: &str, values: &[(&str, &str)]) -> String {
        place(&self.base, path, values)
    }

    /// What every page links to.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The name to be shown, with a way to sign out.
    pub(crate) fn signed_in(&self) -> Option<&str> {
        self.user.as_ref().filter(|_| self.signs_in).map(|user| &*user.name)
    }

    /// Whether there is a user.
    pub(crate) fn is_inside(&self) -> bool {
        self.user.is_some()
    }

    /// Whether the user is shown what changes something.
    pub(crate) fn may_change(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.right == Right::Change)
    }

    pub(crate) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// Answers a page.
pub(crate) fn answer(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let html = HeaderValue::from_static("text/html; charset=utf-8");
            (status, [(header::CONTENT_TYPE, html)], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "a page of the board cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
