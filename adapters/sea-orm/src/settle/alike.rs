use claimstream_domain::Disposition;

/// Whether one statement can write both.
pub(crate) fn written_alike(one: &Disposition, other: &Disposition) -> bool {
    match (one, other) {
        (Disposition::Done { .. }, Disposition::Done { .. }) => true,
        (Disposition::Dead { reason: one, .. }, Disposition::Dead { reason: other, .. }) => one == other,
        _ => one == other,
    }
}
