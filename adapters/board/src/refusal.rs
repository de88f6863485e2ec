use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use claimstream_domain::Invalid;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::frame::{Frame, answer};

/// Why a page is not shown, or a change not made; a sentence with the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    title: &'static str,
    why: String,
}

impl Refusal {
    fn new(status: StatusCode, title: &'static str, why: impl Into<String>) -> Self {
        Self { status, title, why: why.into() }
    }

    pub(crate) fn unknown_host() -> Self {
        let why = "The board is not known under the name in the address. Add the name to board.hosts, or call the board by its IP address.";
        Self::new(StatusCode::MISDIRECTED_REQUEST, "Unknown name", why)
    }

    pub(crate) fn foreign() -> Self {
        let why = "Only pages of the board itself may do this. Go back to the board and do it there; a program sends Origin, or Sec-Fetch-Site: same-origin.";
        Self::new(StatusCode::FORBIDDEN, "From somewhere else", why)
    }

    pub(crate) fn not_signed_in() -> Self {
        let why = "Sign in first, or send the token in Authorization: Bearer.";
        Self::new(StatusCode::UNAUTHORIZED, "Not signed in", why)
    }

    pub(crate) fn may_only_look() -> Self {
        let why = "Your token allows looking, and no change. Sign in with a token that has the scope admin.";
        Self::new(StatusCode::FORBIDDEN, "Not allowed", why)
    }

    pub(crate) fn read_only() -> Self {
        let why = "The board shows and changes nothing, because board.read_only is set. Use the program, such as `claimstream dead`, or a board without it.";
        Self::new(StatusCode::FORBIDDEN, "Read only", why)
    }

    pub(crate) fn gone(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not there", what)
    }

    /// What was shown is not so any more.
    pub(crate) fn changed(why: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Changed meanwhile", why)
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Not understood", why)
    }

    pub(crate) fn too_late(why: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "Too late", why)
    }

    pub(crate) fn no_such_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No such page", "There is no such page. Begin with the overview.")
    }

    pub(crate) fn wrong_method() -> Self {
        let why = "This address is not called like that. Begin with the overview.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Wrong method", why)
    }

    pub(crate) fn busy() -> Self {
        let why = "The board writes as many pages as it may. Try again in a moment.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", why)
    }

    pub(crate) fn slow() -> Self {
        let why = "The database takes too long. Try again in a moment; `claimstream doctor` says what may be wrong.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "The database takes long", why)
    }

    pub(crate) fn unexamined() -> Self {
        let why = "The checks took too long and were given up; the board begins them again in a minute. `claimstream doctor` takes its time.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Not examined", why)
    }

    /// What to say where an action has no name to be noted under.
    pub(crate) fn unnamed(refused: &Invalid) -> Self {
        let why = format!(
            "Nothing was done, because the audit log cannot note it: {refused}. Change the name of your token."
        );
        Self::new(StatusCode::FORBIDDEN, "Not noted", why)
    }

    /// What to say where the audit log could not be written.
    pub(crate) fn not_noted(error: &StoreError) -> Self {
        let why = "Nothing was done, because the audit log could not be written, and nothing is done without its entry. Try again in a moment; the log of this process has the words of the database.";
        Self { title: "Not noted", why: why.into(), ..Self::of_store(error) }
    }

    /// What to say of an error of the store. The text of the driver goes to the log, because it may name hosts and users.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        tracing::warn!(%error, "the store refused a page of the board");
        let (status, title, why) = match error.kind() {
            StoreErrorKind::Transient | StoreErrorKind::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The database does not answer",
                "The database cannot be asked now. Try again in a moment; the log of this process has its words.",
            ),
            _ => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The database refuses",
                "The database refuses this. The log of this process has its words, and `claimstream doctor` says what to change.",
            ),
        };
        Self::new(status, title, why)
    }

    /// The page that says so.
    pub(crate) fn page(&self, frame: Frame) -> Response {
        let page = RefusalPage { frame, title: self.title, why: &self.why };
        let mut response = answer(self.status, &page);
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    frame: Frame,
    title: &'a str,
    why: &'a str,
}
