use claimstream_domain::{ClaimId, Disposition, MessageId, Renewed};

/// A message by its number; ids of the simulator are small numbers.
pub(crate) fn short(id: MessageId) -> String {
    format!("message {}", id.uuid().as_u128() & 0xffff_ffff)
}

pub(crate) fn who(claim: ClaimId) -> String {
    format!("claim {}", claim.uuid().as_u64_pair().1)
}

pub(crate) fn kind(disposition: &Disposition) -> &'static str {
    match disposition {
        Disposition::Done { .. } => "done",
        Disposition::Retry { .. } => "retry",
        Disposition::Postponed { .. } => "postponed",
        Disposition::Dead { .. } => "dead",
        Disposition::Returned => "returned",
    }
}

pub(crate) fn renewed_as(renewed: &Renewed) -> &'static str {
    match renewed {
        Renewed::Extended(_) => "extended",
        Renewed::Superseded => "superseded",
        Renewed::Unknown => "unknown",
    }
}
