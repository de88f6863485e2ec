use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use claimstream_domain::step::{Begun, NewStep, StepChange, StepKey};
use claimstream_ports::{
    StoreError, StoreErrorKind, Transactions,
    step::{LockWait, StepLedger},
};
use futures::future::join_all;
use uuid::Uuid;

use super::Setup;
use crate::{Suite, backend::SeaOrmBackend, repetitions};

const SESSIONS: u8 = 16;

/// Adds what many sessions do in the ledger at a time.
pub(super) fn add_to(
    suite: &mut Suite,
    name: &'static str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    for (what, ending) in [
        // Guard: beginning locks the row that it finds for writing at once |
        // adapters/sea-orm/src/sql/steps/begin.sql: `INSERT IGNORE` instead
        ("many_sessions_begin_the_same_and_other_steps_without_a_deadlock", Ending::Commit),
        ("many_sessions_find_change_and_lock_the_same_step_without_a_deadlock", Ending::Change),
        ("many_sessions_begin_the_same_step_while_every_first_one_rolls_back", Ending::RollBackFirst),
    ] {
        let backend = backend.clone();
        suite.add_async_test(&format!("{name}::inbox::{what}"), async move {
            let backend = backend();
            let setup = Setup::of(&backend).await;
            let rounds = repetitions(40);
            let restarts = contend(&setup, ending, rounds).await;
            println!(
                "ledger: {name}: {what}: {restarts} restarts in {} transactions",
                u32::from(SESSIONS) * rounds
            );
            assert!(ending == Ending::RollBackFirst || restarts == 0, "{restarts} restarts");
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Commit,
    Change,
    RollBackFirst,
}

/// Sessions that begin one step, and one of their own, at the same moment, round after round; answers how often
/// one had to be restarted.
async fn contend(setup: &Setup, ending: Ending, rounds: u32) -> u32 {
    let restarts = Arc::new(AtomicU32::new(0));
    let start = Arc::new(tokio::sync::Barrier::new(usize::from(SESSIONS)));
    let base = Uuid::now_v7();
    let sessions = (0..SESSIONS).map(|session| {
        let (outbox, start, restarts) = (setup.outbox.clone(), start.clone(), restarts.clone());
        tokio::spawn(async move {
            let mut news = 0;
            for round in 0..rounds {
                let shared = key(&format!("{base}-{round:03}"), "shared");
                let own = key(&format!("{base}-{round:03}"), &format!("t{session:02}"));
                start.wait().await;
                news += loop {
                    match transact(&*outbox, &shared, &own, ending, session == 0).await {
                        Ok(new) => break u32::from(new),
                        Err(error) => {
                            assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
                            restarts.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                };
            }
            news
        })
    });
    let news: u32 = join_all(sessions).await.into_iter().map(|news| news.expect("a session")).sum();
    assert_eq!(news, rounds, "one begins each step, and only one");
    restarts.load(Ordering::SeqCst)
}

async fn transact<S: Transactions + StepLedger<<S as Transactions>::Tx>>(
    store: &S,
    shared: &StepKey,
    own: &StepKey,
    ending: Ending,
    first: bool,
) -> Result<bool, StoreError> {
    let tx = store.begin_tx().await?;
    let begun = store.begin(&tx, &NewStep::new(shared.clone(), 1)).await?;
    store.begin(&tx, &NewStep::new(own.clone(), 1)).await?;
    match (ending, &begun) {
        (Ending::RollBackFirst, _) if first => {
            store.roll_back_tx(tx).await?;
            return Ok(false);
        }
        (Ending::Change, Begun::New(step) | Begun::Found(step)) => {
            store.lock(&tx, shared, LockWait::Wait).await?;
            let state = step.state.wrapping_add(1);
            assert!(store.advance(&tx, shared, step, &StepChange::to(state)).await?.is_some());
        }
        _ => {}
    }
    store.commit_tx(tx).await?;
    Ok(matches!(begun, Begun::New(_)))
}

fn key(run: &str, step: &str) -> StepKey {
    StepKey::new("inbox:contention", run, step).expect("a key")
}
