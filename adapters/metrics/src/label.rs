use claimstream_domain::QueueName;
use metrics::SharedString;

/// The label of a queue, which costs no copy of its name.
pub(crate) fn label(queue: &QueueName) -> SharedString {
    queue.shared().into()
}
