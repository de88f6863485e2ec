use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use uuid::Uuid;

use crate::{fleet::Kill, sink::Delivery};

/// How often one message was delivered again, and whether a kill excuses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Repeats {
    /// The process that had delivered it was killed before it could say so.
    pub(crate) after_a_kill: usize,
    /// There was no reason to deliver it again.
    pub(crate) duplicates: usize,
}

impl Repeats {
    /// Judges the deliveries of one message.
    ///
    /// A repeat is excused if the process of the delivery before it was killed between the two, and so soon after the
    /// first that the message could still be in flight. Each kill excuses one.
    pub(crate) fn of(deliveries: &[Delivery], kills: &[Kill], in_flight: Duration) -> Self {
        let mut deliveries: Vec<&Delivery> = deliveries.iter().collect();
        deliveries.sort_by_key(|delivery| delivery.at);
        let mut kills: Vec<&Kill> = kills.iter().collect();
        let mut repeats = Self::default();
        for pair in deliveries.windows(2) {
            match kills.iter().position(|kill| excuses(kill, pair[0], pair[1], in_flight)) {
                Some(used) => {
                    kills.swap_remove(used);
                    repeats.after_a_kill += 1;
                }
                None => repeats.duplicates += 1,
            }
        }
        repeats
    }
}

/// How long after its delivery a message may still be its process's, and so be taken along by a kill: settling follows within
/// milliseconds, and where the database is too busy for that, within the lease and some waiting.
pub(crate) fn in_flight(lease: Duration) -> Duration {
    lease + Duration::from_secs(2)
}

/// The messages that a process may not have noted as delivered, because it was killed then.
pub(crate) fn of_killed(
    deliveries: &HashMap<Uuid, Vec<Delivery>>,
    kills: &[Kill],
    in_flight: Duration,
) -> HashSet<Uuid> {
    let is_hit = |one: &Delivery| kills.iter().any(|kill| takes_along(kill, one, in_flight));
    deliveries.iter().filter(|(_, all)| all.iter().any(is_hit)).map(|(id, _)| *id).collect()
}

fn takes_along(kill: &Kill, delivery: &Delivery, in_flight: Duration) -> bool {
    kill.process == delivery.process
        && kill.at >= delivery.at
        && Duration::from_micros(kill.at - delivery.at) <= in_flight
}

fn excuses(kill: &Kill, first: &Delivery, second: &Delivery, in_flight: Duration) -> bool {
    takes_along(kill, first, in_flight) && kill.at <= second.at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges deliveries and kills, each a process and a time, when a message is in flight for 10 microseconds.
    fn judged(deliveries: &[(u32, u64)], kills: &[(u32, u64)]) -> (usize, usize) {
        let (id, request) = (Uuid::nil(), Uuid::nil());
        let deliveries: Vec<_> = deliveries
            .iter()
            .map(|(process, at)| Delivery { id, request, process: *process, at: *at })
            .collect();
        let kills: Vec<_> = kills.iter().map(|(process, at)| Kill { process: *process, at: *at }).collect();
        let repeats = Repeats::of(&deliveries, &kills, Duration::from_micros(10));
        (repeats.after_a_kill, repeats.duplicates)
    }

    #[test]
    fn a_message_that_is_delivered_once_has_no_repeats() {
        assert_eq!(judged(&[(1, 100)], &[(1, 101)]), (0, 0));
    }

    #[test]
    fn a_kill_of_the_first_process_between_the_two_deliveries_excuses_one() {
        assert_eq!(judged(&[(1, 100), (2, 150)], &[(1, 105)]), (1, 0));
        assert_eq!(judged(&[(2, 150), (1, 100)], &[(1, 105)]), (1, 0), "in whatever order they were written");
        assert_eq!(judged(&[(1, 100), (2, 100)], &[(1, 100)]), (1, 0));
        assert_eq!(judged(&[(1, 100), (1, 150)], &[(1, 110)]), (1, 0), "the number was given again");
    }

    #[test]
    fn a_kill_at_another_time_or_of_another_process_excuses_none() {
        for kill in [(1, 99), (1, 151), (1, 111), (2, 105), (3, 105)] {
            assert_eq!(judged(&[(1, 100), (2, 150)], &[kill]), (0, 1), "{kill:?}");
        }
        assert_eq!(judged(&[(1, 100), (2, 150)], &[]), (0, 1));
    }

    #[test]
    fn a_message_is_of_a_killed_process_if_the_kill_followed_soon() {
        let delivery = |process, at| Delivery { id: Uuid::nil(), request: Uuid::nil(), process, at };
        let deliveries = HashMap::from([(Uuid::nil(), vec![delivery(1, 100), delivery(2, 200)])]);
        for (process, at, is_hit) in
            [(1, 100, true), (1, 110, true), (2, 205, true), (1, 99, false), (1, 111, false), (2, 105, false)]
        {
            let hit = of_killed(&deliveries, &[Kill { process, at }], Duration::from_micros(10));
            assert_eq!(hit.len(), usize::from(is_hit), "{process} {at}");
        }
    }

    #[test]
    fn every_repeat_needs_a_kill_of_its_own() {
        assert_eq!(judged(&[(1, 100), (2, 150), (3, 200)], &[(1, 105), (2, 155)]), (2, 0));
        assert_eq!(judged(&[(1, 100), (2, 150), (3, 200)], &[(1, 105)]), (1, 1));
        assert_eq!(judged(&[(1, 100), (1, 105), (1, 105)], &[(1, 105)]), (1, 1));
    }
}
