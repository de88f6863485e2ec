use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension, RequestPartsExt,
    extract::{FromRequestParts, NestedPath},
    http::request::Parts,
    response::Response,
};
use claimstream_domain::{AuditAction, AuditEntry};

use crate::{
    access::{Access, Visitor},
    desk::Desk,
    frame::Frame,
    refusal::Refusal,
    section::Section,
    stores::{MessageStores, NotificationStores},
};

/// A request for a page: the visitor, and where the board is mounted.
pub(crate) struct Visit {
    pub(crate) desk: Arc<Desk>,
    /// `None` on the pages that need no token.
    visitor: Option<Visitor>,
    base: String,
}

impl Visit {
    /// The visitor of a page that is not for everybody.
    pub(crate) fn visitor(&self) -> Visitor {
        self.visitor.clone().unwrap_or_else(Access::anonymous)
    }

    pub(crate) fn frame(&self) -> Frame {
        let signs_in = matches!(self.desk.access, Access::Visitors(_));
        let frame = Frame::new(&self.base, self.visitor.clone(), signs_in, Section::all(&self.desk.stores));
        frame.with_siblings(self.desk.siblings.seen_from(&self.base))
    }

    /// Notes what the visitor is about to do; a refusal if it cannot be noted, and then it must not be done.
    pub(crate) async fn note(&self, action: AuditAction, subject: &str) -> Result<(), Refusal> {
        let entry = AuditEntry::new(&self.visitor().name, action, subject);
        let entry = entry.map_err(|refused| Refusal::unnamed(&refused))?;
        self.desk.audit.note(&entry).await.map_err(|error| Refusal::not_noted(&error))
    }

    /// What the pages of single messages need.
    pub(crate) fn messages(&self) -> Result<&MessageStores, Refusal> {
        self.desk.stores.messages().ok_or_else(Refusal::no_such_page)
    }

    /// What the pages of notification requests need.
    pub(crate) fn notifications(&self) -> Result<&NotificationStores, Refusal> {
        self.desk.stores.notifications().ok_or_else(Refusal::no_such_page)
    }

    /// The page that says why there is no other.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        refusal.page(self.frame())
    }
}

impl FromRequestParts<Arc<Desk>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Infallible> {
        let visitor = parts.extract::<Extension<Visitor>>().await.ok().map(|Extension(visitor)| visitor);
        let base = parts.extract::<NestedPath>().await.map(|base| base.as_str().to_owned());
        Ok(Self { desk: Arc::clone(desk), visitor, base: base.unwrap_or_default() })
    }
}
