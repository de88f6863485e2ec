//! The inbox, as it is and with the record anywhere but in the effect's transaction.

use claimstream_models::{
    inbox::{Fault, Inbox},
    show_that_it_breaks, show_that_it_keeps_every_promise,
};

fn with(fault: Fault) -> Inbox {
    Inbox { fault: Some(fault), consumers: 2 }
}

#[test]
fn ours_three_consumers() {
    show_that_it_keeps_every_promise("ours_three_consumers", &Inbox { fault: None, consumers: 3 }, 5_000);
}

#[test]
fn inbox_record_that_commits_before_the_effect_loses_it() {
    let title = "inbox_record_that_commits_before_the_effect_loses_it";
    let fault = with(Fault::RecordedBeforeTheEffect);
    show_that_it_breaks(title, &fault, "what_is_acknowledged_has_had_its_effect");
}

#[test]
fn inbox_record_that_commits_after_the_effect_doubles_it() {
    let title = "inbox_record_that_commits_after_the_effect_doubles_it";
    show_that_it_breaks(title, &with(Fault::RecordedAfterTheEffect), "an_effect_happens_once");
}

#[test]
fn inbox_read_then_insert_without_a_unique_key_doubles_the_effect() {
    let title = "inbox_read_then_insert_without_a_unique_key_doubles_the_effect";
    show_that_it_breaks(title, &with(Fault::ReadThenInsert), "an_effect_happens_once");
}

#[test]
fn inbox_a_found_row_that_counts_as_new_doubles_the_effect() {
    let title = "inbox_a_found_row_that_counts_as_new_doubles_the_effect";
    show_that_it_breaks(title, &with(Fault::FoundCountsAsNew), "an_effect_happens_once");
}

#[test]
fn inbox_a_repeat_that_is_recognised_by_its_id_alone_swallows_another_payload() {
    let title = "inbox_a_repeat_that_is_recognised_by_its_id_alone_swallows_another_payload";
    let fault = with(Fault::PayloadIsNotCompared);
    show_that_it_breaks(title, &fault, "what_is_acknowledged_has_had_its_effect");
}

#[test]
fn x3_a_record_that_is_purged_while_its_message_lives_doubles_the_effect() {
    let title = "x3_a_record_that_is_purged_while_its_message_lives_doubles_the_effect";
    show_that_it_breaks(title, &with(Fault::PurgedTooEarly), "an_effect_happens_once");
}
