use std::collections::{HashMap, HashSet};

use claimstream_domain::{ClaimId, MessageId, OrderingKey};

use super::shard_state::InFlight;

/// A due message of a shard, as far as the choice needs to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) id: MessageId,
    pub(crate) key: Option<OrderingKey>,
    /// The attempts that its row counts.
    pub(crate) attempts: u32,
    /// An attempt was cut off.
    pub(crate) suspect: bool,
    /// It waits for its retry where it is.
    pub(crate) parked: bool,
}

/// What is handed out next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Picked {
    /// Positions among the candidates, in their order.
    pub(crate) taken: Vec<usize>,
    /// Those of them whose claim has run out in our own hands, and with it an attempt.
    pub(crate) lapsed: Vec<usize>,
}

impl Picked {
    /// Whether one that is handed out was cut off, and has not been survived since.
    pub(crate) fn is_suspect(&self, candidates: &[Candidate], n: usize) -> bool {
        candidates[n].suspect && !self.lapsed.contains(&n)
    }
}

/// The one place that decides which of a shard's due messages are handed out.
///
/// * What is in flight is not, until its claim has run out; and never twice under one claim id. Its process is ours and
///   lives, so it is handed out like any other, and is no suspect any more.
/// * A suspect, whose attempt was cut off, is handed out alone, so that one that ends its process is found. `suspect_allowed` says
///   that no other shard has one in flight; until then what is behind it passes.
/// * What is parked waits, and where keys are in order everything of its key waits behind it.
/// * Where keys are in order, one message of a key is in flight at a time, the oldest first.
pub(crate) fn pick(
    candidates: &[Candidate],
    in_flight: &HashMap<MessageId, InFlight>,
    ordered: bool,
    now: i64,
    claim: ClaimId,
    suspect_allowed: bool,
    limit: usize,
) -> Picked {
    let mut picked = Picked::default();
    let unexpired = |entry: &InFlight| entry.deadline > now;
    let any_unexpired = in_flight.values().any(unexpired);
    if in_flight.values().any(|entry| unexpired(entry) && entry.alone) {
        return picked;
    }
    let mut passed: HashSet<&OrderingKey> = HashSet::new();
    let in_flight_keys = keys_in_flight(in_flight, ordered);
    for (n, candidate) in candidates.iter().enumerate() {
        if picked.taken.len() == limit {
            break;
        }
        let entry = in_flight.get(&candidate.id);
        let key = candidate.key.as_ref().filter(|_| ordered);
        let others =
            |key| in_flight_keys.get(key).is_some_and(|ids| ids.iter().any(|id| *id != candidate.id));
        let behind = key.is_some_and(|key| !passed.insert(key) || others(key));
        let over = entry.filter(|entry| !unexpired(entry) && entry.claim != claim);
        if behind || candidate.parked || (entry.is_some() && over.is_none()) {
            continue;
        }
        let suspect = candidate.suspect && over.is_none();
        if suspect && !suspect_allowed {
            continue;
        }
        if suspect {
            // It ends the choice: what comes behind it would fly beside it.
            if picked.taken.is_empty() && !any_unexpired {
                picked.taken.push(n);
            }
            break;
        }
        picked.taken.push(n);
        // The row may count it already: the answer to what has counted it was lost.
        let lapsed = over.is_some_and(|entry| candidate.attempts <= entry.attempts);
        picked.lapsed.extend(lapsed.then_some(n));
    }
    picked
}

fn keys_in_flight(
    in_flight: &HashMap<MessageId, InFlight>,
    ordered: bool,
) -> HashMap<&OrderingKey, Vec<MessageId>> {
    let mut in_flight_keys: HashMap<&OrderingKey, Vec<MessageId>> = HashMap::new();
    for (id, entry) in in_flight.iter().filter(|_| ordered) {
        if let Some(key) = &entry.key {
            in_flight_keys.entry(key).or_default().push(*id);
        }
    }
    in_flight_keys
}

