use std::{panic::AssertUnwindSafe, sync::Arc};

use claimstream_ports::StoreError;
use claimstream_sea_orm::Strategy;
use futures::{FutureExt, future::BoxFuture};
use libtest_mimic::Failed;

use super::{
    Case, RUNTIME, STUCK, Suite,
    panics::{failed, remember_panics},
};
use crate::backend::{Backend, SeaOrmBackend};

impl Suite {
    /// Adds those of these cases that need no more than the backend has, and notes which were left out and for which need. A fixture is
    /// opened over a wire if its case asks for one.
    pub fn add_cases<B, F>(
        &mut self,
        backend: &Arc<B>,
        cases: impl Iterator<Item = &'static Case<F>>,
        open: fn(Arc<B>, bool) -> BoxFuture<'static, Result<F, StoreError>>,
    ) where
        B: Backend + 'static,
        F: Send + 'static,
    {
        let place = (backend.name(), backend.strategy());
        for case in cases {
            if let Some(need) = case.lacks(backend.has()) {
                self.coverage.note_left_out(place, backend.has(), need, (case.topic, case.name));
                continue;
            }
            self.coverage.note_run(place, backend.has(), (case.topic, case.name));
            let (backend, report) = (backend.clone(), self.report.clone());
            let name = format!("{}::{}::{}::{}", backend.name(), backend.strategy(), case.topic, case.name);
            report.offer(backend.name(), backend.strategy());
            self.push(name, move || {
                let ran = run(open(backend.clone(), case.is_wired), case);
                report.note(backend.name(), backend.strategy(), ran.is_ok());
                ran
            });
        }
    }

    /// Adds a backend that must refuse to be opened, with a sentence that names a strategy that works.
    pub fn add_refusal(&mut self, backend: Arc<dyn Backend>, works: &'static [Strategy]) {
        let name = format!("{}::{}::is_refused_at_open", backend.name(), backend.strategy());
        let report = self.report.clone();
        self.push(name, move || {
            let Err(error) = RUNTIME.block_on(backend.fixture()) else {
                return Err("it was opened".into());
            };
            let sentence = error.to_string();
            report.refused(backend.name(), backend.strategy(), &sentence);
            match works.iter().any(|strategy| sentence.contains(strategy.name())) {
                true => Ok(()),
                false => Err(format!("it names none of {works:?}: {sentence}").into()),
            }
        });
    }

    /// Adds that `auto` is a strategy whose clauses are all run by its own name, so that they need not be run again.
    pub fn add_choice(&mut self, backend: Arc<SeaOrmBackend>, strategy: Strategy) {
        let name = format!(
            "{}::{}::opening::it_is_a_strategy_that_is_played_by_name",
            backend.name(),
            backend.strategy()
        );
        let report = self.report.clone();
        report.offer(backend.name(), backend.strategy());
        self.push(name, move || {
            let ran = match RUNTIME.block_on(chosen(&backend)) {
                Ok(chosen) if chosen == strategy => Ok(()),
                Ok(chosen) => Err(Failed::from(format!("it is {chosen}, and not {strategy}"))),
                Err(error) => Err(Failed::from(error.to_string())),
            };
            report.note(backend.name(), backend.strategy(), ran.is_ok());
            ran
        });
    }
}

async fn chosen(backend: &SeaOrmBackend) -> Result<Strategy, StoreError> {
    let url = backend.shared_database().await?;
    Ok(backend.open(&url, None).await?.strategy())
}

fn run<S: Send + 'static>(
    fixture: BoxFuture<'static, Result<S, StoreError>>,
    case: &Case<S>,
) -> Result<(), Failed> {
    remember_panics();
    RUNTIME.block_on(async {
        let fixture = fixture.await.map_err(|e| Failed::from(format!("no fixture could be set up: {e}")))?;
        let ran = AssertUnwindSafe((case.run)(fixture)).catch_unwind();
        match tokio::time::timeout(STUCK, ran).await {
            Ok(ran) => ran.map_err(failed),
            Err(_) => Err(format!("stuck for {STUCK:?}").into()),
        }
    })
}
