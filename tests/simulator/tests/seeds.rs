//! Fresh seeds in every world, and each planted fault.

use std::{
    env,
    hash::{DefaultHasher, Hash, Hasher},
    time::{SystemTime, UNIX_EPOCH},
};

use claimstream_simulator::{Sabotage, Schedule, World};

/// How many fresh seeds each world runs.
const SEEDS: u64 = 100;

/// Within how many seeds a planted fault is found.
const FOUND_WITHIN: u64 = 10_000;

/// Seeds that found a fault which is mended: a message that a provider had accepted went to another one because the attempt was its first by
/// number, or because the log did not call that open; a doubt was lost with the reason of a relay; a dead letter of a cancelled request was sent.
const MENDED: [(World, u64); 7] = [
    (World::Notifications, 834),
    (World::Notifications, 858),
    (World::Notifications, 1_417),
    (World::Notifications, 42_020),
    (World::Notifications, 47_792),
    (World::Notifications, 59_475),
    (World::Notifications, 61_863),
];

/// The first seed: `CLAIMSTREAM_SEED`, or one that no run before has had.
fn first_seed() -> u64 {
    if let Some(seed) = env::var("CLAIMSTREAM_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return seed;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    now.as_micros() as u64 % 1_000_000_000
}

#[test]
fn every_promise_holds_under_fresh_seeds() {
    let first = first_seed();
    println!("{SEEDS} seeds in each world, from CLAIMSTREAM_SEED={first}");
    let mut broken = Vec::new();
    for &world in World::ALL {
        for seed in first..first + SEEDS {
            let schedule = Schedule { world, seed, sabotage: None };
            if let Some(why) = schedule.run().failure {
                broken.push(format!("{why}: {}", schedule.command()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn seeds_that_found_a_fault_once_find_none() {
    for (world, seed) in MENDED {
        let schedule = Schedule { world, seed, sabotage: None };
        assert_eq!(schedule.run().failure, None, "{}", schedule.command());
    }
}

#[test]
fn a_seed_is_the_same_schedule_each_time() {
    let hash = |trace: &str| {
        let mut hasher = DefaultHasher::new();
        trace.hash(&mut hasher);
        hasher.finish()
    };
    for &world in World::ALL {
        for seed in 1..40 {
            let run = || Schedule { world, seed, sabotage: None }.run_traced().trace;
            let (one, other) = (run(), run());
            let difference = one.lines().zip(other.lines()).find(|(one, other)| one != other);
            assert_eq!(hash(&one), hash(&other), "{world}, seed {seed}: {difference:?}");
        }
    }
}

#[test]
fn each_planted_fault_is_found() {
    for &(sabotage, world) in Sabotage::ALL {
        let run = |seed| Schedule { world, seed, sabotage: Some(sabotage) }.run().failure;
        let found = (1..=FOUND_WITHIN).find_map(|seed| Some((seed, run(seed)?)));
        let (seed, why) = found.unwrap_or_else(|| panic!("{sabotage:?} is not found in {world}"));
        println!("{sabotage:?}: seed {seed} in {world}: {why}");
    }
}
