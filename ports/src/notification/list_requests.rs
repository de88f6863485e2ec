use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{RequestStatus, Requester};
use uuid::Uuid;

use crate::StoreError;

/// Lists notification requests, the newest first.
///
/// Implementors owe: pages that follow each other name each request that matches once, in the order in which they were taken in,
/// whatever is taken in meanwhile; a call looks at a bounded number of requests, so a page may have few of them, or none, and
/// still name a next one.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ListRequests: Send + Sync {
    /// The requests that match and are older than `after`, at most `limit`.
    async fn list(
        &self,
        filter: &RequestFilter,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<RequestPage, StoreError>;

    /// One request as a list shows it; `None` if there is none.
    async fn listed(&self, id: Uuid) -> Result<Option<RequestListed>, StoreError>;
}

/// Which requests are listed; all of them by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestFilter {
    /// Only those that stand here by what the request itself says.
    pub status: Option<RequestStatus>,
    /// Only those of the requester with this id.
    pub requester: Option<String>,
}

/// A page of requests, the newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestPage {
    /// Those that match.
    pub requests: Vec<RequestListed>,
    /// The `after` of the next page; `None` if there is none.
    pub next: Option<Uuid>,
}

/// A request in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestListed {
    /// The request.
    pub id: Uuid,
    /// Where it stands by what it says itself.
    pub status: RequestStatus,
    /// The requester.
    pub requester: Requester,
    /// How long ago it was taken in.
    pub age: Duration,
}

impl RequestFilter {
    /// Whether it lets a request through.
    pub fn matches(&self, request: &RequestListed) -> bool {
        self.status.is_none_or(|status| status == request.status)
            && self.requester.as_ref().is_none_or(|id| *id == request.requester.id)
    }
}
