//! What people are shown of sagas, TCC transactions and timers.
//! Promise: sagas, TCC transactions and timers are listed page by page, each once, the one idle for longest
//! first

pub mod continued;

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{
    MessageState,
    step::{NewStep, RunEnds, RunFilter, RunKind, RunListed, RunPage, Step, StepChange, StepKey, StepResult},
    timer_event::{Tick, TimerListed},
};
use uuid::Uuid;

use crate::{
    StepFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<StepFixture>] = cases!["runs" needs [Steps]:
    open_runs_are_listed_the_one_that_has_stood_still_for_longest_first,
    pages_name_each_run_once_whatever_is_changed_meanwhile,
    a_run_of_which_any_row_has_changed_is_not_stuck,
    a_run_that_has_ended_is_listed_only_if_all_are_asked_for,
    a_branch_stands_for_itself_and_other_rows_for_their_run,
    the_rows_of_a_run_are_listed_by_step_whatever_their_names_have,
    a_timer_is_listed_once_with_its_newest_occurrence,
];

const SECOND: Duration = Duration::from_secs(1);

pub async fn open_runs_are_listed_the_one_that_has_stood_still_for_longest_first(fixture: StepFixture) {
    let scope = scope("saga");
    for run in ["c", "a", "b"] {
        begin(&fixture, &scope, run, "", 1).await;
        fixture.outbox.advance(SECOND).await;
    }
    assert_eq!(names(&stuck(&fixture, RunKind::Saga, &scope, Duration::ZERO).await), ["c", "a", "b"]);
    let old = stuck(&fixture, RunKind::Saga, &scope, 2 * SECOND).await;
    assert_eq!(names(&old), ["c", "a"]);
    let RunListed { key, standing, version, age, quiet_for } = &old[0];
    assert_eq!((key.scope(), key.step(), standing.state, *version), (&*scope, "", "init", 1));
    assert_eq!((*age, *quiet_for), (3 * SECOND, 3 * SECOND));
    assert!(stuck(&fixture, RunKind::Saga, &scope, 4 * SECOND).await.is_empty());
    assert!(stuck(&fixture, RunKind::Saga, &scope, Duration::MAX).await.is_empty());
}

pub async fn pages_name_each_run_once_whatever_is_changed_meanwhile(fixture: StepFixture) {
    let scope = scope("saga");
    let runs: Vec<String> = (0..7).map(|n| format!("run {n}")).collect();
    // Some have one moment, so that their keys decide.
    for (n, run) in runs.iter().enumerate() {
        begin(&fixture, &scope, run, "", 1).await;
        begin(&fixture, &scope, run, "debit", 1).await;
        if n % 3 == 0 {
            fixture.outbox.advance(SECOND).await;
        }
    }
    let filter = filter(RunKind::Saga, &scope, Duration::ZERO);
    let (mut found, mut place) = (Vec::new(), None);
    loop {
        let page = fixture.shown.runs(&filter, place, 2).await.expect("a page");
        assert!(page.runs.len() <= 2, "{page:?}");
        found.extend(names(&page.runs));
        // A place comes back from its text.
        place = page.next.map(|next| next.to_string().parse().expect("a place"));
        if found.len() == 2 {
            // The run that was listed first goes to the end of the list.
            fixture.outbox.advance(SECOND).await;
            change(&fixture, &scope, "run 0", 2).await;
        }
        if place.is_none() {
            break;
        }
    }
    let (others, again): (Vec<_>, Vec<_>) = found[1..].iter().partition(|run| *run != "run 0");
    assert_eq!(others, runs[1..].iter().collect::<Vec<_>>());
    assert!(again.len() <= 1, "{found:?}");
}

