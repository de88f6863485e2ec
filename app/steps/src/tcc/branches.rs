use std::{fmt, future::Future, sync::Arc};

use claimstream_domain::{
    Fingerprint, Invalid,
    step::{Begun, NewStep, Repeat, Step, StepChange, StepKey, StepResult, repeat},
    tcc::{BranchCall, BranchMove, BranchName, BranchRefusal, BranchState, GlobalId, Operation},
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    step::{LockWait, Locked, StepLedger},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::TccError;
use crate::effect::{StepWrite, whole};

/// Carries out Try, Confirm and Cancel of branches, each in the caller's transaction together with its effect.
///
/// The effect is run only if the branch moves: once for each operation, whatever comes twice, late or out of order. It is
/// what the closure does with the transaction, and nothing else is protected. After an error the transaction is to be
/// rolled back; [`in_transaction`](claimstream::in_transaction) does so, and restarts it after a deadlock or a
/// [`Conflict`](TccError::Conflict).
///
/// ```
/// use std::sync::Arc;
///
/// use claimstream_steps::tcc::{BranchName, GlobalId, Tcc, TccError};
/// # use claimstream::StoreError;
/// # use claimstream_memory::{MemoryStore, MemoryTransaction};
/// # async fn reserve(_: &MemoryTransaction, _: u32) -> Result<(), StoreError> { Ok(()) }
/// # async fn release(_: &MemoryTransaction, _: u32) -> Result<(), StoreError> { Ok(()) }
/// # futures::executor::block_on(async {
/// # let store = Arc::new(MemoryStore::new());
/// let tcc = Tcc::new(store.clone());
/// let (gid, stock) = (GlobalId::new("order-7")?, BranchName::new("stock")?);
///
/// let tx = store.begin();
/// tcc.cancel(&tx, &gid, &stock, |tx| release(tx, 3)).await?; // overtook its Try: releases nothing
/// tx.commit();
///
/// let tx = store.begin();
/// let late = tcc.try_(&tx, &gid, &stock, |tx| reserve(tx, 3)).await;
/// assert!(matches!(late, Err(TccError::Refused(_)))); // and never reserves
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tcc<Tx> {
    ledger: Arc<dyn StepLedger<Tx>>,
}

/// What a branch is called for, and what the transaction of the call writes of it.
pub(super) struct BranchWrite {
    pub(super) written: StepWrite,
    /// Of the payload, where the caller has one.
    fingerprint: Option<Fingerprint>,
}

impl BranchWrite {
    fn of(gid: &GlobalId, branch: &BranchName) -> Result<Self, StoreError> {
        Ok(Self { written: StepWrite::of(&key(gid, branch)?), fingerprint: None })
    }

    /// A call with its payload, which is the same for every operation of a branch.
    pub(super) fn by(call: &BranchCall) -> Result<Self, StoreError> {
        let of_branch = Self::of(&call.key.gid, &call.key.branch)?;
        Ok(Self { fingerprint: Some(Fingerprint::of_json(&lasting(&call.payload))), ..of_branch })
    }
}

/// A payload as it is once it has been written and read: a float may change by its last digit until then, so a call that comes by a
/// message would have another payload than the first.
fn lasting(payload: &Value) -> Value {
    const MOST: usize = 8;
    let mut lasting = payload.clone();
    for _ in 0..MOST {
        match serde_json::from_str::<Value>(&lasting.to_string()) {
            Ok(read) if read != lasting => lasting = read,
            _ => break,
        }
    }
    lasting
}

/// A branch as an operation found it, and what the table says.
struct Ruling {
    key: StepKey,
    step: Step,
    verdict: BranchMove,
}

impl<Tx: Send + Sync + 'static> Tcc<Tx> {
    /// Branches that are remembered in `ledger`, the one of the database in which the effects are.
    pub fn new(ledger: Arc<dyn StepLedger<Tx>>) -> Self {
        Self { ledger }
    }

    /// Reserves, and answers what `reserve` answered, also when the call comes again.
    ///
    /// After a Cancel it is refused as [`LateTry`](BranchRefusal::LateTry). What `reserve` answers is stored as JSON unless
    /// it is `()`.
    pub async fn try_<'a, T, E, F, V>(
        &self,
        tx: &'a Tx,
        gid: &GlobalId,
        branch: &BranchName,
        reserve: F,
    ) -> Result<T, TccError<E>>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&'a Tx) -> V,
        V: Future<Output = Result<T, E>>,
    {
        self.try_asked(tx, &BranchWrite::of(gid, branch)?, reserve).await
    }

    /// The same, as it was asked for.
    pub(super) async fn try_asked<'a, T, E, F, V>(
        &self,
        tx: &'a Tx,
        asked: &BranchWrite,
        reserve: F,
    ) -> Result<T, TccError<E>>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&'a Tx) -> V,
        V: Future<Output = Result<T, E>>,
    {
        let ruling = self.rule(tx, asked, Operation::Try).await?;
        if !ruling.verdict.has_effect() {
            return Ok(answer_of(&ruling.step)?);
        }
        let answer = reserve(tx).await.map_err(TccError::Effect)?;
        if let Some(result) = result_of(&answer)? {
            let change = StepChange::to(ruling.step.state).with_result(result);
            self.advance(tx, asked, &ruling, &change, Operation::Try).await?;
        }
        Ok(answer)
    }

    /// Uses the reservation, and says whether this call did so.
    ///
    /// It is refused, and leaves no trace, if the branch was never tried or has been cancelled.
    pub async fn confirm<'a, E, F, V>(
        &self,
        tx: &'a Tx,
        gid: &GlobalId,
        branch: &BranchName,
        effect: F,
    ) -> Result<BranchMove, TccError<E>>
    where
        F: FnOnce(&'a Tx) -> V,
        V: Future<Output = Result<(), E>>,
    {
        self.end(tx, &BranchWrite::of(gid, branch)?, Operation::Confirm, effect).await
    }

    /// Gives the reservation back, and says whether this call did so.
    ///
    /// If the branch was never tried, nothing is given back, and a marker refuses the Try that comes late. It is refused
    /// if the branch has been confirmed.
    pub async fn cancel<'a, E, F, V>(
        &self,
        tx: &'a Tx,
        gid: &GlobalId,
        branch: &BranchName,
        release: F,
    ) -> Result<BranchMove, TccError<E>>
    where
        F: FnOnce(&'a Tx) -> V,
        V: Future<Output = Result<(), E>>,
    {
        self.end(tx, &BranchWrite::of(gid, branch)?, Operation::Cancel, release).await
    }

    /// Where a branch stands as `tx` sees it, without a lock; `None` if no call of it has come.
    pub async fn state(
        &self,
        tx: &Tx,
        gid: &GlobalId,
        branch: &BranchName,
    ) -> Result<Option<BranchState>, StoreError> {
        let step = self.ledger.find(tx, &key(gid, branch)?).await?;
        step.as_ref().map(state_of).transpose()
    }

    /// Confirms or cancels a branch, as it was asked for.
    pub(super) async fn end<'a, E, F, V>(
        &self,
        tx: &'a Tx,
        asked: &BranchWrite,
        operation: Operation,
        effect: F,
    ) -> Result<BranchMove, TccError<E>>
    where
        F: FnOnce(&'a Tx) -> V,
        V: Future<Output = Result<(), E>>,
    {
        let ruling = self.rule(tx, asked, operation).await?;
        if let BranchMove::Move(state) = ruling.verdict {
            self.advance(tx, asked, &ruling, &StepChange::to(state.code()), operation).await?;
            effect(tx).await.map_err(TccError::Effect)?;
        }
        Ok(ruling.verdict)
    }

    /// Asks the table. Where the operation may be the first of a branch, the insert decides whether it is: a
    /// read before it would find nothing on both sides of a race.
    async fn rule<E>(
        &self,
        tx: &Tx,
        asked: &BranchWrite,
        operation: Operation,
    ) -> Result<Ruling, TccError<E>> {
        let key = asked.written.key().clone();
        let step = match BranchState::after(None, operation) {
            Ok(BranchMove::Insert(state)) => {
                let new =
                    NewStep { fingerprint: asked.fingerprint, ..NewStep::new(key.clone(), state.code()) };
                match asked.written.begin(&*self.ledger, tx, &new).await? {
                    Begun::New(step) => return Ok(Ruling { key, step, verdict: BranchMove::Insert(state) }),
                    Begun::Found(step) => step,
                }
            }
            first => match self.ledger.lock(tx, &key, LockWait::Wait).await? {
                Locked::Held(step) => step,
                Locked::Absent => return Err(first.err().unwrap_or(BranchRefusal::NotTried).into()),
                Locked::Busy => return Err(TccError::conflict(operation.name())),
            },
        };
        whole(&key, &step)?;
        if repeat(asked.fingerprint.as_ref(), &step) == Repeat::Conflict {
            return Err(BranchRefusal::OtherPayload.into());
        }
        let verdict = BranchState::after(Some(state_of(&step)?), operation)?;
        Ok(Ruling { key, step, verdict })
    }

    async fn advance<E>(
        &self,
        tx: &Tx,
        asked: &BranchWrite,
        ruling: &Ruling,
        change: &StepChange,
        operation: Operation,
    ) -> Result<(), TccError<E>> {
        match self.ledger.advance(tx, &ruling.key, &ruling.step, change).await? {
            Some(step) => {
                asked.written.note(&step);
                Ok(())
            }
            None => Err(TccError::conflict(operation.name())),
        }
    }
}

