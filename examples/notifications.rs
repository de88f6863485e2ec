//! Three relays share one outbox and deliver the messages of 240 requests; what arrived is compared with what should have.
//!
//! `cargo run -p claimstream-examples --features notifications --example notifications`
#![forbid(unsafe_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{Relay, RelayConfig, RetryPolicy};
use claimstream_domain::notification::message_id;
use claimstream_notifications::{
    Channel, ChannelProvider, Delivered, DeliveryError, DirectRecipient, MESSAGE_QUEUE, MessageConfig,
    MessageHandler, NotificationMessage, NotificationReports, NotificationRequest, Providers, REQUEST_QUEUE,
    RequestConfig, RequestHandler,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, channel::oneshot, future::try_join_all};
use serde_json::json;
use uuid::Uuid;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const REQUESTS: u128 = 240;
const CHANNELS: [Channel; 2] = [Channel::Email, Channel::Sms];

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("outbox.db").display());
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await?;
    let requests = (0..REQUESTS).map(request).collect::<Result<Vec<_>, _>>()?;
    outbox.submit_now(&requests).await?; // `submit` takes them in together with your own statements

    let provider = Arc::new(Counter::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = stopped.map(|_| ()).shared();
    let relays = try_join_all((0..3).map(|_| relay(&url, provider.clone(), stopped.clone())));
    let settled = async {
        for request in &requests {
            while !outbox.progress(request.id).await?.is_some_and(|progress| progress.is_settled()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        drop(stop); // ends the relays
        Ok(())
    };
    futures::try_join!(relays, settled)?;
    report(&outbox, &provider).await
}

/// The person to write to; every fifth has no phone.
fn recipient(number: u128) -> DirectRecipient {
    let phone = (!number.is_multiple_of(5)).then(|| format!("+4930{number:06}"));
    DirectRecipient {
        email: Some(format!("person-{number}@example.com")),
        phone,
        ..DirectRecipient::default()
    }
}

/// The request to write to this person by mail and by text message.
fn request(number: u128) -> Result<NotificationRequest, serde_json::Error> {
    serde_json::from_value(json!({
        "id": Uuid::from_u128(number),
        "requester": { "type": "service", "id": "shop" },
        "recipients": [recipient(number)],
        "channels": CHANNELS,
        "content": { "title": "On its way", "body": format!("Your parcel {number} arrives tomorrow.") },
    }))
}

/// Two pipelines until `stop`: requests become messages, messages go to the provider. A process of its own would run the same.
async fn relay(
    url: &str,
    provider: Arc<Counter>,
    stop: impl Future<Output = ()> + Clone,
) -> Result<(), Failure> {
    let outbox = Arc::new(SeaOrmOutbox::open(url, OpenOptions::default()).await?);
    let relay = |retry| {
        let config = RelayConfig { retry, ..RelayConfig::default() };
        Relay::new(outbox.clone(), TokioTimer::new(), config)
    };
    let config = RequestConfig::default();
    let requests = relay(config.pipeline_retry());
    // The database also has the directory of users and the templates that requests can name.
    let handler =
        RequestHandler::new(outbox.clone(), outbox.clone(), outbox.clone(), outbox.clone(), config)?;
    let requests = requests.batch_pipeline(REQUEST_QUEUE, handler)?;

    let retry = RetryPolicy { base: Duration::from_millis(50), ..RetryPolicy::default() };
    let config = MessageConfig { retry };
    let messages = relay(config.pipeline_retry());
    let providers =
        CHANNELS.iter().fold(Providers::new(), |all, channel| all.with(*channel, provider.clone()));
    let messages =
        messages.batch_pipeline(MESSAGE_QUEUE, MessageHandler::new(outbox.clone(), providers, config)?)?;
    futures::try_join!(requests.run_until(stop.clone()), messages.run_until(stop))?;
    Ok(())
}

/// A provider that counts what it takes of each message, and refuses every tenth message at the first attempt.
#[derive(Default)]
struct Counter(Mutex<BTreeMap<Uuid, usize>>);

#[async_trait]
impl ChannelProvider for Counter {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let mut taken = self.0.lock().expect("no thread has panicked");
        let is_refused = message.id.as_u128().is_multiple_of(10) && !taken.contains_key(&message.id);
        *taken.entry(message.id).or_default() += usize::from(!is_refused);
        if is_refused { Err(DeliveryError::transient("try again later")) } else { Ok(Delivered::default()) }
    }
}

/// Compares what the requests alone say with what the provider took and with what the database recorded.
async fn report(outbox: &SeaOrmOutbox, provider: &Counter) -> Result<ExitCode, Failure> {
    let (mut wanted, mut skipped, mut recorded) = (BTreeSet::new(), 0, (0, 0));
    for number in 0..REQUESTS {
        let (id, recipient) = (Uuid::from_u128(number), recipient(number).resolve());
        for channel in CHANNELS {
            match recipient.address(channel) {
                Some(_) => drop(wanted.insert(message_id(id, channel, &recipient.key))),
                None => skipped += 1,
            }
        }
        let progress = outbox.progress(id).await?.ok_or("a request is gone")?;
        recorded = (recorded.0 + progress.delivered as usize, recorded.1 + progress.skipped as usize);
    }
    let taken = provider.0.lock().expect("no thread has panicked");
    let rows = [
        ("delivered, by the provider's count", wanted.len(), taken.values().sum()),
        ("delivered, by the database's records", wanted.len(), recorded.0),
        ("skipped, because there is no phone", skipped, recorded.1),
        ("lost", 0, wanted.iter().filter(|id| !taken.contains_key(id)).count()),
        ("delivered twice", 0, taken.values().filter(|times| **times > 1).count()),
        ("not asked for", 0, taken.keys().filter(|id| !wanted.contains(id)).count()),
    ];
    println!("{:<40}{:>10}{:>8}", format!("messages of {REQUESTS} requests"), "should be", "are");
    rows.iter().for_each(|(what, should, are)| println!("{what:<40}{should:>10}{are:>8}"));
    let is_good = rows.iter().all(|(_, should, are)| should == are);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
