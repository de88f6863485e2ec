use claimstream_domain::{ClaimId, RunPlace, StreamId};

use crate::{
    messages::by_id::ById,
    strategy::{
        order::Order,
        shard_lease::{
            claim::{candidate::Candidate, keys::Keys},
            in_flight::InFlight,
            suspect::Suspects,
        },
    },
};

/// The circumstances that a choice among due messages depends on.
pub(crate) struct Rules {
    pub(crate) order: Order,
    /// The server's time.
    pub(crate) now: i64,
    /// The claim that chooses.
    pub(crate) claim: ClaimId,
    /// The stream that takes runs of keys, if it does.
    pub(crate) runs: Option<StreamId>,
    pub(crate) suspects: Suspects,
    /// The most messages to pick.
    pub(crate) limit: usize,
}

/// The messages that are handed out next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Picked {
    /// Positions among the candidates, in their order.
    pub(crate) taken: Vec<usize>,
    /// The place of each in the run of its key.
    pub(crate) places: Vec<RunPlace>,
    /// Those of them whose claim has expired in our own hands, and with it an attempt that their row does not count yet.
    pub(crate) expired: Vec<usize>,
}

impl Picked {
    /// Whether a message that is handed out was cut off, and its process has not survived it since.
    pub(crate) fn is_suspect(&self, candidates: &[Candidate], n: usize) -> bool {
        candidates[n].suspect && !self.expired.contains(&n)
    }
}

