use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use claimstream::{LocalWakeup, PipelineReport, Relay, RelayConfig, RetryPolicy};
use claimstream_domain::notification::Recipient;
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{
    Channel, ChannelProvider, Content, Delivered, DeliveryError, DirectRecipient, FoundUsers, MESSAGE_QUEUE,
    MessageConfig, MessageHandler, NotificationMessage, NotificationRequest, Providers, REQUEST_QUEUE,
    RecipientDirectory, RecipientReference, RequestConfig, RequestHandler, Requester, RequesterKind,
    SegmentPage, SegmentPlace, SubmitRequests,
};
use claimstream_ports::StoreError;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::ServerProcess;
use claimstream_tokio::TokioTimer;
use futures::FutureExt;
use uuid::Uuid;

use crate::{
    Failure,
    contender::Own,
    job::{Job, Work, unix_now},
    library, parent,
};

/// How many requests, and how many deliveries, are under way at once.
const AT_ONCE: u32 = 100;

/// A relay of both notification pipelines, until the bench stops it.
///
/// This function and [`submit`] are all that the bench knows of the pipelines.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let outbox = Arc::new(library::open(&job.url, Own::named(&job.contender)?, 10).await?);
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = |retry: RetryPolicy| {
        let config = RelayConfig { retry, ..library::relay_config(&job) };
        Relay::new(outbox.clone(), TokioTimer::new(), config).with_wakeup(wakeup.clone())
    };
    let (fan_out, deliver) = (RequestConfig::default(), MessageConfig::default());
    let (requests, messages) = (relay(fan_out.pipeline_retry()), relay(deliver.pipeline_retry()));
    let (people, templates) = (Arc::new(Numbered(job.recipients)), Arc::new(MemoryTemplates::new("en")));
    let fan_out = RequestHandler::new(outbox.clone(), outbox.clone(), people, templates, fan_out)?;
    let sent = Arc::new(Sent::default());
    let providers = Providers::new().with(Channel::Email, sent.clone());
    let deliver = MessageHandler::new(outbox.clone(), providers, deliver)?;
    let requests = requests.batch_pipeline(REQUEST_QUEUE, fan_out)?.at_once(AT_ONCE);
    let messages = messages.batch_pipeline(MESSAGE_QUEUE, deliver)?.at_once(AT_ONCE);

    parent::wait_for_go()?;
    let (went, cpu) = (unix_now(), ServerProcess::own().cpu_seconds());
    let stop = parent::stop().shared();
    let (requests, messages) =
        futures::try_join!(requests.run_until(stop.clone()), messages.run_until(stop))?;
    let mut work =
        Work { last: went, cpu_seconds: ServerProcess::own().cpu_seconds() - cpu, ..Work::default() };
    work.handed_out = std::mem::take(&mut *sent.0.lock().expect("no panic"));
    work.superseded = requests.superseded + messages.superseded;
    work.errors = [requests, messages].iter().flat_map(went_wrong).collect();
    parent::report(&work)
}

/// Hands in requests of as many recipients as the job says, for all notifications of the job together.
pub(crate) async fn submit(outbox: &SeaOrmOutbox, job: &Job) -> Result<(), Failure> {
    const AT_A_TIME: usize = 500;
    let numbers: Vec<_> = (0..job.backlog / job.recipients).collect();
    for numbers in numbers.chunks(AT_A_TIME) {
        let requests: Vec<_> = numbers.iter().map(|number| request(*number, job.recipients)).collect();
        let transaction = outbox.begin().await?;
        outbox.submit(&transaction, &requests).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// A request for one person by address, or for everybody whom the directory knows.
fn request(number: u64, recipients: u64) -> NotificationRequest {
    let one = DirectRecipient { email: Some(address(number)), ..DirectRecipient::default() };
    let recipient = match recipients {
        1 => RecipientReference::Direct(one),
        _ => RecipientReference::Segment { segment: "everybody".into() },
    };
    let content = Content {
        title: Some(format!("Parcel {number} is on its way")),
        body: Some("It will be with you tomorrow between 9 and 12.".into()),
        ..Content::default()
    };
    NotificationRequest {
        id: Uuid::now_v7(),
        requester: Requester { kind: RequesterKind::Service, id: "bench".into() },
        recipients: vec![recipient],
        channels: vec![Channel::Email],
        content: Some(content),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: None,
        headers: Default::default(),
    }
}

fn address(number: u64) -> String {
    format!("{number}@example.com")
}

/// A directory of people with numbers, who need no memory.
struct Numbered(u64);

#[async_trait]
impl RecipientDirectory for Numbered {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        Ok(vec![None; ids.len()].into())
    }

    async fn members(
        &self,
        _everybody: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let person =
            |number| Recipient { email: Some(address(number)), ..Recipient::user(&number.to_string()) };
        let begin: u64 = from.key().and_then(|key| key.parse().ok()).unwrap_or(0);
        let end = self.0.min(begin + u64::from(limit));
        let next = (end < self.0).then(|| end.to_string());
        Ok(Some(SegmentPage { members: (begin..end).map(person).collect(), next, ..SegmentPage::default() }))
    }
}

/// A provider that does nothing but write down whom it was asked to tell, and gives each delivery a name of its own.
#[derive(Default)]
struct Sent(Mutex<Vec<u64>>);

#[async_trait]
impl ChannelProvider for Sent {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let number = message.address.split('@').next().and_then(|number| number.parse().ok());
        let mut sent = self.0.lock().expect("no panic");
        sent.push(number.unwrap_or(u64::MAX));
        Ok(Delivered { reference: Some(format!("{}-{}", std::process::id(), sent.len())) })
    }
}

/// What should not have happened, in a sentence for each pipeline.
fn went_wrong(report: &PipelineReport) -> Option<String> {
    let PipelineReport { nacked, buried, unsettled, panicked, timed_out, .. } = report;
    let wrong = nacked + buried + unsettled + panicked + timed_out;
    (wrong > 0).then(|| format!("{report:?}"))
}
