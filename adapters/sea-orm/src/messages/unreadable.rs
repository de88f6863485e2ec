use claimstream_domain::{Disposition, Reason, Receipt, Settlement};
use claimstream_ports::StoreError;

/// Logs which messages have become dead letters, in the words of a relay, which has not seen them.
pub(crate) fn log_dead(unreadable: &[Settlement]) {
    let is_dead = |one: &&Settlement| one.disposition != Disposition::Returned;
    for Settlement { receipt, .. } in unreadable.iter().filter(is_dead) {
        tracing::warn!(queue = %receipt.queue, message_id = %receipt.message, class = "unreadable", "dead letter");
    }
}

/// The settlement of a message that cannot be read: it becomes a dead letter.
pub(crate) fn given_up(receipt: Receipt, why: &StoreError) -> Settlement {
    let reason = Reason::new(format!("the message cannot be read: {why}"));
    Settlement { receipt, disposition: Disposition::dead(reason) }
}
