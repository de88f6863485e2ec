use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension, RequestPartsExt,
    extract::{FromRequestParts, NestedPath},
    http::request::Parts,
    response::Response,
};
use claimstream_domain::{AuditAction, AuditEntry};

use crate::{
    access::{Access, User},
    app_state::AppState,
    frame::Frame,
    refusal::Refusal,
    section::Section,
    stores::{MessageStores, NotificationStores},
};

/// A request for a page: the user, and where the board is mounted.
pub(crate) struct RequestContext {
    pub(crate) app: Arc<AppState>,
    /// `None` on the pages that need no token.
    user: Option<User>,
    base: String,
}

impl RequestContext {
    /// The user of a page that is not for everybody.
    pub(crate) fn user(&self) -> User {
        self.user.clone().unwrap_or_else(Access::anonymous)
    }

    pub(crate) fn frame(&self) -> Frame {
        let signs_in = matches!(self.app.access, Access::Users(_));
        let frame = Frame::new(&self.base, self.user.clone(), signs_in, Section::all(&self.app.stores));
        frame.with_siblings(self.app.siblings.seen_from(&self.base))
    }

    /// Notes what the user is about to do; a refusal if it cannot be noted, and then it must not be done.
    pub(crate) async fn note(&self, action: AuditAction, subject: &str) -> Result<(), Refusal> {
        let entry = AuditEntry::new(&self.user().name, action, subject);
        let entry = entry.map_err(|refused| Refusal::unnamed(&refused))?;
        self.app.audit.note(&entry).await.map_err(|error| Refusal::not_noted(&error))
    }

    /// What the pages of single messages need.
    pub(crate) fn messages(&self) -> Result<&MessageStores, Refusal> {
        self.app.stores.messages().ok_or_else(Refusal::no_such_page)
    }

    /// What the pages of notification requests need.
    pub(crate) fn notifications(&self) -> Result<&NotificationStores, Refusal> {
        self.app.stores.notifications().ok_or_else(Refusal::no_such_page)
    }

    /// The page that says why there is no other.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        refusal.page(self.frame())
    }
}

impl FromRequestParts<Arc<AppState>> for RequestContext {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, Infallible> {
        let user = parts.extract::<Extension<User>>().await.ok().map(|Extension(user)| user);
        let base = parts.extract::<NestedPath>().await.map(|base| base.as_str().to_owned());
        Ok(Self { app: Arc::clone(app), user, base: base.unwrap_or_default() })
    }
}
