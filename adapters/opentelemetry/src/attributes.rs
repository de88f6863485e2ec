use claimstream_domain::QueueName;
use opentelemetry::KeyValue;

/// The name under which all spans and metrics of this crate are kept.
pub(crate) const SCOPE: &str = "claimstream";

/// The attributes of an operation on a queue. `operation` is its name, `kind` one of the conventions' types of operations.
pub(crate) fn of_operation(queue: &QueueName, operation: &'static str, kind: &'static str) -> Vec<KeyValue> {
    let mut attributes = of_count(queue, operation);
    attributes.push(KeyValue::new("messaging.operation.type", kind));
    attributes
}

/// The attributes of a measurement of an operation, where the conventions want no type of it.
pub(crate) fn of_count(queue: &QueueName, operation: &'static str) -> Vec<KeyValue> {
    let mut attributes = of_queue(queue);
    attributes.push(KeyValue::new("messaging.operation.name", operation));
    attributes
}

/// The attributes of everything that has to do with a queue.
pub(crate) fn of_queue(queue: &QueueName) -> Vec<KeyValue> {
    vec![KeyValue::new("messaging.system", SCOPE), name_of(queue)]
}

/// The name of a queue.
pub(crate) fn name_of(queue: &QueueName) -> KeyValue {
    KeyValue::new("messaging.destination.name", queue.shared())
}

/// The kind of a failure, from a closed list.
pub(crate) fn error_type(word: &'static str) -> KeyValue {
    KeyValue::new("error.type", word)
}
