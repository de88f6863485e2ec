use std::collections::{HashMap, HashSet};

use claimstream_domain::{ClaimId, MessageId, OrderingKey};

use super::hold::Flight;

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
/// * A suspect, whose attempt was cut off, is handed out alone, so that one that ends its process is found. `lone` says
///   that no other shard has one in flight; until then what is behind it passes.
/// * What is parked waits, and where keys are in order everything of its key waits behind it.
/// * Where keys are in order, one message of a key is in flight at a time, the oldest first.
pub(crate) fn pick(
    candidates: &[Candidate],
    flights: &HashMap<MessageId, Flight>,
    ordered: bool,
    now: i64,
    claim: ClaimId,
    lone: bool,
    limit: usize,
) -> Picked {
    let mut picked = Picked::default();
    let aloft = |flight: &Flight| flight.deadline > now;
    let somebody_flies = flights.values().any(aloft);
    if flights.values().any(|flight| aloft(flight) && flight.alone) {
        return picked;
    }
    let mut passed: HashSet<&OrderingKey> = HashSet::new();
    let flying = flying_keys(flights, ordered);
    for (n, candidate) in candidates.iter().enumerate() {
        if picked.taken.len() == limit {
            break;
        }
        let flight = flights.get(&candidate.id);
        let key = candidate.key.as_ref().filter(|_| ordered);
        let others = |key| flying.get(key).is_some_and(|ids| ids.iter().any(|id| *id != candidate.id));
        let behind = key.is_some_and(|key| !passed.insert(key) || others(key));
        let over = flight.filter(|flight| !aloft(flight) && flight.claim != claim);
        if behind || candidate.parked || (flight.is_some() && over.is_none()) {
            continue;
        }
        let suspect = candidate.suspect && over.is_none();
        if suspect && !lone {
            continue;
        }
        if suspect {
            // It ends the choice: what comes behind it would fly beside it.
            if picked.taken.is_empty() && !somebody_flies {
                picked.taken.push(n);
            }
            break;
        }
        picked.taken.push(n);
        // The row may count it already: the answer to what has counted it was lost.
        let lapsed = over.is_some_and(|flight| candidate.attempts <= flight.attempts);
        picked.lapsed.extend(lapsed.then_some(n));
    }
    picked
}

fn flying_keys(flights: &HashMap<MessageId, Flight>, ordered: bool) -> HashMap<&OrderingKey, Vec<MessageId>> {
    let mut flying: HashMap<&OrderingKey, Vec<MessageId>> = HashMap::new();
    for (id, flight) in flights.iter().filter(|_| ordered) {
        if let Some(key) = &flight.key {
            flying.entry(key).or_default().push(*id);
        }
    }
    flying
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

    fn flying(n: u8, of: u8, deadline: i64) -> (MessageId, Flight) {
        (id(n), Flight { claim: claim(1), due: 0, attempts: 0, deadline, key: Some(key(of)), alone: false })
    }

    fn taken(candidates: &[Candidate], flights: &[(MessageId, Flight)], ordered: bool) -> Vec<usize> {
        pick(candidates, &flights.iter().cloned().collect(), ordered, NOW, claim(2), true, 10).taken
    }

    #[test]
    fn keys_in_order_fly_one_at_a_time_and_others_pass() {
        let candidates = [plain(1, 1), plain(2, 1), plain(3, 2), plain(4, 1)];
        assert_eq!(taken(&candidates, &[], true), [0, 2]);
        assert_eq!(taken(&candidates, &[], false), [0, 1, 2, 3]);
        assert_eq!(taken(&candidates, &[flying(1, 1, NOW + 1)], true), [2]);
        // In flight and not among the candidates: it lies below the watermark.
        assert_eq!(taken(&candidates[1..], &[flying(1, 1, NOW + 1)], true), [1]);
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
        assert!(taken(&[suspect, plain(3, 3)], &[flying(9, 9, NOW + 1)], false).is_empty());
        let mut alone = flying(9, 9, NOW + 1);
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
        let flights = [flying(1, 1, NOW)].into_iter().collect();
        let again = pick(&[plain(1, 1), plain(2, 2)], &flights, false, NOW, claim(2), true, 10);
        assert_eq!(again, Picked { taken: vec![0, 1], lapsed: vec![0] });
        let same = pick(&[plain(1, 1), plain(2, 2)], &flights, false, NOW, claim(1), true, 10);
        assert_eq!(same, Picked { taken: vec![1], lapsed: vec![] });
    }

    #[test]
    fn a_suspect_that_its_process_has_survived_is_none_any_more() {
        let suspect = Candidate { suspect: true, ..plain(1, 1) };
        let mut flown = flying(1, 1, NOW);
        flown.1.alone = true;
        let flights = [flown].into_iter().collect();
        let picked = pick(&[suspect, plain(2, 2)], &flights, false, NOW, claim(2), false, 10);
        assert_eq!(picked, Picked { taken: vec![0, 1], lapsed: vec![0] });
    }

    #[test]
    fn an_attempt_that_ran_out_is_counted_once() {
        let flights = HashMap::from([flying(1, 1, NOW)]);
        let lapsed = |attempts| {
            let candidate = Candidate { attempts, ..plain(1, 1) };
            let picked = pick(&[candidate], &flights, true, NOW, claim(2), true, 10);
            (picked.taken, picked.lapsed)
        };
        assert_eq!(lapsed(0), (vec![0], vec![0]));
        assert_eq!(lapsed(1), (vec![0], vec![]), "the answer to what has counted it was lost");
    }

    proptest! {
        #[test]
        fn never_two_of_a_key_never_one_in_flight_never_over_the_limit(
            rows in prop::collection::vec((0..6_u8, any::<bool>(), any::<bool>()), 0..40),
            flown in prop::collection::hash_map(0..40_u8, (0..6_u8, 90..110_i64), 0..10),
            limit in 0..12_usize,
            lone: bool,
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
            let flights: HashMap<_, _> =
                flown.iter().map(|(n, (of, deadline))| flying(*n, key_of(*n, *of), *deadline)).collect();
            let picked = pick(&candidates, &flights, true, NOW, claim(2), lone, limit);
            prop_assert!(picked.taken.len() <= limit);
            prop_assert!(picked.taken.is_sorted());
            let mut keys: Vec<_> = picked.taken.iter().map(|n| candidates[*n].key.clone()).collect();
            let aloft = flights.iter().filter(|(_, flight)| flight.deadline > NOW);
            keys.extend(aloft.clone().map(|(_, flight)| flight.key.clone()));
            for n in &picked.taken {
                let taken = &candidates[*n];
                prop_assert!(!taken.parked);
                prop_assert!(aloft.clone().all(|(id, _)| *id != taken.id));
                prop_assert_eq!(keys.iter().filter(|key| **key == taken.key).count(), 1);
                let first_of_key = candidates.iter().position(|other| other.key == taken.key);
                prop_assert_eq!(first_of_key, Some(*n), "a key begins with its oldest");
                if taken.suspect && !picked.lapsed.contains(n) {
                    prop_assert!(lone);
                    prop_assert_eq!(picked.taken.len(), 1);
                }
            }
        }
    }
}