impl<Tx> Clone for Tcc<Tx> {
    fn clone(&self) -> Self {
        Self { ledger: Arc::clone(&self.ledger) }
    }
}

impl<Tx> fmt::Debug for Tcc<Tx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tcc")
    }
}

/// Under which scope branches stand in the ledger; part of the stored format.
pub(super) const SCOPE: &str = "tcc";

fn key(gid: &GlobalId, branch: &BranchName) -> Result<StepKey, StoreError> {
    StepKey::new(SCOPE, gid.as_str(), branch.as_str()).map_err(corrupt)
}

fn state_of(step: &Step) -> Result<BranchState, StoreError> {
    let unknown =
        || corrupt(Invalid::Malformed { what: "branch state", why: format!("it is {}", step.state) });
    BranchState::from_code(step.state).ok_or_else(unknown)
}

/// What `()` and the like come to, which is not worth a write.
const NOTHING: &[u8] = b"null";

fn result_of(answer: &impl Serialize) -> Result<Option<StepResult>, StoreError> {
    let json = serde_json::to_vec(answer).map_err(corrupt)?;
    if json == NOTHING {
        return Ok(None);
    }
    StepResult::new(json).map(Some).map_err(corrupt)
}

fn answer_of<T: DeserializeOwned>(step: &Step) -> Result<T, StoreError> {
    let json = step.result.as_ref().map_or(NOTHING, StepResult::as_bytes);
    serde_json::from_slice(json).map_err(corrupt)
}

fn corrupt(source: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "branch", source)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a payload is compared as it comes out of a message | app/steps/src/tcc/branches.rs `lasting`: the payload as it is
    #[test]
    fn a_payload_that_comes_by_a_message_is_the_one_that_was_sent() {
        for n in 1..4_000 {
            let given = serde_json::json!({"amount": f64::from(n) * 0.07});
            let carried: Value = serde_json::from_str(&given.to_string()).expect("JSON");
            assert_eq!(
                Fingerprint::of_json(&lasting(&given)),
                Fingerprint::of_json(&lasting(&carried)),
                "{given}"
            );
        }
    }
}
