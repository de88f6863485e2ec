use std::sync::Arc;

use claimstream_ports::StoreError;
use futures::future::{BoxFuture, Shared};

use super::ticket::Ticket;

/// A renewal under way, driven by all that wait for it: the renewer, the owner of a claim, or a settlement that must come
/// after it. It ends with the claims that turned out to be lost.
pub(crate) type Renewal = Shared<BoxFuture<'static, Result<Arc<[Ticket]>, Arc<StoreError>>>>;