pub async fn a_run_of_which_any_row_has_changed_is_not_stuck(fixture: StepFixture) {
    let scope = scope("saga");
    for run in ["moves", "stands"] {
        begin(&fixture, &scope, run, "", 2).await;
    }
    fixture.outbox.advance(10 * SECOND).await;
    begin(&fixture, &scope, "moves", "credit", 1).await;
    fixture.outbox.advance(SECOND).await;
    assert_eq!(names(&stuck(&fixture, RunKind::Saga, &scope, 5 * SECOND).await), ["stands"]);
    let all = stuck(&fixture, RunKind::Saga, &scope, Duration::ZERO).await;
    let quiet: Vec<_> = all.iter().map(|run| (run.key.run(), run.quiet_for, run.age)).collect();
    assert_eq!(quiet, [("moves", SECOND, 11 * SECOND), ("stands", 11 * SECOND, 11 * SECOND)]);
}

pub async fn a_run_that_has_ended_is_listed_only_if_all_are_asked_for(fixture: StepFixture) {
    let scope = scope("timer");
    for (run, state) in [("runs", 0), ("done", 1), ("late", 2), ("strange", 99)] {
        begin(&fixture, &scope, run, "", state).await;
    }
    let open = stuck(&fixture, RunKind::TimerEvent, &scope, Duration::ZERO).await;
    assert_eq!(states(&open), [("runs", "init"), ("strange", "unknown")]);
    let all = RunFilter { ends: RunEnds::All, ..filter(RunKind::TimerEvent, &scope, Duration::ZERO) };
    let all = listed(&fixture, &all).await;
    let known = [("done", "success"), ("late", "timeout"), ("runs", "init"), ("strange", "unknown")];
    assert_eq!(states(&all), known);
}

pub async fn a_branch_stands_for_itself_and_other_rows_for_their_run(fixture: StepFixture) {
    let (gid, saga) = (format!("order-{}", Uuid::now_v7()), scope("saga"));
    begin(&fixture, "tcc-global", &gid, "", 1).await;
    begin(&fixture, "tcc", &gid, "stock", 0).await;
    begin(&fixture, "tcc", &gid, "coupon", 1).await;
    begin(&fixture, "tcc", &gid, "points", 0).await;
    begin(&fixture, &saga, &gid, "", 1).await;
    begin(&fixture, &saga, &gid, "debit", 1).await;
    begin(&fixture, "mails", &gid, "", 0).await;
    let mut found = BTreeSet::new();
    for kind in RunKind::ALL {
        let all = listed(&fixture, &RunFilter::stuck(kind, Duration::ZERO)).await;
        let ours = all.into_iter().filter(|run| run.key.run() == gid);
        found.extend(
            ours.map(|run| (run.key.scope().to_owned(), run.key.step().to_owned(), run.standing.state)),
        );
    }
    let expected = [("tcc", "points", "tried"), ("tcc", "stock", "tried"), ("tcc-global", "", "confirming")];
    let expected = expected.into_iter().chain([(&*saga, "", "init")]);
    let expected = expected.map(|(scope, step, state)| (scope.to_owned(), step.to_owned(), state));
    assert_eq!(found, expected.collect());
}

pub async fn the_rows_of_a_run_are_listed_by_step_whatever_their_names_have(fixture: StepFixture) {
    let scope = scope("saga");
    let run = "<run>/\"'\n";
    for (step, state) in [("", 3), ("debit", 2), ("<b>\u{202e}step</b>", 3), ("credit", 77)] {
        begin(&fixture, &scope, run, step, state).await;
    }
    begin(&fixture, &scope, "other", "debit", 1).await;
    fixture.outbox.advance(SECOND).await;
    change(&fixture, &scope, run, 5).await;
    let steps = fixture.shown.steps(&scope, run, 100).await.expect("rows");
    let shown: Vec<_> =
        steps.iter().map(|it| (&*it.step, it.standing.state, it.version, it.age, it.quiet_for)).collect();
    let zero = Duration::ZERO;
    assert_eq!(
        shown,
        [
            ("", "fail", 2, SECOND, zero),
            ("<b>\u{202e}step</b>", "calling", 1, SECOND, SECOND),
            ("credit", "unknown", 1, SECOND, SECOND),
            ("debit", "rolled_back", 1, SECOND, SECOND),
        ]
    );
    assert_eq!(fixture.shown.steps(&scope, run, 2).await.expect("rows").len(), 2);
    assert_eq!(fixture.shown.steps(&scope, "unknown", 9).await.expect("rows"), []);
    assert_eq!(fixture.shown.steps("mails", run, 9).await.expect("rows"), []);
}

