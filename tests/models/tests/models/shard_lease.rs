//! The lease of a shard, as it is and with faults.

use claimstream_models::{
    shard_lease::{Fault, ShardLease},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

/// Two processes and a message.
fn two_processes(fault: Option<Fault>) -> ShardLease {
    ShardLease {
        fault,
        messages: 1,
        processes: 2,
        deaths: true,
        lost_answers: true,
        falls_back: false,
        releases: false,
    }
}

/// A process and two messages.
fn two_messages(fault: Option<Fault>) -> ShardLease {
    ShardLease { messages: 2, processes: 1, ..two_processes(fault) }
}

/// A process by itself, which never dies, on a store that falls back.
fn lone_process(fault: Option<Fault>) -> ShardLease {
    ShardLease { deaths: false, lost_answers: false, falls_back: true, ..two_messages(fault) }
}

#[test]
fn ours_two_processes_share_a_shard() {
    show_that_it_keeps_every_promise("ours_two_processes_share_a_shard", &two_processes(None), 200_000);
}

#[test]
fn ours_a_process_with_two_messages_dies_and_comes_back() {
    let title = "ours_a_process_with_two_messages_dies_and_comes_back";
    let lease = ShardLease { lost_answers: false, ..two_messages(None) };
    show_that_it_keeps_every_promise(title, &lease, 100_000);
}

#[test]
fn ours_a_process_with_two_messages_misses_answers() {
    let title = "ours_a_process_with_two_messages_misses_answers";
    let lease = ShardLease { deaths: false, ..two_messages(None) };
    show_that_it_keeps_every_promise(title, &lease, 50_000);
}

#[test]
fn ours_a_lone_process_outlives_a_store_that_falls_back() {
    let title = "ours_a_lone_process_outlives_a_store_that_falls_back";
    show_that_it_keeps_every_promise(title, &lone_process(None), 100_000);
}

#[test]
fn ours_two_processes_lose_leases_to_an_operator() {
    let lease = ShardLease { releases: true, ..two_processes(None) };
    show_that_it_keeps_every_promise("ours_two_processes_lose_leases_to_an_operator", &lease, 200_000);
}

#[test]
fn ours_a_process_with_two_messages_loses_leases_to_an_operator() {
    let title = "ours_a_process_with_two_messages_loses_leases_to_an_operator";
    let lease = ShardLease { releases: true, lost_answers: false, ..two_messages(None) };
    show_that_it_keeps_every_promise(title, &lease, 100_000);
}

#[test]
fn a_release_that_counts_nothing_lets_a_message_be_tried_for_ever() {
    let course = show_that_it_breaks(
        "a_release_that_counts_nothing_lets_a_message_be_tried_for_ever",
        &ShardLease { releases: true, ..two_processes(Some(Fault::ReleasedUncharged)) },
        "no_handler_is_begun_more_often_than_allowed",
    );
    assert!(course.iter().any(|step| step.contains("an operator releases the lease")), "{course:?}");
}

#[test]
fn without_a_fence_a_slow_process_ends_what_another_holds() {
    show_that_it_breaks(
        "without_a_fence_a_slow_process_ends_what_another_holds",
        &two_processes(Some(Fault::NotFenced)),
        "only_the_newest_hand_is_accepted",
    );
}

#[test]
fn without_books_a_hand_ends_what_another_of_its_process_holds() {
    let course = show_that_it_breaks(
        "without_books_a_hand_ends_what_another_of_its_process_holds",
        &two_processes(Some(Fault::NotInTheBooks)),
        "only_the_newest_hand_is_accepted",
    );
    assert!(!course.iter().any(|step| step.contains("process 1")), "{course:?}");
}

#[test]
fn a_settlement_that_goes_by_the_id_alone_counts_twice_when_its_answer_was_lost() {
    let course = show_that_it_breaks(
        "a_settlement_that_goes_by_the_id_alone_counts_twice_when_its_answer_was_lost",
        &two_messages(Some(Fault::FoundByIdAlone)),
        "a_verdict_is_written_once",
    );
    assert!(course.iter().any(|step| step.contains("the answer is lost")), "{course:?}");
}

#[test]
fn under_the_fence_of_the_holder_before_a_slow_claim_hands_out_what_has_ended() {
    show_that_it_breaks(
        "under_the_fence_of_the_holder_before_a_slow_claim_hands_out_what_has_ended",
        &two_processes(Some(Fault::SameFence)),
        "nothing_that_has_ended_is_handed_out",
    );
}

#[test]
fn books_that_say_whether_a_lease_begins_hand_out_what_has_ended() {
    let course = show_that_it_breaks(
        "books_that_say_whether_a_lease_begins_hand_out_what_has_ended",
        &two_processes(Some(Fault::FenceOfTheBooks)),
        "nothing_that_has_ended_is_handed_out",
    );
    assert!(course.iter().any(|step| step.contains("the answer is lost")), "{course:?}");
}

#[test]
fn under_the_fence_of_a_shard_that_was_kept_a_slow_claim_hands_out_what_has_ended() {
    show_that_it_breaks(
        "under_the_fence_of_a_shard_that_was_kept_a_slow_claim_hands_out_what_has_ended",
        &ShardLease {
            messages: 2,
            deaths: false,
            lost_answers: false,
            ..two_processes(Some(Fault::KeptFence))
        },
        "nothing_that_has_ended_is_handed_out",
    );
}

#[test]
fn a_take_over_that_counts_nothing_lets_a_message_be_tried_for_ever() {
    show_that_it_breaks(
        "a_take_over_that_counts_nothing_lets_a_message_be_tried_for_ever",
        &two_processes(Some(Fault::NotCharged)),
        "no_handler_is_begun_more_often_than_allowed",
    );
}

#[test]
fn a_process_that_counts_nothing_at_home_tries_a_message_for_ever() {
    let course = show_that_it_breaks(
        "a_process_that_counts_nothing_at_home_tries_a_message_for_ever",
        &two_processes(Some(Fault::NotCountedAtHome)),
        "no_handler_is_begun_more_often_than_allowed",
    );
    assert!(!course.iter().any(|step| step.contains("takes the shard over")), "{course:?}");
}

#[test]
fn a_message_that_is_handed_out_before_its_claim_is_written_is_tried_for_ever() {
    show_that_it_breaks(
        "a_message_that_is_handed_out_before_its_claim_is_written_is_tried_for_ever",
        &two_processes(Some(Fault::HandedOutUnwritten)),
        "no_handler_is_begun_more_often_than_allowed",
    );
}

#[test]
fn a_process_that_waits_for_its_old_fence_after_a_fall_back_waits_for_ever() {
    let course = show_that_it_breaks(
        "a_process_that_waits_for_its_old_fence_after_a_fall_back_waits_for_ever",
        &lone_process(Some(Fault::WaitsForItsFence)),
        "every_message_can_still_end",
    );
    assert!(course.iter().any(|step| step.contains("loses its last write")), "{course:?}");
}
