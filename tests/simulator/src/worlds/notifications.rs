mod asked;
mod check;
mod ports;
mod provider;
mod sends;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream::{BatchHandler, Claimed, Relay, RelayConfig, RetryPolicy, Verdicts};
use claimstream_domain::{
    DeadLetterFilter, MessageId, QueueName,
    notification::{Channel, MESSAGE_QUEUE, NotificationRequest, REQUEST_QUEUE, Submitted, request_message},
};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{
    MessageConfig, MessageHandler, NamedProvider, ProviderLimits, Providers, RequestConfig, RequestHandler,
    Route,
};
use claimstream_ports::{
    DeadLetters, FindMessages, StoreError,
    notification::{Cancelled, RequestRepository, SubmitRequests},
};
use futures::{
    FutureExt,
    channel::oneshot,
    future::{BoxFuture, join},
};

use self::{
    asked::Asked,
    ports::{FaultyDirectory, FaultyRecords},
    provider::FaultyProvider,
    sends::Sends,
};
use crate::{
    journal::{Hold, Journal},
    relays::{MAX_ATTEMPTS, Relays, config, operate},
    running::Noted,
    sim::{Process, Sim},
    store::{FaultyStore, LEASE, call},
    timer::ProcessTimer,
    weather::Mishap,
};

/// Requests to users, segments and addresses, some handed in again, cancelled or too late, over providers that fail.
pub(super) async fn run(sim: Sim) {
    let journal = Journal::new(&sim, MAX_ATTEMPTS + 1, Hold::Batch);
    let outbox = FaultyStore::new(&sim, &journal);
    let asked = (1..=1 + sim.below(3)).map(|n| Asked::draw(&sim, n)).collect();
    let this = Notifications { sends: Arc::new(Sends::new(&outbox)), outbox, asked: Arc::new(asked) };
    for at in 0..this.asked.len() {
        let this = this.clone();
        sim.spawn(Process::SCRIPT, async move { this.ask(&this.asked[at]).await });
    }
    for queue in queues() {
        sim.spawn(Process::SCRIPT, operate(sim.clone(), this.outbox.clone(), journal.clone(), queue));
    }
    let mending = this.clone();
    sim.spawn(Process::SCRIPT, async move { mending.mend().await });
    let serving = this.clone();
    let start = Arc::new(move |process, stop: oneshot::Receiver<()>| {
        let this = serving.clone();
        Box::pin(async move { this.serve(process, stop).await }) as BoxFuture<'static, ()>
    });
    Relays::new(&sim).run(start, || this.have_ended() && this.are_settled()).await;
    this.check();
}

/// What the processes of a schedule share.
#[derive(Clone)]
struct Notifications {
    outbox: FaultyStore,
    sends: Arc<Sends>,
    asked: Arc<Vec<Asked>>,
}

fn queues() -> [QueueName; 2] {
    [REQUEST_QUEUE, MESSAGE_QUEUE].map(|name| QueueName::new(name).expect("a name"))
}

impl Notifications {
    /// Runs both pipelines until the signal.
    async fn serve(self, process: Process, stop: oneshot::Receiver<()>) {
        let (sim, stop) = (&self.outbox.sim, stop.map(|_| ()).shared());
        let [requests, messages] = queues();
        let fan_out = self.request_handler(1 + sim.below(3) as u32);
        let requests = self.pipeline(process, requests, fan_out, stop.clone());
        let messages = self.pipeline(process, messages, self.message_handler(process), stop);
        join(requests, messages).await;
    }

    async fn pipeline(
        &self,
        process: Process,
        queue: QueueName,
        handler: impl BatchHandler + 'static,
        stop: impl Future<Output = ()>,
    ) {
        let (sim, journal) = (&self.outbox.sim, Arc::clone(&self.outbox.journal));
        let config = RelayConfig { retry: retry().with_one_more_attempt(), ..config(sim) };
        let (size, prefetch) = (1 + sim.below(4) as u32, config.prefetch);
        let relay = Relay::new(Arc::new(self.outbox.clone()), ProcessTimer::of(sim, process), config);
        let handler = Noted { handler, journal, process };
        let handler = Watched { handler, sends: Arc::clone(&self.sends), process };
        let pipeline = relay.batch_pipeline(queue, handler).expect("a pipeline");
        let pipeline = match sim.chance(500) {
            true => pipeline.size(size),
            false => pipeline.at_once(size.min(prefetch)),
        };
        let report = pipeline.run_until(stop).await;
        sim.require(report.is_ok(), || "settings that do not work".into());
    }

    fn request_handler(&self, chunk: u32) -> RequestHandler {
        let records = Arc::new(FaultyRecords(self.outbox.clone()));
        let directory = Arc::new(FaultyDirectory::new(&self.outbox.sim));
        let templates = Arc::new(MemoryTemplates::new("en"));
        let config = RequestConfig { chunk, retry: retry() };
        RequestHandler::new(records.clone(), records, directory, templates, config).expect("settings")
    }

