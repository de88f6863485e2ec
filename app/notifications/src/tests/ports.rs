use std::sync::Arc;

use claimstream_domain::{
    NewMessage, Reason, Verdict,
    notification::{
        DeliveryStatus, FanOut, FanOutEnd, NotificationMessage, NotificationRequest, RequestStatus,
    },
};
use claimstream_ports::{
    Handler, StoreError,
    mock::{MockMessageRepository, MockRecipientDirectory, MockRequestRepository, MockTemplateSource},
    notification::{FanOutStep, RequestRead, SegmentPage, StepNoted},
};

use super::{
    super::{MESSAGE_QUEUE, RequestConfig, RequestHandler},
    finish,
    fixture::{REQUEST, claimed_step, reachable},
};

/// What a request handler works on, mocked.
pub(super) struct Ports {
    pub(super) requests: MockRequestRepository,
    pub(super) messages: MockMessageRepository,
    pub(super) directory: MockRecipientDirectory,
    pub(super) templates: MockTemplateSource,
    pub(super) config: RequestConfig,
}

impl Ports {
    /// A request that stands at `status`, and a directory that knows the users `a` and `b` and every direct recipient.
    pub(super) fn with(request: NotificationRequest, status: RequestStatus) -> Self {
        let mut requests = MockRequestRepository::new();
        requests
            .expect_read()
            .withf(|ids| ids == [REQUEST])
            .returning(move |_| Ok(vec![Some(RequestRead { request: request.clone(), status })]));
        let mut directory = MockRecipientDirectory::new();
        let known = |id: &String| (id == "a" || id == "b").then(|| reachable(id));
        directory.expect_users().returning(move |ids| Ok(ids.iter().map(known).collect::<Vec<_>>().into()));
        directory
            .expect_members()
            .returning(|segment, _, _| Ok((segment == "empty").then(SegmentPage::default)));
        Self {
            requests,
            messages: MockMessageRepository::new(),
            directory,
            templates: MockTemplateSource::new(),
            config: RequestConfig::default(),
        }
    }

    pub(super) fn processing(request: NotificationRequest) -> Self {
        Self::with(request, RequestStatus::Processing)
    }

    /// Expects the end of a step to be noted `times` times, and answers what `noted` makes of it.
    pub(super) fn noting(
        mut self,
        times: usize,
        noted: impl Fn(&FanOutStep) -> Result<StepNoted, StoreError> + Send + 'static,
    ) -> Self {
        let note = self.requests.expect_note_steps().times(times);
        note.returning(move |steps| steps.iter().map(&noted).collect());
        self
    }

    /// Expects the request to fail `times` times, for a reason that contains `why`.
    pub(super) fn failing(self, times: usize, why: &'static str) -> Self {
        self.noting(times, move |step| {
            let given = step.end.reason().map(Reason::as_str);
            assert!(given.is_some_and(|given| given.contains(why)), "{given:?} instead of {why:?}");
            Ok(StepNoted { status: Some(RequestStatus::Failed), records: vec![], outdated: false })
        })
    }

    /// Expects the request to be dispatched with new records.
    pub(super) fn dispatching(self) -> Self {
        self.noting(1, |step| {
            assert_eq!((step.request, &step.end), (REQUEST, &FanOutEnd::Done));
            Ok(kept(step, RequestStatus::Dispatched))
        })
    }

    pub(super) fn handler(self) -> RequestHandler {
        let Self { requests, messages, directory, templates, config } = self;
        let (directory, templates) = (Arc::new(directory), Arc::new(templates));
        RequestHandler::new(Arc::new(requests), Arc::new(messages), directory, templates, config)
            .expect("a good configuration")
    }

    pub(super) fn handle(self, attempt: u32) -> Verdict {
        let claimed = claimed_step(FanOut::begin(REQUEST), attempt);
        finish(self.handler().handle(&claimed))
    }
}

/// The records of a step are new.
pub(super) fn kept(step: &FanOutStep, status: RequestStatus) -> StepNoted {
    let records = step.records.iter().map(|record| record.status).collect();
    StepNoted { status: Some(status), records, outdated: false }
}

/// Steps of which each stands at `status` afterwards, its records where they stood before.
pub(super) fn stands(status: RequestStatus, records: &[DeliveryStatus]) -> Result<StepNoted, StoreError> {
    Ok(StepNoted { status: Some(status), records: records.to_vec(), outdated: false })
}

pub(super) fn emitted(verdict: Verdict) -> Vec<NewMessage> {
    match verdict {
        Verdict::Ack { emit } => emit,
        other => panic!("not an ack: {other:?}"),
    }
}

pub(super) fn notifications(verdict: Verdict) -> Vec<NotificationMessage> {
    let messages = emitted(verdict).into_iter().filter(|message| message.queue.as_str() == MESSAGE_QUEUE);
    messages.map(|message| serde_json::from_slice(message.payload.bytes()).unwrap()).collect()
}
