use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream::{PipelineMonitor, PipelineState};
use claimstream_domain::MessageId;
use claimstream_http::Readiness;
use claimstream_ports::{ReadMessages, Timer, within};
use claimstream_tokio::TokioTimer;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::stopping::Stopping;

/// Whether a process that delivers is ready: its database answers, its pipelines work, and it does not stop.
pub(crate) struct ProcessReadiness {
    pub(crate) messages: Arc<dyn ReadMessages>,
    /// Each pipeline of the process, with the name of its queue.
    pub(crate) pipelines: Vec<(String, PipelineMonitor)>,
    /// For how long a pipeline may stay unpolled.
    pub(crate) silence: Duration,
    pub(crate) stopping: Stopping,
    pub(crate) timer: TokioTimer,
    /// By the timer.
    pub(crate) looked: Mutex<Option<(Duration, bool)>>,
}

impl ProcessReadiness {
    /// How long an answer about the database stands, so that callers cannot have it asked often.
    const LOOK: Duration = Duration::from_secs(1);
    /// How long the database may take.
    const TIMEOUT: Duration = Duration::from_secs(3);

    /// Each pipeline's queue, with the sentence that says what is wrong with it, if anything is.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        self.pipelines.iter().map(|(queue, monitor)| {
            let silent = monitor.silent_for().unwrap_or_default();
            (queue.as_str(), fault(&monitor.state(), silent, self.silence))
        })
    }

    async fn database_answers(&self) -> bool {
        let mut looked = self.looked.lock().await;
        let now = self.timer.now();
        if let Some((_, answers)) = looked.filter(|(at, _)| now - *at < Self::LOOK) {
            return answers;
        }
        let answer =
            within(&self.timer, Self::TIMEOUT, self.messages.kept(MessageId::new(Uuid::nil()))).await;
        let answers = matches!(answer, Some(Ok(_)));
        *looked = Some((self.timer.now(), answers));
        answers
    }
}

#[async_trait]
impl Readiness for ProcessReadiness {
    async fn failing(&self) -> Vec<String> {
        let mut failing = Vec::new();
        if self.stopping.has_begun() {
            failing.push("the process stops".into());
        }
        if !self.database_answers().await {
            failing.push("the database does not answer".into());
        }
        let faults = self.faults().filter_map(|(queue, fault)| Some(format!("{queue}: {}", fault?)));
        failing.extend(faults);
        failing
    }
}

/// For how long the calls of a pipeline may fail until it is no longer ready: shorter troubles pass.
const TROUBLE: Duration = Duration::from_secs(10);

/// What is wrong with a pipeline that was not polled for `silent`, if anything is.
pub(crate) fn fault(state: &PipelineState, silent: Duration, most: Duration) -> Option<String> {
    match state {
        PipelineState::Failing { failures, since, error } if *since >= TROUBLE => {
            let seconds = since.as_secs();
            Some(format!(
                "{failures} calls in a row have failed within {seconds} s, the newest with: {error}"
            ))
        }
        PipelineState::Ended => Some("the pipeline has ended".into()),
        _ if silent > most => Some(format!("the pipeline has not moved for {} s", silent.as_secs())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use claimstream::{Operation, QueueName, RelayError, StoreError, StoreErrorKind};

    use super::*;

    const MOST: Duration = Duration::from_secs(30);

    fn failing(since: u64) -> PipelineState {
        let error = RelayError::Store {
            operation: Operation::Claim,
            queue: QueueName::new("orders").unwrap(),
            source: Arc::new(StoreError::new(StoreErrorKind::Unavailable, "claim", "gone")),
        };
        PipelineState::Failing { failures: 4, since: Duration::from_secs(since), error }
    }

    #[test]
    fn a_pipeline_is_at_fault_once_it_fails_for_long_has_ended_or_stands_still() {
        let quiet = Duration::from_secs(5);
        assert_eq!(fault(&PipelineState::Running, quiet, MOST), None);
        assert_eq!(fault(&PipelineState::NotStarted, quiet, MOST), None);
        assert_eq!(fault(&failing(9), quiet, MOST), None);
        let why = fault(&failing(10), quiet, MOST).unwrap();
        assert!(why.starts_with("4 calls in a row have failed within 10 s") && why.contains("gone"), "{why}");
        assert_eq!(fault(&PipelineState::Ended, quiet, MOST).unwrap(), "the pipeline has ended");
        let still = fault(&PipelineState::Running, Duration::from_secs(31), MOST).unwrap();
        assert_eq!(still, "the pipeline has not moved for 31 s");
    }
}