    fn message_handler(&self, process: Process) -> MessageHandler {
        let sim = &self.outbox.sim;
        let limits = ProviderLimits {
            timeout: Some(LEASE / 2 + sim.time_below(LEASE)),
            concurrency: Some(1 + sim.below(3) as u32),
            ..ProviderLimits::default()
        };
        let is_limited = sim.chance(500);
        let provider = |name: &'static str| {
            let provider = Arc::new(FaultyProvider { name, process, sends: Arc::clone(&self.sends) });
            let provider = match is_limited {
                false => NamedProvider::unguarded(name, provider),
                true => {
                    let timer = Arc::new(ProcessTimer::of(sim, process));
                    NamedProvider::new(name, provider, &limits, timer, Arc::new(self.outbox.store.clone()))
                }
            };
            Arc::new(provider.expect("a name"))
        };
        let mail =
            Route::in_order().with(provider("mail-1")).and_then(|route| route.with(provider("mail-2")));
        let text = Route::in_order().with(provider("text"));
        let providers = Providers::new()
            .with_route(Channel::Email, mail.expect("two names"))
            .with_route(Channel::Sms, text.expect("a name"));
        let records = Arc::new(FaultyRecords(self.outbox.clone()));
        let handler = MessageHandler::new(records.clone(), providers, MessageConfig { retry: retry() });
        handler.expect("settings").with_attempt_log(records)
    }

    /// Hands a request in until that is answered, perhaps once more, as it is or changed, and perhaps calls it off.
    async fn ask(&self, asked: &Asked) {
        let sim = &self.outbox.sim;
        sim.sleep(sim.time_below(Duration::from_secs(20))).await;
        while let Err(error) = self.submit(&asked.request).await {
            sim.trace(|| format!("{} cannot be handed in: {error}", asked.name()));
            sim.sleep(Duration::from_secs(1)).await;
        }
        if sim.chance(300) {
            let memo = sim.chance(500).then(|| "changed".to_owned());
            let (expected, other) = match memo {
                Some(_) => (Submitted::Conflict, NotificationRequest { memo, ..asked.request.clone() }),
                None => (Submitted::Replayed, asked.request.clone()),
            };
            if let Ok(answer) = self.submit(&other).await {
                let name = asked.name();
                sim.require(answer == expected, || format!("{name} is {answer:?} and not {expected:?}"));
            }
        }
        if sim.chance(sim.weather().operator) {
            sim.count(Mishap::Operator);
            sim.sleep(sim.time_below(Duration::from_secs(30))).await;
            while self.cancel(asked).await.is_err() {
                sim.sleep(Duration::from_secs(1)).await;
            }
        }
        asked.has_ended();
    }

    async fn submit(&self, request: &NotificationRequest) -> Result<Submitted, StoreError> {
        let (outbox, request) = (self.outbox.clone(), request.clone());
        call(&self.outbox.sim, "submit", async move {
            let tx = outbox.store.begin();
            let answers = outbox.store.submit(&tx, std::slice::from_ref(&request)).await?;
            tx.commit();
            if answers == [Submitted::New] {
                outbox.journal.enqueued(&request_message(&request).expect("a good request"));
            }
            Ok(answers[0])
        })
        .await
    }

    async fn cancel(&self, asked: &Asked) -> Result<(), StoreError> {
        let (outbox, id, name) = (self.outbox.clone(), asked.request.id, asked.name());
        call(&self.outbox.sim, "cancel", async move {
            let cancelled = RequestRepository::cancel(&outbox.store, id).await?;
            outbox.sim.trace(|| format!("{name} is called off: {cancelled:?}"));
            let message = MessageId::new(id);
            let found = FindMessages::find(&outbox.store, &[message]).await?;
            if matches!(cancelled, Cancelled::Yes(_)) && found == [None] {
                outbox.journal.taken_out(message);
            }
            Ok(())
        })
        .await
    }

    /// Whether every request is handed in and every message has ended.
    fn have_ended(&self) -> bool {
        let journal = &self.outbox.journal;
        self.asked.iter().all(Asked::is_over) && queues().iter().all(|queue| journal.all_ended(queue))
    }

    /// In good weather, revives what was cut off in its last attempt and the one after it; else a request may stay open, as docs/limits.md
    /// says.
    async fn mend(&self) {
        let (sim, outbox) = (&self.outbox.sim, &self.outbox);
        loop {
            sim.sleep(Duration::from_secs(2)).await;
            if !sim.is_calm() || !self.have_ended() || self.are_settled() {
                continue;
            }
            let mut revived = 0;
            for queue in queues() {
                let filter = DeadLetterFilter { queue: Some(queue.clone()), ..DeadLetterFilter::default() };
                revived += outbox.store.revive(&filter).await.unwrap_or_default();
                outbox.journal.revived(&queue);
            }
            sim.trace(|| format!("{revived} dead letters are revived"));
            sim.require(revived > 0, || "a request is open, and no message of it is left".into());
        }
    }
}

/// How often a step or a delivery is tried.
fn retry() -> RetryPolicy {
    RetryPolicy {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(4),
        max_attempts: MAX_ATTEMPTS,
        ..RetryPolicy::default()
    }
}

/// A handler whose runs are known to what it sends.
struct Watched<H> {
    handler: H,
    sends: Arc<Sends>,
    process: Process,
}

#[async_trait]
impl<H: BatchHandler> BatchHandler for Watched<H> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let _runs = self.sends.opens(self.process, batch);
        self.handler.handle_batch(batch, verdicts).await;
    }
}
