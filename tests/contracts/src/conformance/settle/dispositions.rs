use std::time::Duration;

use claimstream_domain::{Disposition, Reason};

/// One of each kind; their effects differ in every respect.
pub(in crate::conformance) fn dispositions() -> [Disposition; 4] {
    [
        done(),
        Disposition::Retry { after: Duration::from_secs(77), reason: Reason::new("not yet") },
        Disposition::dead(Reason::new("never")),
        Disposition::Returned,
    ]
}

/// The end of a message that leaves nothing behind.
pub(in crate::conformance) fn done() -> Disposition {
    Disposition::Done { emit: vec![] }
}
