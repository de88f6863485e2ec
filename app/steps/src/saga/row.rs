use super::{SagaHome, SagaRun, StepFailure, parts::SagaParts};
use crate::effect::{StepWrite, effect, whole};
use claimstream::{in_transaction, work};
use claimstream_domain::{
    NewMessage, Reason,
    saga::{NewSaga, SagaDetails, SagaOrder, SagaOrderKind, SagaState},
    step::{Begun, NewStep, Repeat, Step, StepChange, StepKey, repeat},
};

/// The saga's own row, as it was seen.
#[derive(Clone, Debug)]
pub(super) struct SagaRow {
    pub(super) step: Step,
    pub(super) state: SagaState,
}

/// How beginning a saga ended.
#[derive(Debug)]
pub(super) enum Opened {
    New(SagaRow),
    Found(SagaRow),
    /// There is one with this id that is about something else.
    Taken,
}

impl SagaRow {
    pub(super) fn of(key: &StepKey, step: Step) -> Result<Self, StepFailure> {
        whole(key, &step)?;
        match SagaState::of_code(step.state) {
            Some(state) => Ok(Self { step, state }),
            None => {
                let code = step.state;
                Err(StepFailure::invariant(format_args!("the saga's row is in state {code}, which is none")))
            }
        }
    }

    /// Why it was called off, if it was.
    pub(super) fn reason(&self) -> Reason {
        self.details().reason().unwrap_or_else(|| Reason::new("called off"))
    }

    pub(super) fn details(&self) -> SagaDetails {
        SagaDetails::read(self.step.result.as_ref())
    }
}

impl<I: Send + Sync, H: SagaHome> SagaParts<I, H> {
    /// Writes the saga's first row, with its note and its check message, unless there is one.
    pub(super) async fn open(&self, run: &SagaRun<I>, state: SagaState) -> Result<Opened, StepFailure> {
        let check = self.message(run, SagaOrderKind::Check)?.deliver_after(self.config.check_after);
        let written = StepWrite::of(&run.row);
        effect(&self.home, &*self.timer, &written, |tx| {
            work(async { self.open_in(tx, run, state, &check, &written).await })
        })
        .await
    }

    pub(super) async fn open_in(
        &self,
        tx: &H::Tx,
        run: &SagaRun<I>,
        state: SagaState,
        message: &NewMessage,
        written: &StepWrite,
    ) -> Result<Opened, StepFailure> {
        let details = SagaDetails::of_steps(self.names()).result().map_err(StepFailure::invariant)?;
        let asked =
            NewStep::new(run.row.clone(), state.code()).asked_with(run.fingerprint()).with_result(details);
        let step = match written.begin(&self.home, tx, &asked).await? {
            Begun::New(step) => step,
            Begun::Found(step) if repeat(asked.fingerprint.as_ref(), &step) == Repeat::Conflict => {
                return Ok(Opened::Taken);
            }
            Begun::Found(step) => return Ok(Opened::Found(SagaRow::of(&run.row, step)?)),
        };
        let row = SagaRow { step, state };
        self.home.note(tx, &note(run)).await?;
        self.home.enqueue(tx, std::slice::from_ref(message)).await?;
        if state == SagaState::ToRollback {
            self.tell(tx, run, &row.reason()).await?;
        }
        Ok(Opened::New(row))
    }

    /// Moves the saga's row if it is still as it was seen; calling off also orders the way back and notifies of it.
    pub(super) async fn advance(
        &self,
        run: &SagaRun<I>,
        row: &SagaRow,
        to: SagaState,
        reason: Option<&Reason>,
    ) -> Result<Option<SagaRow>, StepFailure> {
        let order = self.message(run, SagaOrderKind::RollBack)?;
        let mut change = StepChange::to(to.code());
        if let Some(reason) = reason {
            let details = row.details().called_off(reason);
            change = change.with_result(details.result().map_err(StepFailure::invariant)?);
        }
        let written = StepWrite::of(&run.row);
        effect(&self.home, &*self.timer, &written, |tx| {
            work(async {
                let moved = self.home.advance(tx, &run.row, &row.step, &change).await?;
                let Some(step) = moved else { return Ok(None) };
                written.note(&step);
                let row = SagaRow { step, state: to };
                if to == SagaState::ToRollback {
                    self.home.enqueue(tx, std::slice::from_ref(&order)).await?;
                    self.tell(tx, run, &row.reason()).await?;
                }
                Ok(Some(row))
            })
        })
        .await
    }

    /// The saga's row as it stands.
    pub(super) async fn find(&self, run: &SagaRun<I>) -> Result<Option<SagaRow>, StepFailure> {
        let home = &self.home;
        let found: Result<Option<Step>, StepFailure> =
            in_transaction(home, &*self.timer, |tx| work(async { Ok(home.find(tx, &run.row).await?) })).await;
        found?.map(|step| SagaRow::of(&run.row, step)).transpose()
    }

    /// The names of its steps, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name())
    }

    async fn tell(&self, tx: &H::Tx, run: &SagaRun<I>, reason: &Reason) -> Result<(), StepFailure> {
        match &self.called_off {
            Some(called_off) => called_off(tx, run, reason).await,
            None => Ok(()),
        }
    }

    pub(super) fn message(&self, run: &SagaRun<I>, order: SagaOrderKind) -> Result<NewMessage, StepFailure> {
        let input = serde_json::from_str(&run.json).map_err(StepFailure::invariant)?;
        let order = SagaOrder { order, saga: run.id, owner: run.owner.to_string(), input };
        order.message(self.queue.clone()).map_err(StepFailure::invariant)
    }
}

fn note<I>(run: &SagaRun<I>) -> NewSaga {
    NewSaga { scope: run.row.scope().into(), id: run.id, owner: run.owner.clone(), input: run.json.clone() }
}
