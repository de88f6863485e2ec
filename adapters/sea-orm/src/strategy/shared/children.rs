use claimstream_domain::{NewMessage, Settlement, keep_order};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::enqueue::rows::Enqueueing;

const SETTLE: &str = "settle";

/// Enqueues children; one that was enqueued before, by an earlier run of the same parent, is left as it is.
pub(crate) async fn emit(
    enqueueing: &Enqueueing,
    on: &impl ConnectionTrait,
    children: &[NewMessage],
) -> Result<(), StoreError> {
    let emitted = enqueueing.enqueue(on, children).await;
    emitted.map(|_| ()).map_err(|error| match error.kind() {
        // Another transaction enqueued one of them after we looked: look again.
        StoreErrorKind::Conflict => StoreError::new(StoreErrorKind::Transient, SETTLE, error),
        _ => error,
    })
}

/// What settlements enqueue, each once, and of each key in the order of the settlements.
pub(crate) fn children<'a>(settlements: impl Iterator<Item = &'a Settlement>) -> Vec<NewMessage> {
    let mut children: Vec<NewMessage> = Vec::new();
    for settlement in settlements {
        children.extend_from_slice(settlement.disposition.emitted());
    }
    keep_order(&mut children);
    children.sort_by_key(|child| child.id);
    children.dedup_by_key(|child| child.id);
    children
}
