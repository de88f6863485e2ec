use std::{collections::HashSet, pin::pin, sync::Mutex};

use claimstream_domain::{
    Claimed, Verdict,
    notification::{Channel, DeliveryStatus, NotificationRequest, RequestStatus, message_id},
};
use claimstream_ports::{BatchHandler, Verdicts};
use proptest::prelude::*;
use uuid::Uuid;

use super::{
    super::{MESSAGE_QUEUE, REQUEST_QUEUE},
    finish::step,
    fixture::{REQUEST, request, segment},
    world::World,
};

/// What goes wrong: at each step, counted over a whole run, whether the process is lost right there. A step is one
/// poll of a handler or one answer to an ack.
trait Fate: FnMut() -> bool {}

impl<F: FnMut() -> bool> Fate for F {}

/// A number for each step, the same for the same seed (Numerical Recipes' linear congruential generator).
fn dice(mut seed: u64, one_in: u64) -> impl Fate {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33).is_multiple_of(one_in)
    }
}

fn world(members: impl IntoIterator<Item = String>, channels: &[Channel]) -> World {
    World::new(vec![request(channels, vec![segment("all")])], members.into_iter().collect())
}

fn members(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("u-{n}"))
}

/// Handles a batch until it ends or is lost; the verdicts that are given count in both cases.
fn handle(handler: &dyn BatchHandler, batch: &[Claimed], lost: &mut impl Fate) -> Vec<(usize, Verdict)> {
    let given = Given::default();
    let mut running = pin!(handler.handle_batch(batch, &given));
    while !lost() && step(running.as_mut()).is_none() {}
    given.0.lock().expect("no panic elsewhere").drain(..).collect()
}

/// Verdicts as they were given.
#[derive(Default)]
struct Given(Mutex<Vec<(usize, Verdict)>>);

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        let mut all = self.0.lock().expect("no panic elsewhere");
        assert!(all.iter().all(|(known, _)| *known != index), "two verdicts on one message");
        all.push((index, verdict));
    }
}

/// Runs a queue until it is empty, so many messages at a time. A verdict whose settlement is lost on the way is as if it had
/// never been.
fn drain(world: &World, queue: &'static str, handler: &dyn BatchHandler, size: usize, lost: &mut impl Fate) {
    loop {
        let batch = world.claim(queue, size);
        if batch.is_empty() {
            return;
        }
        for (index, verdict) in handle(handler, &batch, lost) {
            if !lost() {
                world.accept(&batch[index], verdict);
            }
        }
    }
}

fn expected(members: impl IntoIterator<Item = String>, channels: &[Channel]) -> HashSet<Uuid> {
    expected_of(REQUEST, members, channels)
}

fn expected_of(
    request: Uuid,
    members: impl IntoIterator<Item = String>,
    channels: &[Channel],
) -> HashSet<Uuid> {
    let users = members.into_iter().map(|id| format!("user:{id}"));
    users.flat_map(|key| channels.iter().map(move |channel| message_id(request, *channel, &key))).collect()
}

/// Exactly the expected messages, each enqueued once, each with its record, and the request dispatched.
fn assert_exact(world: &World, expected: &HashSet<Uuid>) {
    let enqueued = world.enqueued();
    assert_eq!(enqueued.len(), expected.len());
    assert!(enqueued.iter().all(|(id, times)| expected.contains(id) && *times == 1));
    assert_eq!(world.records().into_keys().collect::<HashSet<_>>(), *expected);
    assert!(world.statuses().iter().all(|status| *status == RequestStatus::Dispatched));
}

const BOTH: [Channel; 2] = [Channel::Email, Channel::Push];

#[test]
fn one_crash_or_two_at_any_step_end_in_exactly_the_right_messages() {
    let expected = expected(members(7), &BOTH);
    let run = |crashes: [usize; 2]| {
        let world = world(members(7), &BOTH);
        let mut steps = 0;
        let mut lost = || {
            steps += 1;
            crashes.contains(&steps)
        };
        drain(&world, REQUEST_QUEUE, &world.fan_out(3, u32::MAX), 1, &mut lost);
        assert_exact(&world, &expected);
        steps
    };
    let steps = run([0, 0]);
    assert!(steps > 20, "only {steps} steps");
    for first in 1..=steps {
        for second in first..=steps + 12 {
            run([first, second]);
        }
    }
}

