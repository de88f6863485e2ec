//! The lease, as it is and with the faults of S0 and S1.

use claimstream_models::{
    explore,
    lease::{Fault, Lease},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

/// Two workers of one instance and one of another; for a fault, one message is enough.
fn one_message(fault: Option<Fault>) -> Lease {
    Lease { fault, messages: 1, workers: vec![0, 0, 1], mishaps: true, late: 1, excuses: 1 }
}

#[test]
fn ours_three_workers_share_a_message() {
    let title = "ours_three_workers_share_a_message";
    let lease = Lease { workers: vec![0, 0, 0], late: 2, ..one_message(None) };
    show_that_it_keeps_every_promise(title, &lease, 40_000);
}

#[test]
fn ours_two_workers_share_two_messages() {
    let title = "ours_two_workers_share_two_messages";
    let lease = Lease { messages: 2, workers: vec![0, 0], excuses: 0, ..one_message(None) };
    show_that_it_keeps_every_promise(title, &lease, 400_000);
}

#[test]
fn s0_f1_expired_leases_are_never_reclaimed() {
    let fault = one_message(Some(Fault::ExpiredIsNeverReclaimed));
    let course = show_that_it_breaks(
        "s0_f1_expired_leases_are_never_reclaimed",
        &fault,
        "every_message_can_still_end",
    );
    assert!(course.iter().any(|step| step.contains("dies") || step.contains("the answer is lost")));
    // While no process dies, the text's claim does lose nothing.
    let harmless = explore(&Lease { mishaps: false, late: 0, ..fault });
    assert_eq!(harmless.course("every_message_can_still_end"), None);
}

#[test]
fn s0_f4_a_settlement_that_shows_its_instance_ends_another_claim_of_it() {
    show_that_it_breaks(
        "s0_f4_a_settlement_that_shows_its_instance_ends_another_claim_of_it",
        &one_message(Some(Fault::FencedByInstance)),
        "only_the_newest_claim_is_accepted",
    );
}

#[test]
fn s0_f7_attempts_that_count_when_settled_let_a_message_be_tried_for_ever() {
    show_that_it_breaks(
        "s0_f7_attempts_that_count_when_settled_let_a_message_be_tried_for_ever",
        &one_message(Some(Fault::CountedWhenSettled)),
        "no_handler_is_begun_more_often_than_allowed",
    );
}

#[test]
fn a_slow_table_that_is_excused_each_time_lets_a_message_be_tried_for_ever() {
    show_that_it_breaks(
        "a_slow_table_that_is_excused_each_time_lets_a_message_be_tried_for_ever",
        &one_message(Some(Fault::ExcusedWithoutEnd)),
        "no_handler_is_begun_more_often_than_allowed",
    );
}

#[test]
fn s1_f1_without_a_release_a_crash_loses_the_message() {
    let fault = one_message(Some(Fault::NeverReleased));
    show_that_it_breaks(
        "s1_f1_without_a_release_a_crash_loses_the_message",
        &fault,
        "every_message_can_still_end",
    );
}

#[test]
fn s1_f1_without_a_release_what_its_holder_puts_back_is_lost_too() {
    let fault = one_message(Some(Fault::NeverReleased));
    let course = show_that_it_breaks(
        "s1_f1_without_a_release_what_its_holder_puts_back_is_lost_too",
        &Lease { mishaps: false, late: 0, ..fault },
        "every_message_can_still_end",
    );
    assert!(!course.iter().any(|step| step.contains("dies") || step.contains("lost")), "{course:?}");
}

#[test]
fn s1_f5_without_a_fence_a_slow_worker_ends_what_another_holds() {
    show_that_it_breaks(
        "s1_f5_without_a_fence_a_slow_worker_ends_what_another_holds",
        &one_message(Some(Fault::NotFenced)),
        "only_the_newest_claim_is_accepted",
    );
}