pub async fn a_timer_is_listed_once_with_its_newest_occurrence(fixture: StepFixture) {
    let queue = fixture.outbox.queue();
    let tick = |scheme: &str, occurrence: &str| Tick {
        scheme: scheme.parse().expect("a name"),
        occurrence: occurrence.parse().expect("a moment"),
    };
    let bill =
        ["2022-01-01T00:00:00Z", "2022-03-01T00:00:00Z", "2022-02-01T00:00:00Z"].map(|at| tick("bill", at));
    let others = [tick("bill-2", "2022-05-01T00:00:00Z"), tick("a", "2022-06-01T00:00:00.25Z")];
    let mut messages: Vec<_> =
        bill.iter().chain(&others).map(|tick| tick.message(queue).expect("a message")).collect();
    messages.push(bill[1].deadline_message(queue, SECOND).expect("a message"));
    messages.push(fixture.outbox.unique_message("timer/of another program"));
    messages.push(fixture.outbox.unique_message("timer"));
    fixture.outbox.store.enqueue(&messages).await;
    let (mut timers, mut place) = (Vec::new(), None);
    loop {
        let page = fixture.shown.timers(place, 1).await.expect("a page");
        assert!(page.timers.len() <= 1, "{page:?}");
        timers.extend(page.timers);
        place = page.next.map(|next| next.to_string().parse().expect("a place"));
        if place.is_none() {
            break;
        }
    }
    timers.retain(|timer| timer.queue == *queue);
    let expected = [&others[1], &others[0], &bill[1]].map(|tick| TimerListed::of(queue.clone(), tick));
    assert_eq!(timers, expected);
    let found = fixture.outbox.store.ports.find.find(&[timers[2].message]).await.expect("found");
    assert!(matches!(found[0].as_ref().expect("it waits").state, MessageState::Scheduled { .. }));
}

/// A scope of a kind of its own.
fn scope(kind: &str) -> String {
    format!("{kind}:{}", Uuid::now_v7().simple())
}

async fn begin(fixture: &StepFixture, scope: &str, run: &str, step: &str, state: u8) {
    let key = StepKey::new(scope, run, step).expect("a key");
    let result = StepResult::new(*b"not read in a list").expect("a result");
    let tx = fixture.store.begin().await.expect("begin");
    tx.begin_step(&NewStep::new(key, state).with_result(result)).await.expect("a step");
    tx.commit().await.expect("commit");
}

async fn change(fixture: &StepFixture, scope: &str, run: &str, state: u8) {
    let key = StepKey::new(scope, run, "").expect("a key");
    let tx = fixture.store.begin().await.expect("begin");
    let found: Step = tx.find_step(&key).await.expect("read").expect("a step");
    tx.advance_step(&key, &found, &StepChange::to(state)).await.expect("changed").expect("as it was");
    tx.commit().await.expect("commit");
}

fn filter(kind: RunKind, scope: &str, quiet_for: Duration) -> RunFilter {
    RunFilter { scope: Some(scope.into()), ..RunFilter::stuck(kind, quiet_for) }
}

async fn stuck(fixture: &StepFixture, kind: RunKind, scope: &str, quiet_for: Duration) -> Vec<RunListed> {
    listed(fixture, &filter(kind, scope, quiet_for)).await
}

/// All pages of a list.
async fn listed(fixture: &StepFixture, filter: &RunFilter) -> Vec<RunListed> {
    let (mut all, mut place) = (Vec::new(), None);
    loop {
        let RunPage { runs, next } = fixture.shown.runs(filter, place, 50).await.expect("a page");
        all.extend(runs);
        place = next;
        if place.is_none() {
            return all;
        }
    }
}

fn names(runs: &[RunListed]) -> Vec<String> {
    runs.iter().map(|run| run.key.run().to_owned()).collect()
}

fn states(runs: &[RunListed]) -> Vec<(&str, &str)> {
    runs.iter().map(|run| (run.key.run(), run.standing.state)).collect()
}
