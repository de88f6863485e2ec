use claimstream_domain::{
    Reason,
    saga::{SagaEntry, SagaNext, SagaState, SagaStepState, SagaView, Unbegun},
};
use claimstream_ports::StoreErrorKind;

use super::{
    SagaError, SagaHome, SagaOutcome, SagaRun, StepFailure,
    failure::Halt,
    parts::SagaParts,
    row::{Opened, SagaRow},
    tally::Counters,
};

/// One runner in one saga: what it knows of the rows, and the way to the end.
pub(super) struct Drive<'a, I, H: SagaHome> {
    parts: &'a SagaParts<I, H>,
    run: &'a SagaRun<I>,
    entry: SagaEntry,
    row: Option<SagaRow>,
    steps: Vec<Option<SagaStepState>>,
}

impl<'a, I: Send + Sync, H: SagaHome> Drive<'a, I, H> {
    /// Enters a saga whose row has been seen, or was not there.
    pub(super) fn enter(
        parts: &'a SagaParts<I, H>,
        run: &'a SagaRun<I>,
        entry: SagaEntry,
        row: Option<SagaRow>,
    ) -> Self {
        Self { parts, run, entry, row, steps: vec![None; parts.steps.len()] }
    }

    /// Takes one action after another until none is left, or until something is in the way.
    pub(super) async fn drive_on(mut self) -> Result<SagaOutcome, Halt> {
        self.look_for_a_beginning().await?;
        // Each turn takes a step, moves the row, or learns that another runner has.
        for _ in 0..8 + 4 * self.steps.len() {
            if let Some(outcome) = self.turn().await? {
                return Ok(outcome);
            }
        }
        Err(Halt::Transient(Reason::new("others are at it, and it keeps changing")))
    }

    /// Looks whether a saga was begun at all, if a check calls it off otherwise.
    async fn look_for_a_beginning(&mut self) -> Result<(), Halt> {
        let open = self.row.as_ref().is_some_and(|row| row.state == SagaState::Init);
        if open && self.entry == SagaEntry::Check && self.parts.config.unbegun == Unbegun::CallOff {
            self.steps[0] = self.parts.steps[0].look(self.run, &*self.parts.timer).await?;
        }
        Ok(())
    }

    /// Puts a saga off whose list lacks one of its steps, which would never be taken or never be undone: this process may be of an earlier
    /// version than the one that began the saga.
    fn check_list(&self) -> Result<(), Halt> {
        let Some(row) = self.row.as_ref().filter(|row| !row.state.is_over()) else { return Ok(()) };
        let details = row.details();
        let Some(name) = details.missing_in(self.parts.names()) else { return Ok(()) };
        Err(Halt::Transient(Reason::new(format_args!(
            "step {name} was in its list when it was begun, and is not where it was; run it with a list that has the step"
        ))))
    }

    async fn turn(&mut self) -> Result<Option<SagaOutcome>, Halt> {
        self.check_list()?;
        let view = SagaView { saga: self.row.as_ref().map(|row| row.state), steps: &self.steps };
        match self.parts.plan.next(self.entry, self.parts.config.unbegun, view) {
            SagaNext::Begin(state) => self.begin(state).await?,
            SagaNext::Forward(step) => self.forward(step).await?,
            SagaNext::Undo(step) => self.undo(step).await?,
            SagaNext::Move(_, SagaState::ToRollback) => self.call_off(&self.why_called_off()).await?,
            SagaNext::Move(_, to) => {
                if to.is_over() {
                    self.close(to).await?;
                }
                self.advance(to, None).await?;
            }
            SagaNext::Over => return Ok(Some(self.outcome())),
            SagaNext::TooLate => return Ok(Some(self.too_late())),
            SagaNext::Broken(fault) => return Err(Halt::Invariant(Reason::new(fault))),
        }
        Ok(None)
    }