#[cfg(test)]
mod tests {
    use claimstream_domain::InstanceId;
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
        Candidate { id: id(n), key: Some(key(of)), attempts: 0, suspect: false, parked: false }
    }

    fn in_flight_keys(n: u8, of: u8, deadline: i64) -> (MessageId, InFlight) {
        (id(n), InFlight { claim: claim(1), due: 0, attempts: 0, deadline, key: Some(key(of)), alone: false })
    }

    fn taken(candidates: &[Candidate], in_flight: &[(MessageId, InFlight)], ordered: bool) -> Vec<usize> {
        pick(candidates, &in_flight.iter().cloned().collect(), ordered, NOW, claim(2), true, 10).taken
    }

    #[test]
    fn keys_in_order_fly_one_at_a_time_and_others_pass() {
        let candidates = [plain(1, 1), plain(2, 1), plain(3, 2), plain(4, 1)];
        assert_eq!(taken(&candidates, &[], true), [0, 2]);
        assert_eq!(taken(&candidates, &[], false), [0, 1, 2, 3]);
        assert_eq!(taken(&candidates, &[in_flight_keys(1, 1, NOW + 1)], true), [2]);
        // In entry and not among the candidates: it lies below the watermark.
        assert_eq!(taken(&candidates[1..], &[in_flight_keys(1, 1, NOW + 1)], true), [1]);
    }

    #[test]
    fn a_parked_key_waits_as_a_whole() {
        let parked = Candidate { parked: true, ..plain(1, 1) };
        assert_eq!(taken(&[parked.clone(), plain(2, 1), plain(3, 2)], &[], true), [2]);
        assert_eq!(taken(&[parked, plain(2, 1), plain(3, 2)], &[], false), [1, 2]);
    }

    #[test]
    fn a_suspect_flies_alone() {
        let suspect = Candidate { suspect: true, ..plain(2, 2) };
        assert_eq!(taken(&[plain(1, 1), suspect.clone(), plain(3, 3)], &[], false), [0]);
        assert_eq!(taken(&[suspect.clone(), plain(3, 3)], &[], false), [0]);
        assert!(taken(&[suspect, plain(3, 3)], &[in_flight_keys(9, 9, NOW + 1)], false).is_empty());
        let mut alone = in_flight_keys(9, 9, NOW + 1);
        alone.1.alone = true;
        assert!(taken(&[plain(1, 1)], &[alone], false).is_empty());
    }

    #[test]
    fn a_suspect_waits_for_that_of_another_shard_and_holds_back_its_key_alone() {
        let suspect = Candidate { suspect: true, ..plain(1, 1) };
        let candidates = [suspect, plain(2, 2), plain(3, 1)];
        let picked = pick(&candidates, &HashMap::new(), true, NOW, claim(2), false, 10);
        assert_eq!(picked, Picked { taken: vec![1], lapsed: vec![] });
    }

    #[test]
    fn a_claim_that_ran_out_goes_again_with_others_but_never_under_its_own_id() {
        let in_flight = [in_flight_keys(1, 1, NOW)].into_iter().collect();
        let again = pick(&[plain(1, 1), plain(2, 2)], &in_flight, false, NOW, claim(2), true, 10);
        assert_eq!(again, Picked { taken: vec![0, 1], lapsed: vec![0] });
        let same = pick(&[plain(1, 1), plain(2, 2)], &in_flight, false, NOW, claim(1), true, 10);
        assert_eq!(same, Picked { taken: vec![1], lapsed: vec![] });
    }

    #[test]
    fn a_suspect_that_its_process_has_survived_is_none_any_more() {
        let suspect = Candidate { suspect: true, ..plain(1, 1) };
        let mut earlier = in_flight_keys(1, 1, NOW);
        earlier.1.alone = true;
        let in_flight = [earlier].into_iter().collect();
        let picked = pick(&[suspect, plain(2, 2)], &in_flight, false, NOW, claim(2), false, 10);
        assert_eq!(picked, Picked { taken: vec![0, 1], lapsed: vec![0] });
    }

    #[test]
    fn an_attempt_that_ran_out_is_counted_once() {
        let in_flight = HashMap::from([in_flight_keys(1, 1, NOW)]);
        let lapsed = |attempts| {
            let candidate = Candidate { attempts, ..plain(1, 1) };
            let picked = pick(&[candidate], &in_flight, true, NOW, claim(2), true, 10);
            (picked.taken, picked.lapsed)
        };
        assert_eq!(lapsed(0), (vec![0], vec![0]));
        assert_eq!(lapsed(1), (vec![0], vec![]), "the answer to what has counted it was lost");
    }

    proptest! {
        #[test]
        fn never_two_of_a_key_never_one_in_flight_never_over_the_limit(
            rows in prop::collection::vec((0..6_u8, any::<bool>(), any::<bool>()), 0..40),
            earlier in prop::collection::hash_map(0..40_u8, (0..6_u8, 90..110_i64), 0..10),
            limit in 0..12_usize,
            suspect_allowed: bool,
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
            let in_flight: HashMap<_, _> =
                earlier.iter().map(|(n, (of, deadline))| in_flight_keys(*n, key_of(*n, *of), *deadline)).collect();
            let picked = pick(&candidates, &in_flight, true, NOW, claim(2), suspect_allowed, limit);
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
                if taken.suspect && !picked.lapsed.contains(n) {
                    prop_assert!(suspect_allowed);
                    prop_assert_eq!(picked.taken.len(), 1);
                }
            }
        }
    }
}