#[test]
fn ten_thousand_recipients_are_ten_thousand_messages_whatever_is_lost() {
    let expected = expected(members(10_000), &[Channel::Email]);
    for (seed, chunk) in [(1, 500), (2, 311), (3, 1_000)] {
        let world = world(members(10_000), &[Channel::Email]);
        drain(&world, REQUEST_QUEUE, &world.fan_out(chunk, u32::MAX), 1, &mut dice(seed, 12));
        assert_exact(&world, &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_chunk_and_any_crashes_lose_nothing_and_double_nothing(
        count in 1_usize..60, chunk in 1_u32..20, seed in any::<u64>(), one_in in 3_u64..40,
    ) {
        let world = world(members(count), &BOTH);
        drain(&world, REQUEST_QUEUE, &world.fan_out(chunk, u32::MAX), 1, &mut dice(seed, one_in));
        assert_exact(&world, &expected(members(count), &BOTH));
    }

    #[test]
    fn batches_of_requests_and_any_crashes_lose_nothing_and_double_nothing(
        requests in 1_usize..9, count in 1_usize..6, chunk in 1_u32..4, size in 1_usize..8,
        seed in any::<u64>(), one_in in 3_u64..40,
    ) {
        let ids: Vec<Uuid> = (0..requests).map(|n| Uuid::from_u128(1 + n as u128)).collect();
        let all = ids.iter().map(|id| NotificationRequest { id: *id, ..request(&BOTH, vec![segment("all")]) });
        let world = World::new(all.collect(), members(count).collect());
        drain(&world, REQUEST_QUEUE, &world.fan_out(chunk, u32::MAX), size, &mut dice(seed, one_in));
        let of = |id: &Uuid| expected_of(*id, members(count), &BOTH);
        assert_exact(&world, &ids.iter().flat_map(of).collect());
    }

    #[test]
    fn a_request_has_failed_if_and_only_if_its_dead_letter_exists(
        count in 1_usize..10, chunk in 1_u32..5, seed in any::<u64>(), one_in in 2_u64..12,
    ) {
        let world = world(members(count), &BOTH);
        drain(&world, REQUEST_QUEUE, &world.fan_out(chunk, 2), 1, &mut dice(seed, one_in));
        prop_assert_eq!(world.statuses() == [RequestStatus::Failed], world.dead() == 1);
        if world.dead() == 0 {
            assert_exact(&world, &expected(members(count), &BOTH));
        }
    }

    #[test]
    fn a_recipient_that_comes_again_in_a_later_chunk_is_still_notified_once(
        ids in prop::collection::vec(0_usize..6, 1..40), chunk in 1_u32..5, seed in any::<u64>(),
    ) {
        let names = || ids.iter().map(|n| format!("u-{n}"));
        let world = world(names(), &[Channel::Email]);
        let (fan_out, delivery) = (world.fan_out(chunk, u32::MAX), world.delivery());
        let (mut lost, mut deliver) = (dice(seed, 10), dice(seed ^ 1, 2));
        loop {
            let batch = world.claim(REQUEST_QUEUE, 1);
            if batch.is_empty() {
                break;
            }
            let verdicts = handle(&fan_out, &batch, &mut lost);
            // Deliveries come in between, also while a chunk waits for its ack.
            if deliver() {
                drain(&world, MESSAGE_QUEUE, &delivery, 2, &mut || false);
            }
            for (index, verdict) in verdicts {
                world.accept(&batch[index], verdict);
            }
        }
        drain(&world, MESSAGE_QUEUE, &delivery, 3, &mut || false);
        let expected = expected(names(), &[Channel::Email]);
        prop_assert_eq!(world.delivered(), expected.iter().map(|id| (*id, 1)).collect());
        prop_assert!(world.records().values().all(|status| *status == DeliveryStatus::Delivered));
    }

    #[test]
    fn a_delivery_that_is_cut_off_comes_again_under_the_same_id(
        seed in any::<u64>(), one_in in 3_u64..10, size in 1_usize..8,
    ) {
        let world = world(members(20), &[Channel::Email]);
        drain(&world, REQUEST_QUEUE, &world.fan_out(7, u32::MAX), 1, &mut || false);
        drain(&world, MESSAGE_QUEUE, &world.delivery(), size, &mut dice(seed, one_in));
        let delivered: HashSet<_> = world.delivered().into_keys().collect();
        prop_assert_eq!(delivered, expected(members(20), &[Channel::Email]));
        prop_assert!(world.records().values().all(|status| *status == DeliveryStatus::Delivered));
    }
}
