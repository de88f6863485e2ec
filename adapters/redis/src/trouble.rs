use claimstream_ports::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The one place that says what kind of trouble an error of Redis is.
pub(crate) fn trouble(operation: &'static str, error: RedisError) -> StoreError {
    let kind = match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig => StoreErrorKind::Unsupported,
        ErrorKind::Server(ServerErrorKind::NoPerm | ServerErrorKind::CrossSlot) => {
            StoreErrorKind::Unsupported
        }
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => StoreErrorKind::Corrupt,
        // Away, loading, failing over, moved; and whatever else a server may answer today and not tomorrow.
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, operation, error)
}
