use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use claimstream_domain::QueueName;

/// The name `process {queue}`, made once for each queue and kept until the process ends, because queues are few.
///
/// A sampler is asked by name about every message, and would be given a copy of any other text.
pub(crate) fn process(queue: &QueueName) -> &'static str {
    static NAMES: RwLock<BTreeMap<QueueName, &'static str>> = RwLock::new(BTreeMap::new());
    if let Some(known) = NAMES.read().unwrap_or_else(PoisonError::into_inner).get(queue) {
        return known;
    }
    let mut all = NAMES.write().unwrap_or_else(PoisonError::into_inner);
    all.entry(queue.clone()).or_insert_with(|| format!("process {queue}").leak())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_once() {
        let [orders, again, mails] =
            ["orders", "orders", "mails"].map(|it| QueueName::new(it).expect("a name"));
        assert_eq!((process(&orders), process(&mails)), ("process orders", "process mails"));
        assert!(std::ptr::eq(process(&orders), process(&again)));
    }
}
