//! TCC, as it is and with the faults of S3.

use claimstream_models::{
    show_that_it_breaks, show_that_it_keeps_every_promise,
    tcc::{Fault, Tcc},
};

fn with(fault: Fault) -> Tcc {
    Tcc { fault: Some(fault) }
}

#[test]
fn ours_two_branches() {
    show_that_it_keeps_every_promise("ours_two_branches", &Tcc { fault: None }, 20_000);
}

#[test]
fn s3_f1_a_cancel_without_a_marker_lets_a_late_try_hang() {
    let title = "s3_f1_a_cancel_without_a_marker_lets_a_late_try_hang";
    let fault = with(Fault::EmptyCancelLeavesNoMarker);
    show_that_it_breaks(title, &fault, "no_try_is_accepted_after_its_cancel");
    show_that_it_breaks(title, &fault, "an_ended_transaction_holds_nothing");
}

#[test]
fn s3_f1_a_marker_that_a_late_try_takes_away_lets_the_next_one_hang() {
    let title = "s3_f1_a_marker_that_a_late_try_takes_away_lets_the_next_one_hang";
    let course =
        show_that_it_breaks(title, &with(Fault::MarkerIsTakenAway), "no_try_is_accepted_after_its_cancel");
    let tries = course.iter().filter(|step| step.starts_with("try arrives")).count();
    assert_eq!(tries, 2, "{course:?}");
}

#[test]
fn s3_f2_read_then_insert_without_a_unique_key_accepts_both() {
    show_that_it_breaks(
        "s3_f2_read_then_insert_without_a_unique_key_accepts_both",
        &with(Fault::ReadThenInsert),
        "no_try_is_accepted_after_its_cancel",
    );
}

#[test]
fn s3_f4_a_cancel_that_does_not_ask_for_the_state_releases_twice() {
    show_that_it_breaks(
        "s3_f4_a_cancel_that_does_not_ask_for_the_state_releases_twice",
        &with(Fault::CancelReleasesUnchecked),
        "the_resource_is_conserved",
    );
}

#[test]
fn a3_7_a_marker_that_is_purged_too_early_lets_a_late_try_hang() {
    show_that_it_breaks(
        "a3_7_a_marker_that_is_purged_too_early_lets_a_late_try_hang",
        &with(Fault::PurgedTooEarly),
        "no_try_is_accepted_after_its_cancel",
    );
}

#[test]
fn a3_6_a_decision_that_is_overwritten_confirms_one_branch_and_cancels_the_other() {
    show_that_it_breaks(
        "a3_6_a_decision_that_is_overwritten_confirms_one_branch_and_cancels_the_other",
        &with(Fault::DecisionIsOverwritten),
        "all_branches_or_none",
    );
}
