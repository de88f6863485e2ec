//! The Kafka protocol, on the mock cluster of librdkafka: three brokers in this process that speak it and keep nothing on a disk.

mod cluster;
mod consuming;
mod outages;
mod publishing;
mod throughput;

use libtest_mimic::Trial;

use crate::{long, test};

/// Names each test after its function.
macro_rules! tests {
    ($($file:ident::$name:ident),* $(,)?) => {
        [$(long("kafka", test(concat!("kafka::", stringify!($file), "::", stringify!($name)), $file::$name))),*]
    };
}

pub(crate) fn tests() -> Vec<Trial> {
    tests![
        publishing::what_is_confirmed_is_in_its_topic_with_its_properties,
        publishing::messages_of_a_key_are_in_one_partition_in_their_order,
        publishing::what_is_too_large_is_refused_and_the_others_are_confirmed,
        publishing::a_topic_that_is_not_there_or_is_none_is_refused,
        publishing::brokers_that_go_and_come_back_under_load_lose_nothing,
        publishing::answers_that_get_lost_store_nothing_twice,
        publishing::a_cluster_that_is_away_leaves_everything_unconfirmed,
        consuming::everything_comes_in_its_order_with_its_properties,
        consuming::what_is_not_finished_comes_again_and_holds_back_what_is_committed,
        consuming::a_record_in_hand_is_held_and_what_comes_meanwhile_is_handed_over_later,
        consuming::a_second_member_takes_partitions_over_and_the_first_ends_nothing_there,
        consuming::effects_happen_once_wherever_members_end,
        consuming::no_topic_is_refused_and_no_cluster_is_away,
        outages::after_an_outage_records_flow_again_within_seconds,
        outages::a_topic_that_brokers_do_not_know_for_a_moment_is_not_refused,
        outages::a_topic_that_is_made_after_it_was_missing_takes_records,
        outages::many_missing_topics_take_as_long_as_one,
        outages::a_record_that_its_topic_never_takes_is_refused_and_the_others_are_confirmed,
        outages::what_a_cluster_says_for_a_moment_loses_nothing_on_the_way_to_a_member,
        outages::a_program_ends_although_its_member_cannot_leave,
        throughput::batches_of_a_hundred_compared_with_the_client_alone,
    ]
    .into()
}
