use crate::access::Visitor;

/// Writes into the log that somebody has done something: who, what, and how many it was done to. No payload, reason or recipient
/// is in it.
pub(crate) fn note(visitor: &Visitor, action: &'static str, on: &str, count: u64) {
    tracing::info!(target: "claimstream_board::audit", actor = visitor.name, action, on, count, "board: an operator acted");
}
