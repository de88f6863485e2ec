//! The real program, scraped by the real Prometheus: each alert fires for its fault and for no other, and each query of the dashboard
//! shows something.
//! Promise: each alert fires for its fault and no other, after its time and not before, and each query of the
//! dashboard shows something, in the real Prometheus

mod faults;
mod programs;
mod rules;
mod scraping;

use std::collections::BTreeSet;

pub(crate) use self::programs::Programs;
use self::{faults::Shop, scraping::Scraping};
use crate::operator::eventually;

/// Prometheus counts growth between two looks; that much does it have to see at rest first.
const LOOKS: usize = 3;

#[test]
#[ignore = "long: prometheus"]
fn the_rules_are_understood_and_fire_after_their_time_and_not_before() {
    let Some(programs) = Programs::named("the rules") else { return };
    let said = programs.promtool(&["check", "rules", "--lint=all", "--lint-fatal", rules::SHIPPED]);
    assert!(said.contains(&format!("{} rules found", rules::alerts().len())), "{said}");
    programs.promtool(&["test", "rules", rules::UNIT_TESTS]);
}

/// Guard: counters of a queue begin at zero | src/probing.rs `run`: no `begin_at_zero`
#[tokio::test]
#[ignore = "long: prometheus"]
async fn every_alert_fires_for_its_fault_alone_and_every_query_of_the_dashboard_shows_something() {
    let Some(programs) = Programs::named("the alerts and the dashboard") else { return };
    let shop = Shop::closed();
    let scraping = Scraping::start(&programs, &shop.directory(), shop.probes());
    let mut fired = BTreeSet::new();
    let mut expect = |expected: &[(&str, &str)]| fired.extend(scraping.fires(expected));

    expect(&[("ClaimstreamNobodyReports", "")]);
    let mut shop = shop.open();
    eventually("the program was scraped at rest", || scraping.looks() >= LOOKS);
    expect(&[]);

    shop.deliver_one();
    shop.leave_a_message_that_is_due_in("orders").await;
    shop.leave_a_message_that_is_due_in("saga-alarms").await;
    shop.pause("invoices");
    // One alone: a counter that came into the world as 1 would not have grown.
    shop.refuse_for_good();
    shop.refuse_for_now();
    eventually("refusals were scraped", || {
        scraping.shows("claimstream_handle_seconds_count{outcome='nack'}")
    });
    shop.refuse_for_now();
    let standing = [
        ("ClaimstreamQueueStalls", "orders"),
        ("ClaimstreamPauseForgotten", "invoices"),
        ("ClaimstreamQueueStalls", "saga-alarms"),
        ("ClaimstreamSagaStuck", "saga-alarms"),
    ];
    let refused = [
        ("ClaimstreamDeadLetters", "notification-messages"),
        ("ClaimstreamHandlersFail", "notification-messages"),
    ];
    expect(&[&standing[..], &refused].concat());

    shop.lose_a_lease().await;
    let lost = [("ClaimstreamLeasesLost", "notification-messages")];
    expect(&[&standing[..], &refused, &lost].concat());
    shop.keep_callers_waiting().await;
    let short = [("ClaimstreamPoolIsShort", "")];
    expect(&[&standing[..], &refused, &lost, &short].concat());

    shop.take_the_queue_away().await;
    let pipelines = scraping.pipelines();
    for alert in ["ClaimstreamStoreFails", "ClaimstreamPipelineFails"] {
        eventually(&format!("{alert} for each of {pipelines:?}"), || {
            let firing = scraping.firing();
            let queues = firing.iter().filter(|(name, _)| name == alert).map(|(_, queue)| queue.clone());
            queues.collect::<BTreeSet<_>>() == pipelines
        });
    }
    fired.extend(["ClaimstreamStoreFails".to_owned(), "ClaimstreamPipelineFails".to_owned()]);
    shop.give_the_queue_back().await;
    let name = "ClaimstreamPipelineFails";
    eventually("the pipelines work again", || scraping.firing().iter().all(|(alert, _)| alert != name));

    // By now all that it shows has happened.
    scraping.answers_the_dashboard();

    shop.stand_still();
    scraping.fires_among_others("ClaimstreamProcessSilent");
    fired.insert("ClaimstreamProcessSilent".to_owned());
    assert_eq!(fired, rules::alerts(), "each rule of docs/alerts.yml fires here, and only those");
}
