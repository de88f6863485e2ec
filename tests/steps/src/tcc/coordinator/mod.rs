//! The coordinator of global transactions.
//! Promise: all branches of a global transaction end alike, whichever process dies (A3.6)

mod checks;
mod ends;
mod failures;
mod script;
mod setup;

use self::{
    checks::{
        a3_6_a_check_that_decides_when_every_branch_is_tried_wins,
        a3_6_a_check_that_decides_while_branches_are_tried_wins,
    },
    ends::{
        a3_6_a_payload_that_no_message_could_carry_is_refused_before_anything_is_tried,
        a3_6_a_second_participant_of_one_name_is_refused,
        a3_6_a_transaction_that_was_not_committed_is_not_driven,
        a3_6_all_branches_that_can_be_tried_are_confirmed,
        a3_6_an_id_that_is_used_again_is_the_same_transaction_or_refused,
        a3_6_one_refused_try_cancels_every_branch_and_the_refused_one_is_an_empty_rollback,
        a3_6_what_a_run_has_decided_is_carried_out_at_once,
    },
    failures::{
        a3_6_a_call_with_another_payload_than_the_first_one_is_refused,
        a3_6_a_coordinator_that_dies_after_a_try_is_cleaned_up_by_its_check_message_at_the_deadline,
        a3_6_a_participant_that_fails_again_and_again_raises_one_alarm,
        a3_6_a_refusal_after_the_decision_raises_one_alarm_and_is_repeated,
        a3_6_a_try_that_fails_for_long_in_a_run_is_left_to_the_outbox,
        a3_6_a_try_that_fails_is_made_again_until_the_deadline_cancels,
        a3_6_a_try_that_fails_once_in_a_run_is_made_again_there,
        a3_6_confirm_is_repeated_past_the_deadline_until_it_succeeds,
        a3_6_wherever_a_coordinator_dies_all_branches_end_alike,
    },
};
use crate::tcc::{Scenario, listed, world::Place};

pub(super) fn scenarios<S: Place>() -> Vec<Scenario<S>> {
    listed![
        a3_6_all_branches_that_can_be_tried_are_confirmed,
        a3_6_one_refused_try_cancels_every_branch_and_the_refused_one_is_an_empty_rollback,
        a3_6_a_coordinator_that_dies_after_a_try_is_cleaned_up_by_its_check_message_at_the_deadline,
        a3_6_wherever_a_coordinator_dies_all_branches_end_alike,
        a3_6_a_try_that_fails_for_long_in_a_run_is_left_to_the_outbox,
        a3_6_a_try_that_fails_is_made_again_until_the_deadline_cancels,
        a3_6_a_try_that_fails_once_in_a_run_is_made_again_there,
        a3_6_confirm_is_repeated_past_the_deadline_until_it_succeeds,
        a3_6_a_call_with_another_payload_than_the_first_one_is_refused,
        a3_6_a_participant_that_fails_again_and_again_raises_one_alarm,
        a3_6_a_refusal_after_the_decision_raises_one_alarm_and_is_repeated,
        a3_6_a_second_participant_of_one_name_is_refused,
        a3_6_a_check_that_decides_while_branches_are_tried_wins,
        a3_6_a_check_that_decides_when_every_branch_is_tried_wins,
        a3_6_what_a_run_has_decided_is_carried_out_at_once,
        a3_6_a_transaction_that_was_not_committed_is_not_driven,
        a3_6_an_id_that_is_used_again_is_the_same_transaction_or_refused,
        a3_6_a_payload_that_no_message_could_carry_is_refused_before_anything_is_tried,
    ]
}
