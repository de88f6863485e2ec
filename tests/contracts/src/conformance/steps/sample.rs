use std::sync::Arc;

use claimstream_domain::step::{Begun, NewStep, Step, StepChange, StepKey, StepResult};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked},
};
use uuid::Uuid;

use crate::{Begin, StepTransaction};

pub(super) type Side = Arc<dyn Begin<dyn StepTransaction>>;

pub(super) fn key() -> StepKey {
    StepKey::new("transfer", &run(), "debit").expect("a key")
}

pub(super) fn run() -> String {
    Uuid::now_v7().to_string()
}

pub(super) fn step(key: &StepKey, state: u8) -> NewStep {
    NewStep::new(key.clone(), state)
}

pub(super) fn result(bytes: &[u8]) -> StepResult {
    StepResult::new(bytes).expect("a result")
}

pub(super) fn new(begun: Begun) -> Step {
    match begun {
        Begun::New(step) => step,
        Begun::Found(step) => panic!("{step:?} was there already"),
    }
}

pub(super) fn found(begun: Begun) -> Step {
    match begun {
        Begun::Found(step) => step,
        Begun::New(step) => panic!("{step:?} is new"),
    }
}

pub(super) async fn begin(side: &Side, step: &NewStep) -> Result<Begun, StoreError> {
    let tx = side.begin().await?;
    let begun = tx.begin_step(step).await?;
    tx.commit().await?;
    Ok(begun)
}

pub(super) async fn advance(
    side: &Side,
    key: &StepKey,
    from: &Step,
    change: &StepChange,
) -> Result<Option<Step>, StoreError> {
    let tx = side.begin().await?;
    let changed = tx.advance_step(key, from, change).await?;
    tx.commit().await?;
    Ok(changed)
}

pub(super) async fn find(side: &Side, key: &StepKey) -> Option<Step> {
    let tx = side.begin().await.expect("begin");
    let found = tx.find_step(key).await.expect("find");
    tx.roll_back().await.expect("roll back");
    found
}

pub(super) async fn lock(side: &Side, key: &StepKey, wait: LockWait) -> Locked {
    let tx = side.begin().await.expect("begin");
    let locked = tx.lock_step(key, wait).await.expect("lock");
    tx.roll_back().await.expect("roll back");
    locked
}
