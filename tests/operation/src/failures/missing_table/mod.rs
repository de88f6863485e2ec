//! A pipeline whose tables are away for a while, as in a migration that goes wrong and is taken back.
//! Promise: a missing table neither ends a pipeline nor breaks a saga, what was handled in the meantime is
//! settled, and a shutdown ends soon after `drain`

mod ledger;
mod queue;
mod running;
mod table;
mod uncounted;

use self::{
    ledger::{delivers_later, goes_on_with_a_saga, has_effects_later, ticks_later},
    queue::{claims_on, ends_after_its_drain_time, settles_on},
};
use claimstream_sea_orm::Strategy;

use crate::{Server, Suite, backend::SeaOrmBackend};

/// Adds it for every store that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for strategy in [Strategy::PreemptiveUpdate, Strategy::ShardLease] {
        add(suite, "sqlite", strategy, move || SeaOrmBackend::sqlite(strategy.name()));
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let url = url.clone();
            add(suite, server.name, strategy, move || {
                SeaOrmBackend::server(server.name, &url, strategy.name())
            });
        }
    }
}

fn add(
    suite: &mut Suite,
    store: &str,
    strategy: Strategy,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    let name = |what: &str| format!("{store}::{strategy}::missing_table::{what}");
    let (open, stop) = (backend.clone(), backend.clone());
    suite.add_async_test(&name("a_pipeline_claims_on_when_the_queue_is_back"), async move {
        claims_on(&open()).await;
    });
    suite.add_async_test(
        &name("a_pipeline_that_is_stopped_meanwhile_ends_after_its_drain_time"),
        async move {
            ends_after_its_drain_time(&stop()).await;
        },
    );
    let saga = backend.clone();
    suite.add_async_test(&name("a_saga_goes_on_when_its_steps_are_back"), async move {
        goes_on_with_a_saga(&saga()).await;
    });
    let inbox = backend.clone();
    // Guard: a missing table costs an inbox no attempt | app/steps/src/inbox/step_error.rs `verdict_unbegun`: the
    // verdict as it is
    suite.add_async_test(&name("an_inbox_uses_up_no_attempts_while_its_steps_are_away"), async move {
        has_effects_later(&inbox()).await;
    });
    let timed = backend.clone();
    // Guard: a missing table costs a timer no attempt | app/steps/src/timer_event/timer_events.rs `handle`:
    // no `is_about_the_store`
    suite.add_async_test(&name("a_timer_uses_up_no_attempts_while_its_steps_are_away"), async move {
        ticks_later(&timed()).await;
    });
    let notified = backend.clone();
    // Guard: a missing table costs a notification no attempt | app/notifications/src/message_handler.rs
    // `give_back`: the error is put off as any other
    suite.add_async_test(
        &name("notifications_use_up_no_attempts_while_their_records_are_away"),
        async move {
            delivers_later(&notified()).await;
        },
    );
    suite.add_async_test(&name("what_was_handled_meanwhile_is_settled_and_not_handled_again"), async move {
        settles_on(&backend()).await;
    });
}
