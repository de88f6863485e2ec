use std::{collections::HashMap, time::Duration};

use crate::{Due, MessageId, NewMessage, OrderingKey, QueueName};

/// Keeps the order of children that a store takes in at the same moment: of one key and queue they are handled as they stand here, which is
/// the order of their parents.
///
/// Messages of a key are handled by due time and then by id, and these have one due time. So those behind one whose id is larger are due a
/// microsecond later, and as many more as there are such places before. Only children that are due at once are moved.
pub fn keep_order(children: &mut [NewMessage]) {
    let mut last: HashMap<(QueueName, OrderingKey), (MessageId, Duration)> = HashMap::new();
    for child in children.iter_mut().filter(|child| child.due == Due::Now) {
        let Some(key) = child.ordering_key.clone() else { continue };
        let (id, later) = last.entry((child.queue.clone(), key)).or_insert((child.id, Duration::ZERO));
        if child.id < *id {
            *later += Duration::from_micros(1);
        }
        *id = child.id;
        if !later.is_zero() {
            child.due = Due::After(*later);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::Payload;

    fn child(id: u128, key: u8) -> NewMessage {
        let queue = QueueName::new("orders.nats").unwrap();
        let message = NewMessage::new(MessageId::new(Uuid::from_u128(id)), queue, Payload::json("{}"));
        match key {
            0 => message,
            key => message.ordered_by(OrderingKey::new(&format!("account-{key}")).unwrap()),
        }
    }

    fn due(child: &NewMessage) -> Duration {
        match child.due {
            Due::Now => Duration::ZERO,
            Due::After(later) => later,
            Due::At(_) => panic!("a moment that no child asked for"),
        }
    }

    #[test]
    fn what_is_in_order_stays_as_it_is_and_so_does_what_has_no_key_or_is_due_later() {
        let later = child(1, 1).deliver_after(Duration::from_secs(60));
        let mut children = [child(5, 1), child(3, 2), child(7, 1), child(2, 0), later];
        let before = children.clone();
        keep_order(&mut children);
        assert_eq!(children, before);
    }

    proptest! {
        #[test]
        fn children_of_a_key_are_handled_as_they_stand(all in prop::collection::vec((any::<u128>(), 0..3_u8), 0..40)) {
            let mut children: Vec<_> = all.iter().map(|(id, key)| child(*id, *key)).collect();
            keep_order(&mut children);
            for key in 1..3 {
                let of_key = children.iter().zip(&all).filter(|(_, (_, other))| *other == key);
                let places: Vec<_> = of_key.map(|(child, _)| (due(child), child.id)).collect();
                prop_assert!(places.is_sorted(), "{places:?}");
            }
            let longest = children.iter().map(due).max().unwrap_or_default();
            prop_assert!(longest <= Duration::from_micros(children.len() as u64));
        }
    }
}
