//! S4-B: a payment in points (JiFen) and balance (YuE), over five databases.

mod crashes;
mod notices;
mod orders;
mod reversible;
mod runners;

use self::{
    crashes::{
        s4b_every_crash_point_of_the_way_back_ends_in_fail,
        s4b_every_crash_point_of_the_way_forward_ends_in_finish,
        s4b_every_pair_of_crash_points_of_the_way_back_ends_in_fail,
        s4b_every_pair_of_crash_points_of_the_way_forward_ends_in_finish,
        s4b_forward_takes_four_steps_and_a_check_afterwards_does_nothing,
    },
    notices::{
        x1_a_shortage_is_notified_in_the_transaction_that_calls_off,
        x1_the_notification_of_a_shortage_is_delivered_once,
    },
    orders::{
        s4b_a_late_step_2_after_fail_is_refused, s4b_a_roll_back_order_that_comes_first_calls_it_off,
        s4b_a_stale_roll_back_order_on_committing_and_finish_changes_nothing,
        s4b_an_order_with_another_input_drives_the_saga_with_its_own,
        s4b_b4_b5_with_did_in_is_an_alarm_and_nothing_is_given_back,
        s4b_message_only_1c_absent_is_started_again,
    },
    reversible::{
        s4b_a_check_that_finds_a_step_of_the_payee_undone_turns_back,
        s4b_a_payee_that_has_spent_it_breaks_the_roll_back, s4b_a_payment_that_can_be_undone_whole_finishes,
        s4b_a_roll_back_order_takes_back_what_the_payee_has_received,
    },
    runners::{
        s4b_a_lock_that_is_held_puts_off_and_one_that_is_lost_spoils_nothing,
        s4b_jifen_short_at_step_2_debits_nothing_anywhere,
        s4b_payee_database_down_for_ten_deliveries_then_finish,
        s4b_shortage_seen_and_topped_up_before_the_next_delivery_finishes,
        s4b_two_runners_with_different_views_and_a_lost_lock_one_branch_wins,
    },
};
use crate::sagas::{
    case::{Case, cases},
    database::Database,
};

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4b_forward_takes_four_steps_and_a_check_afterwards_does_nothing,
        s4b_every_crash_point_of_the_way_forward_ends_in_finish,
        s4b_every_pair_of_crash_points_of_the_way_forward_ends_in_finish,
        s4b_every_crash_point_of_the_way_back_ends_in_fail,
        s4b_every_pair_of_crash_points_of_the_way_back_ends_in_fail,
        s4b_message_only_1c_absent_is_started_again,
        s4b_shortage_seen_and_topped_up_before_the_next_delivery_finishes,
        s4b_a_roll_back_order_that_comes_first_calls_it_off,
        s4b_a_stale_roll_back_order_on_committing_and_finish_changes_nothing,
        s4b_an_order_with_another_input_drives_the_saga_with_its_own,
        s4b_jifen_short_at_step_2_debits_nothing_anywhere,
        s4b_payee_database_down_for_ten_deliveries_then_finish,
        s4b_two_runners_with_different_views_and_a_lost_lock_one_branch_wins,
        s4b_a_late_step_2_after_fail_is_refused,
        s4b_b4_b5_with_did_in_is_an_alarm_and_nothing_is_given_back,
        s4b_a_lock_that_is_held_puts_off_and_one_that_is_lost_spoils_nothing,
        s4b_a_payment_that_can_be_undone_whole_finishes,
        s4b_a_roll_back_order_takes_back_what_the_payee_has_received,
        s4b_a_check_that_finds_a_step_of_the_payee_undone_turns_back,
        s4b_a_payee_that_has_spent_it_breaks_the_roll_back,
        x1_a_shortage_is_notified_in_the_transaction_that_calls_off,
        x1_the_notification_of_a_shortage_is_delivered_once,
    ]
}
