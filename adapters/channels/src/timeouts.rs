use std::time::Duration;

use claimstream_domain::Invalid;

/// Refuses timeouts that no delivery could keep.
pub(crate) fn check(what: &'static str, connect: Duration, total: Duration) -> Result<(), Invalid> {
    if connect.is_zero() || total < connect {
        return Err(Invalid::OutOfRange {
            what,
            given: format!("{connect:?} to connect and {total:?} in all"),
            allowed: "longer than zero, and in all no shorter than to connect".into(),
        });
    }
    Ok(())
}
