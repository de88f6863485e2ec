//! Runs of a key, as they are and with faults.

use claimstream_models::{
    run::{Fault, KeyRun},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

/// A process and three messages.
fn three_messages(fault: Option<Fault>) -> KeyRun {
    KeyRun { fault, messages: 3, processes: 1 }
}

/// Two processes and two messages.
fn two_processes(fault: Option<Fault>) -> KeyRun {
    KeyRun { fault, messages: 2, processes: 2 }
}

#[test]
fn ours_a_process_with_three_messages_of_a_key() {
    let title = "ours_a_process_with_three_messages_of_a_key";
    show_that_it_keeps_every_promise(title, &three_messages(None), 3_000);
}

#[test]
fn ours_two_processes_with_two_messages_of_a_key() {
    let title = "ours_two_processes_with_two_messages_of_a_key";
    show_that_it_keeps_every_promise(title, &two_processes(None), 10_000);
}

#[test]
fn a_run_that_goes_on_after_a_failure_overtakes_it() {
    show_that_it_breaks(
        "a_run_that_goes_on_after_a_failure_overtakes_it",
        &three_messages(Some(Fault::GoesOnAfterAFailure)),
        "no_message_is_handled_before_one_that_comes_first",
    );
}

#[test]
fn a_message_that_is_taken_in_behind_anything_overtakes_what_went_back() {
    show_that_it_breaks(
        "a_message_that_is_taken_in_behind_anything_overtakes_what_went_back",
        &three_messages(Some(Fault::TakenInBehindAnything)),
        "no_message_is_handled_before_one_that_comes_first",
    );
}

#[test]
fn ends_that_are_accepted_in_any_order_leave_a_gap() {
    show_that_it_breaks(
        "ends_that_are_accepted_in_any_order_leave_a_gap",
        &three_messages(Some(Fault::EndsInAnyOrder)),
        "accepted_ends_are_in_order_without_a_gap",
    );
}

#[test]
fn without_a_fence_a_slow_process_ends_what_another_has() {
    show_that_it_breaks(
        "without_a_fence_a_slow_process_ends_what_another_has",
        &two_processes(Some(Fault::NotFenced)),
        "accepted_ends_are_in_order_without_a_gap",
    );
}
