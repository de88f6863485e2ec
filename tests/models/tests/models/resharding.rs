//! Resharding, as it is designed and without each of its rules.

use claimstream_models::{
    resharding::{Fault, Resharding},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

/// Two processes that write, two relays, and a command that may stop at any point and be begun again.
fn at_work(fault: Option<Fault>) -> Resharding {
    Resharding { fault, messages: 4, producers: 2, relays: 2 }
}

#[test]
fn ours_keeps_the_order_of_a_key_while_it_moves() {
    show_that_it_keeps_every_promise("ours_keeps_the_order_of_a_key_while_it_moves", &at_work(None), 10_000);
}

#[test]
fn a_producer_that_believes_what_it_knew_writes_behind_the_new_shard() {
    let title = "a_producer_that_believes_what_it_knew_writes_behind_the_new_shard";
    let promise = "no_message_is_handled_before_one_that_comes_first";
    show_that_it_breaks(title, &at_work(Some(Fault::BelievesWhatItKnew)), promise);
}

#[test]
fn a_cut_across_open_transactions_leaves_a_message_behind() {
    let title = "a_cut_across_open_transactions_leaves_a_message_behind";
    let promise = "no_message_is_handled_before_one_that_comes_first";
    show_that_it_breaks(title, &at_work(Some(Fault::CutsAcross)), promise);
}

#[test]
fn the_oldest_message_moved_first_is_overtaken_in_the_old_shard() {
    let title = "the_oldest_message_moved_first_is_overtaken_in_the_old_shard";
    let promise = "no_message_is_handled_before_one_that_comes_first";
    show_that_it_breaks(title, &at_work(Some(Fault::MovesOldestFirst)), promise);
}

#[test]
fn a_message_moved_out_of_a_hand_is_in_two() {
    let title = "a_message_moved_out_of_a_hand_is_in_two";
    show_that_it_breaks(title, &at_work(Some(Fault::MovesWhatIsHeld)), "handlers_of_a_key_never_overlap");
}

#[test]
fn a_move_without_the_fence_lets_a_relay_claim_what_it_read_before() {
    let title = "a_move_without_the_fence_lets_a_relay_claim_what_it_read_before";
    let promise = "no_message_is_handled_before_one_that_comes_first";
    show_that_it_breaks(title, &at_work(Some(Fault::MovesWithoutFence)), promise);
}

#[test]
fn a_shard_that_opens_too_soon_runs_with_messages_in_hand() {
    let title = "a_shard_that_opens_too_soon_runs_with_messages_in_hand";
    show_that_it_breaks(title, &at_work(Some(Fault::OpensTooSoon)), "handlers_of_a_key_never_overlap");
}