/// Decides which of a shard's due messages are handed out; nothing else does.
///
/// * A message in flight is not, until its claim has expired; and never twice under one claim id. Its process is ours and
///   lives, so it is handed out like any other, and is no suspect any more.
/// * A suspect, whose attempt was cut off, is handed out alone, so that one that ends its process is found. While
///   suspects are deferred, the messages behind it overtake it.
/// * A parked message waits, and where keys are in order all messages of its key wait behind it.
/// * Where keys are in order, one message of a key is in flight at a time, the oldest first, or a run of them in the hands of
///   one stream ([`Keys`]).
pub(crate) fn pick(candidates: &[Candidate], in_flight: &ById<InFlight>, rules: &Rules) -> Picked {
    let mut picked = Picked::default();
    let unexpired = |entry: &InFlight| !entry.has_expired(rules.now);
    let any_unexpired = in_flight.values().any(unexpired);
    if in_flight.values().any(|entry| unexpired(entry) && entry.alone) {
        return picked;
    }
    let stream = rules.runs.map(|stream| (rules.claim.instance(), stream));
    let mut keys = Keys::of(in_flight, rules.order, stream, rules.now);
    for (n, candidate) in candidates.iter().enumerate() {
        if picked.taken.len() == rules.limit {
            break;
        }
        let entry = in_flight.get(&candidate.id);
        let expired = entry.filter(|entry| !unexpired(entry) && entry.claim != rules.claim);
        let Some(place) = keys.place(candidate) else { continue };
        let suspect = candidate.suspect && expired.is_none();
        let is_deferred = suspect && rules.suspects == Suspects::Deferred;
        if is_deferred || candidate.parked || (entry.is_some() && expired.is_none()) {
            keys.pass_over(candidate);
            continue;
        }
        if suspect {
            // It ends the choice: a message behind it would be in flight with it.
            if picked.taken.is_empty() && !any_unexpired {
                picked.taken.push(n);
                picked.places.push(place);
            }
            break;
        }
        picked.taken.push(n);
        picked.places.push(place);
        keys.take(candidate);
        // The row may count the attempt already: the answer to the write that counted it was lost.
        let is_uncounted = expired.is_some_and(|entry| candidate.attempts <= entry.attempts);
        picked.expired.extend(is_uncounted.then_some(n));
    }
    picked
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use claimstream_domain::{InstanceId, MessageId, OrderingKey};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const NOW: i64 = 100;

    fn id(n: u8) -> MessageId {
        MessageId::new(Uuid::from_u128(u128::from(n)))
    }

    fn claim(n: u64) -> ClaimId {
        ClaimId::new(InstanceId(1), n)
    }

    fn key(n: u8) -> OrderingKey {
        OrderingKey::new(&format!("key-{n}")).expect("a short key")
    }

    fn plain(n: u8, of: u8) -> Candidate {
        Candidate {
            id: id(n),
            due: 0,
            key: Some(key(of)),
            attempts: 0,
            suspect: false,
            parked: false,
            waited: Duration::ZERO,
        }
    }

    fn claimed(n: u8, of: u8, deadline: i64) -> (MessageId, InFlight) {
        (
            id(n),
            InFlight {
                claim: claim(1),
                due: 0,
                attempts: 0,
                deadline,
                key: Some(key(of)),
                run_of: None,
                is_revoked: false,
                is_last: false,
                alone: false,
            },
        )
    }

    fn rules(order: Order) -> Rules {
        Rules { order, now: NOW, claim: claim(2), runs: None, suspects: Suspects::Allowed, limit: 10 }
    }

    fn taken(candidates: &[Candidate], in_flight: &[(MessageId, InFlight)], order: Order) -> Vec<usize> {
        pick(candidates, &in_flight.iter().cloned().collect(), &rules(order)).taken
    }

    #[test]
    fn keys_in_order_are_in_flight_one_at_a_time_and_others_overtake() {
        let candidates = [plain(1, 1), plain(2, 1), plain(3, 2), plain(4, 1)];
        assert_eq!(taken(&candidates, &[], Order::PerKey), [0, 2]);
        assert_eq!(taken(&candidates, &[], Order::None), [0, 1, 2, 3]);
        assert_eq!(taken(&candidates, &[claimed(1, 1, NOW + 1)], Order::PerKey), [2]);
        // In flight and not among the candidates: it lies below the watermark.
        assert_eq!(taken(&candidates[1..], &[claimed(1, 1, NOW + 1)], Order::PerKey), [1]);
    }

    #[test]
    fn a_parked_key_waits_as_a_whole() {
        let parked = Candidate { parked: true, ..plain(1, 1) };
        assert_eq!(taken(&[parked.clone(), plain(2, 1), plain(3, 2)], &[], Order::PerKey), [2]);
        assert_eq!(taken(&[parked, plain(2, 1), plain(3, 2)], &[], Order::None), [1, 2]);
    }

    #[test]
    fn a_suspect_is_in_flight_alone() {
        let suspect = Candidate { suspect: true, ..plain(2, 2) };
        assert_eq!(taken(&[plain(1, 1), suspect.clone(), plain(3, 3)], &[], Order::None), [0]);
        assert_eq!(taken(&[suspect.clone(), plain(3, 3)], &[], Order::None), [0]);
        assert!(taken(&[suspect, plain(3, 3)], &[claimed(9, 9, NOW + 1)], Order::None).is_empty());
        let mut alone = claimed(9, 9, NOW + 1);
        alone.1.alone = true;
        assert!(taken(&[plain(1, 1)], &[alone], Order::None).is_empty());
    }

    #[test]
    fn a_suspect_waits_for_that_of_another_shard_and_blocks_its_key_alone() {
        let suspect = Candidate { suspect: true, ..plain(1, 1) };
        let candidates = [suspect, plain(2, 2), plain(3, 1)];
        let picked = pick(
            &candidates,
            &ById::default(),
            &Rules { suspects: Suspects::Deferred, ..rules(Order::PerKey) },
        );
        assert_eq!((picked.taken, picked.expired), (vec![1], vec![]));
    }

    #[test]
    fn a_claim_that_expired_goes_again_with_others_but_never_under_its_own_id() {
        let in_flight = [claimed(1, 1, NOW)].into_iter().collect();
        let again = pick(&[plain(1, 1), plain(2, 2)], &in_flight, &rules(Order::None));
        assert_eq!((again.taken, again.expired), (vec![0, 1], vec![0]));
        let same =
            pick(&[plain(1, 1), plain(2, 2)], &in_flight, &Rules { claim: claim(1), ..rules(Order::None) });
        assert_eq!((same.taken, same.expired), (vec![1], vec![]));
    }

    #[test]
    fn a_suspect_that_its_process_has_survived_is_none_any_more() {
        let suspect = Candidate { suspect: true, ..plain(1, 1) };
        let mut earlier = claimed(1, 1, NOW);
        earlier.1.alone = true;
        let in_flight = [earlier].into_iter().collect();
        let picked = pick(
            &[suspect, plain(2, 2)],
            &in_flight,
            &Rules { suspects: Suspects::Deferred, ..rules(Order::None) },
        );
        assert_eq!((picked.taken, picked.expired), (vec![0, 1], vec![0]));
    }

    /// Guard: an expired claim is counted once | `attempts` is not compared
    #[test]
    fn an_attempt_that_expired_is_counted_once() {
        let in_flight = ById::from_iter([claimed(1, 1, NOW)]);
        let expired = |attempts| {
            let candidate = Candidate { attempts, ..plain(1, 1) };
            let picked = pick(&[candidate], &in_flight, &rules(Order::PerKey));
            (picked.taken, picked.expired)
        };
        assert_eq!(expired(0), (vec![0], vec![0]));
        assert_eq!(expired(1), (vec![0], vec![]), "the answer to the write that counted it was lost");
    }

    /// What a stream gets, each with the place in its run; messages are due in the order of their numbers.
    fn run(candidates: &[u8], in_flight: &[(u8, i64, u64)], claims: u64) -> Vec<(u8, RunPlace)> {
        let at = |n: u8| Candidate { due: i64::from(n), ..plain(n, 1) };
        let candidates: Vec<_> = candidates.iter().map(|n| at(*n)).collect();
        let entry = |(n, deadline, stream): &(u8, i64, u64)| {
            let (id, entry) = claimed(*n, 1, *deadline);
            (id, InFlight { due: i64::from(*n), run_of: Some(StreamId(*stream)), ..entry })
        };
        let in_flight = in_flight.iter().map(entry).collect();
        let rules = Rules { runs: Some(StreamId(claims)), ..rules(Order::PerKey) };
        let Picked { taken, places, .. } = pick(&candidates, &in_flight, &rules);
        let number = |n: usize| candidates[n].due as u8;
        taken.into_iter().map(number).zip(places).collect()
    }

    #[test]
    fn a_stream_takes_a_run_and_goes_on_behind_what_it_has() {
        let behind = |n: u8| RunPlace::Behind(id(n));
        assert_eq!(run(&[1, 2, 3], &[], 1), [(1, RunPlace::Head), (2, behind(1)), (3, behind(2))]);
        let lasts = NOW + 1;
        assert_eq!(run(&[1, 2, 3], &[(1, lasts, 1), (2, lasts, 1)], 1), [(3, behind(2))]);
        assert_eq!(run(&[3, 4], &[(1, lasts, 1)], 1), [(3, behind(1)), (4, behind(3))]);
    }

    #[test]
    fn nothing_follows_a_message_from_behind_which_another_was_given_back() {
        let follows = |deadline| {
            let (of, entry) = claimed(1, 1, deadline);
            let run_of = Some(StreamId(1));
            let in_flight = ById::from_iter([(of, InFlight { due: 1, run_of, is_last: true, ..entry })]);
            let at = |n: u8| Candidate { due: i64::from(n), ..plain(n, 1) };
            let rules = Rules { runs: run_of, ..rules(Order::PerKey) };
            pick(&[at(1), at(2)], &in_flight, &rules).taken
        };
        assert!(follows(NOW + 1).is_empty());
        assert_eq!(follows(NOW), [0, 1], "it has expired");
    }

    #[test]
    fn a_run_has_no_gap_and_one_stream() {
        let lasts = NOW + 1;
        assert_eq!(run(&[1, 2, 3], &[(1, lasts, 2)], 1), [], "another stream has the key");
        assert_eq!(run(&[1, 2, 3], &[(2, lasts, 1)], 1), [], "one that lies before what is in flight");
        assert_eq!(run(&[1, 2, 3], &[(1, NOW, 1), (2, lasts, 1)], 1), [], "one has expired, another lasts");
        assert_eq!(run(&[3, 4], &[(1, NOW, 1)], 1), [], "one has expired that was not read");
        let behind = |n: u8| RunPlace::Behind(id(n));
        let again = [(1, RunPlace::Head), (2, behind(1)), (3, behind(2))];
        assert_eq!(run(&[1, 2, 3], &[(1, NOW, 2), (2, NOW, 2)], 1), again, "what has expired begins again");
    }

    proptest! {
        #[test]
        fn never_two_of_a_key_never_one_in_flight_never_over_the_limit(
            rows in prop::collection::vec((0..6_u8, any::<bool>(), any::<bool>()), 0..40),
            earlier in prop::collection::hash_map(0..40_u8, (0..6_u8, 90..110_i64), 0..10),
            limit in 0..12_usize,
            allowed: bool,
        ) {
            let candidates: Vec<Candidate> = rows
                .iter()
                .enumerate()
                .map(|(n, (of, suspect, parked))| Candidate {
                    suspect: *suspect && n % 7 == 0,
                    parked: *parked,
                    ..plain(n as u8, *of)
                })
                .collect();
            let key_of = |n: u8, of: u8| rows.get(usize::from(n)).map_or(of, |row| row.0);
            let in_flight: ById<_> =
                earlier.iter().map(|(n, (of, deadline))| claimed(*n, key_of(*n, *of), *deadline)).collect();
            let suspects = if allowed { Suspects::Allowed } else { Suspects::Deferred };
            let picked = pick(&candidates, &in_flight, &Rules { suspects, limit, ..rules(Order::PerKey) });
            prop_assert!(picked.taken.len() <= limit);
            prop_assert!(picked.taken.is_sorted());
            let mut keys: Vec<_> = picked.taken.iter().map(|n| candidates[*n].key.clone()).collect();
            let unexpired = in_flight.iter().filter(|(_, entry)| entry.deadline > NOW);
            keys.extend(unexpired.clone().map(|(_, entry)| entry.key.clone()));
            for n in &picked.taken {
                let taken = &candidates[*n];
                prop_assert!(!taken.parked);
                prop_assert!(unexpired.clone().all(|(id, _)| *id != taken.id));
                prop_assert_eq!(keys.iter().filter(|key| **key == taken.key).count(), 1);
                let first_of_key = candidates.iter().position(|other| other.key == taken.key);
                prop_assert_eq!(first_of_key, Some(*n), "a key begins with its oldest");
                if taken.suspect && !picked.expired.contains(n) {
                    prop_assert!(allowed);
                    prop_assert_eq!(picked.taken.len(), 1);
                }
            }
        }
    }
}
