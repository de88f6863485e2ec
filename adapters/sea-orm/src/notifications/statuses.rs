use claimstream_domain::notification::{DeliveryStatus, RequestStatus};
use claimstream_ports::StoreError;

use crate::database::classify::corrupt;

/// Where a message stands, by its name in a row.
pub(super) fn delivery_status(name: &str) -> Result<DeliveryStatus, StoreError> {
    name.parse().map_err(|e| corrupt("notification message", e))
}

/// Where a request stands, by its name in a row.
pub(super) fn request_status(name: &str) -> Result<RequestStatus, StoreError> {
    name.parse().map_err(|e| corrupt("request", e))
}