    async fn begin(&mut self, state: SagaState) -> Result<(), Halt> {
        let opened = self.parts.open(self.run, state).await;
        if let Err(StepFailure::Store(error)) = &opened
            && error.kind() == StoreErrorKind::Conflict
        {
            return Err(Halt::Invariant(Reason::new(SagaError::Forgotten(self.run.id))));
        }
        self.row = match opened? {
            Opened::New(row) | Opened::Found(row) => Some(row),
            Opened::Taken => {
                return Err(Halt::Invariant(Reason::new("its id belongs to a saga about something else")));
            }
        };
        Ok(())
    }

    async fn forward(&mut self, step: usize) -> Result<(), Halt> {
        let name = self.parts.steps[step].name();
        match self.parts.steps[step].forward(self.run, &*self.parts.timer).await.map_err(Halt::from) {
            Ok(state) => {
                if state == SagaStepState::RolledBack {
                    Counters::count(&self.parts.counters.refused);
                    tracing::warn!(saga = %self.run.row, step = name, "saga.step.refused");
                }
                self.steps[step] = Some(state);
                Ok(())
            }
            Err(Halt::Business(why)) if self.parts.plan.is_reversible(step) => self.call_off(&why).await,
            Err(Halt::Business(why)) => Err(Halt::Invariant(Reason::new(format_args!(
                "step {name} stands behind the pivot and cannot be taken: {why}"
            )))),
            Err(halt) => Err(halt),
        }
    }

    async fn undo(&mut self, step: usize) -> Result<(), Halt> {
        let name = self.parts.steps[step].name();
        match self.parts.steps[step].undo(self.run, &*self.parts.timer).await.map_err(Halt::from) {
            Ok(state) => {
                self.steps[step] = Some(state);
                Ok(())
            }
            Err(Halt::Business(why)) => {
                Err(Halt::Invariant(Reason::new(format_args!("step {name} cannot be undone: {why}"))))
            }
            Err(halt) => Err(halt),
        }
    }

    /// Notes the end wherever steps were taken, before it is the end: a runner that finds the saga over has nothing left to do.
    async fn close(&self, end: SagaState) -> Result<(), Halt> {
        for step in &self.parts.steps {
            step.close(self.run, end, &*self.parts.timer).await.map_err(Halt::from)?;
        }
        Ok(())
    }

    async fn call_off(&mut self, why: &Reason) -> Result<(), Halt> {
        tracing::info!(saga = %self.run.row, %why, "saga.called_off");
        self.advance(SagaState::ToRollback, Some(why)).await
    }

    /// Moves the row, or learns where another runner has moved it.
    async fn advance(&mut self, to: SagaState, reason: Option<&Reason>) -> Result<(), Halt> {
        let Some(row) = &self.row else { return Ok(()) };
        let moved = self.parts.advance(self.run, row, to, reason).await;
        self.row = match moved.map_err(Halt::from) {
            Ok(Some(row)) => {
                self.parts.counters.moved(to);
                Some(row)
            }
            Ok(None) => self.parts.find(self.run).await?,
            Err(Halt::Business(why)) => {
                return Err(Halt::Invariant(Reason::new(format_args!("calling off was refused: {why}"))));
            }
            Err(halt) => return Err(halt),
        };
        Ok(())
    }

    fn why_called_off(&self) -> Reason {
        let refused = self.steps.iter().position(|state| *state == Some(SagaStepState::RolledBack));
        match (self.entry, refused) {
            (SagaEntry::RollBack, _) => Reason::new("called off by order"),
            (_, Some(step)) => {
                Reason::new(format_args!("step {} was refused", self.parts.steps[step].name()))
            }
            (_, None) => Reason::new("no step was taken in time"),
        }
    }

    fn outcome(&self) -> SagaOutcome {
        match &self.row {
            Some(row) if row.state == SagaState::Fail => SagaOutcome::Fail { reason: row.reason() },
            _ => SagaOutcome::Finish,
        }
    }

    fn too_late(&self) -> SagaOutcome {
        let state = self.row.as_ref().map_or(SagaState::Finish, |row| row.state);
        tracing::warn!(saga = %self.run.row, %state, "saga.order.too_late");
        SagaOutcome::TooLate { state }
    }
}
