//! RabbitMQ.

mod connecting;
mod consuming;
mod counted;
mod killed;
mod publishing;
mod queues;

use std::sync::Arc;

use claimstream_brokers::rabbitmq::RabbitMqConfig;
use claimstream_ports::{Timer, mock::HandTimer};
use claimstream_testbed::known_broker;
use libtest_mimic::Trial;

pub(crate) use self::queues::Queues;
use crate::{long, test};

const NAME: &str = "rabbitmq";

/// Gives each test the URL of the broker.
macro_rules! on_broker {
    ($url:ident: $($file:ident::$name:ident),* $(,)?) => {
        [$({
            let url = $url.clone();
            let name = concat!("rabbitmq::", stringify!($file), "::", stringify!($name));
            test(name, move || $file::$name(url))
        }),*]
    };
}

pub(crate) fn tests() -> Vec<Trial> {
    let Some(url) = known_broker(NAME, NAME) else { return Vec::new() };
    let plain = on_broker![
        url:
        publishing::what_is_confirmed_is_in_its_queue_with_its_properties,
        publishing::what_no_queue_takes_is_unavailable_and_the_others_are_confirmed,
        publishing::what_is_too_large_is_refused_and_the_others_are_confirmed,
        publishing::a_missing_exchange_is_unavailable_with_a_sentence,
        publishing::an_exchange_that_takes_nothing_now_is_asked_once_in_a_call,
        publishing::connections_that_broke_without_a_sign_cost_one_call,
        publishing::a_full_queue_that_rejects_is_unconfirmed_and_holds_up_its_key,
        publishing::a_place_that_is_none_is_refused,
        publishing::calls_at_the_same_time_do_not_disturb_each_other,
        publishing::a_cancelled_call_disturbs_no_later_one,
        publishing::connections_that_no_call_has_needed_for_long_are_closed,
        connecting::a_peer_that_says_nothing_holds_up_no_call_and_costs_a_connection_once,
        connecting::a_peer_that_resets_a_greeting_is_tried_all_the_same,
        connecting::a_server_that_is_away_leaves_everything_unconfirmed,
        consuming::what_was_published_arrives_with_its_properties,
        consuming::what_is_not_finished_comes_again,
        consuming::the_time_of_a_message_runs_while_it_is_held,
        consuming::a_login_that_is_refused_is_no_broker_that_is_away,
        consuming::messages_come_in_the_order_of_their_queue_and_a_dropped_call_loses_none,
        consuming::a_missing_queue_is_refused_by_its_name,
        consuming::what_many_consumers_had_before_they_died_stays_where_its_queue_says_so,
    ];
    let killed = on_broker![
        url:
        consuming::a_lost_connection_is_an_error_once_and_an_alarm_costs_publishers_one_connection,
        killed::a_broker_that_is_killed_under_load_loses_nothing_on_a_classic_queue,
        killed::a_broker_that_is_killed_under_load_loses_nothing_on_a_quorum_queue,
    ];
    // A refusal ends a channel, and it takes as many as a connection has.
    let [refusals] = on_broker![url: publishing::refusals_do_not_use_a_connection_up];
    let killed = killed.map(|test| long("kills", test));
    plain.into_iter().chain(killed).chain([long("brokers", refusals)]).collect()
}

/// A place whose limits are of a timer that stands still.
fn place(url: &str) -> RabbitMqConfig {
    place_by(&HandTimer::default(), url)
}

/// Lets the time of the calls that wait run out, once.
async fn time_runs_out(timer: &HandTimer) {
    timer.asleep_until(timer.now() + RabbitMqConfig::TIMEOUT).await;
    timer.advance(RabbitMqConfig::TIMEOUT);
}

fn place_by(timer: &HandTimer, url: &str) -> RabbitMqConfig {
    RabbitMqConfig::new(url).unwrap().with_timer(Arc::new(timer.clone()))
}
