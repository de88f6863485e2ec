//! Sagas, as they are and with the faults of S4.

use claimstream_domain::saga::Unbegun;
use claimstream_models::{
    saga::{Fault, Saga},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

/// Two runners, and no order that calls the saga off.
const TWO_RUNNERS: Saga = Saga { fault: None, runners: 2, unbegun: Unbegun::Run, order: false };

fn with(fault: Fault) -> Saga {
    Saga { fault: Some(fault), ..TWO_RUNNERS }
}

#[test]
fn ours_two_runners_and_an_order_to_call_it_off() {
    let saga = Saga { order: true, ..TWO_RUNNERS };
    show_that_it_keeps_every_promise("ours_two_runners_and_an_order_to_call_it_off", &saga, 30_000);
}

#[test]
fn ours_three_runners() {
    let saga = Saga { runners: 3, ..TWO_RUNNERS };
    show_that_it_keeps_every_promise("ours_three_runners", &saga, 300_000);
}

#[test]
fn ours_a_check_that_finds_no_step_calls_it_off() {
    let saga = Saga { unbegun: Unbegun::CallOff, order: true, ..TWO_RUNNERS };
    show_that_it_keeps_every_promise("ours_a_check_that_finds_no_step_calls_it_off", &saga, 10_000);
}

#[test]
fn s4_f1_a_check_that_does_not_know_a_credit_reports_a_bug() {
    show_that_it_breaks(
        "s4_f1_a_check_that_does_not_know_a_credit_reports_a_bug",
        &with(Fault::CreditIsNotRecognised),
        "no_runner_reports_a_bug",
    );
}

#[test]
fn s4_f2_without_a_tombstone_a_late_step_takes_money_for_good() {
    let title = "s4_f2_without_a_tombstone_a_late_step_takes_money_for_good";
    let fault = with(Fault::NoTombstone);
    show_that_it_breaks(title, &fault, "no_step_is_taken_after_its_rollback");
    show_that_it_breaks(title, &fault, "sums_are_constant_when_a_saga_is_over");
}

#[test]
fn s4_f3_a_check_that_finds_no_step_and_leaves_no_tombstone_lets_the_first_step_come_late() {
    let title = "s4_f3_a_check_that_finds_no_step_and_leaves_no_tombstone_lets_the_first_step_come_late";
    let fault = Saga { unbegun: Unbegun::CallOff, ..with(Fault::NoTombstone) };
    show_that_it_breaks(title, &fault, "no_step_is_taken_after_its_rollback");
}

#[test]
fn s4_f5_without_a_pivot_what_the_payee_has_spent_is_taken_back() {
    let title = "s4_f5_without_a_pivot_what_the_payee_has_spent_is_taken_back";
    let fault = with(Fault::NoPivot);
    show_that_it_breaks(title, &fault, "no_credit_stands_in_a_saga_that_is_called_off");
    show_that_it_breaks(title, &fault, "no_account_goes_below_zero");
}

#[test]
fn s4_f7_a_check_that_is_acknowledged_on_delivery_leaves_a_saga_open_for_ever() {
    show_that_it_breaks(
        "s4_f7_a_check_that_is_acknowledged_on_delivery_leaves_a_saga_open_for_ever",
        &with(Fault::AcknowledgedOnDelivery),
        "every_saga_can_still_end",
    );
}

#[test]
fn s4_4_without_a_unique_key_a_step_is_taken_twice() {
    show_that_it_breaks(
        "s4_4_without_a_unique_key_a_step_is_taken_twice",
        &with(Fault::NoUniqueKey),
        "sums_are_constant_when_a_saga_is_over",
    );
}

#[test]
fn s4_4_without_a_version_both_ways_are_taken() {
    show_that_it_breaks(
        "s4_4_without_a_version_both_ways_are_taken",
        &with(Fault::NoVersion),
        "one_way_wins",
    );
}
