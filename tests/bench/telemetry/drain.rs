use std::{
    fmt, fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use claimstream::{Handler, Relay, RelayConfig, Verdict, handler_fn};
use claimstream_domain::{Headers, MessageId, NewMessage, Payload, QueueName};
use claimstream_opentelemetry::TracedHandler;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use clap::ValueEnum;
use uuid::Uuid;

use crate::{Failure, kind::Kind};

const QUEUE: &str = "bench";
/// How many messages a transaction enqueues.
const CHUNK: u64 = 500;
/// How many bytes a message carries.
const PAYLOAD: usize = 500;

/// Where the traces of messages begin.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum TracesBegin {
    /// Where they are handled: they carry none.
    Here,
    /// Where they were enqueued: each carries one, and says whether it is sent.
    Before,
}

impl From<bool> for TracesBegin {
    fn from(carried: bool) -> Self {
        if carried { Self::Before } else { Self::Here }
    }
}

impl fmt::Display for TracesBegin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here => "here",
            Self::Before => "before",
        })
    }
}

/// Fills the queue with messages for a kind.
pub(crate) async fn fill(url: &str, messages: u64, kind: Kind, begun: TracesBegin) -> Result<(), Failure> {
    let outbox = SeaOrmOutbox::open(url, OpenOptions::default()).await?;
    let queue = QueueName::new(QUEUE)?;
    let payload = Payload::new("application/octet-stream", vec![7; PAYLOAD])?;
    let message = |number| -> Result<_, Failure> {
        let message = NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), payload.clone());
        Ok(match begun {
            TracesBegin::Here => message,
            TracesBegin::Before => message.with_headers(traced(number, kind.sample_percent().unwrap_or(1))?),
        })
    };
    for begun in (0..messages).step_by(CHUNK as usize) {
        let chunk = (begun..messages.min(begun + CHUNK)).map(message).collect::<Result<Vec<_>, _>>()?;
        outbox.enqueue_now(&chunk).await?;
    }
    Ok(())
}

/// The headers of a message from a producer that sends so many of a hundred traces.
fn traced(number: u64, percent: u32) -> Result<Headers, Failure> {
    let sent = u8::from(number % 100 < u64::from(percent));
    let mut headers = Headers::new();
    headers.set_trace(&format!("00-{0:032x}-{0:016x}-{sent:02x}", number + 1), None)?;
    Ok(headers)
}

/// Drains the queue as a service would, and prints how many seconds of processor time that took this process, the last report
/// included.
pub(crate) async fn drain(url: &str, messages: u64, kind: Kind, collector: &str) -> Result<(), Failure> {
    let installed = kind.install(collector)?;
    let telemetry = kind.telemetry();
    let options = OpenOptions { telemetry: telemetry.clone(), ..OpenOptions::default() };
    let outbox = SeaOrmOutbox::open(url, options).await?;
    let config = RelayConfig { prefetch: 800, ..RelayConfig::default() };
    let relay = Relay::new(Arc::new(outbox), TokioTimer::new(), config);
    let relay = match telemetry {
        Some(telemetry) => relay.with_telemetry(telemetry),
        None => relay,
    };
    let begun = processor_seconds();
    let handled = Arc::<AtomicU64>::default();
    let counting = Arc::clone(&handled);
    let handler = handler_fn(move |_| {
        counting.fetch_add(1, Relaxed);
        async { Verdict::ack() }
    });
    match kind.sample_percent() {
        Some(_) => run(&relay, TracedHandler::new(handler).obeying_creators(), &handled, messages).await?,
        None => run(&relay, handler, &handled, messages).await?,
    }
    // The exporters wait for their threads.
    tokio::task::spawn_blocking(|| installed.finish()).await?;
    println!("{}", processor_seconds() - begun);
    Ok(())
}

async fn run(
    relay: &Relay,
    handler: impl Handler + 'static,
    handled: &AtomicU64,
    messages: u64,
) -> Result<(), Failure> {
    let all = async {
        while handled.load(Relaxed) < messages {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    relay.pipeline(QUEUE, handler)?.run_until(all).await?;
    Ok(())
}

/// The processor time of all threads of this process, those that have ended included, in seconds.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The command's name, in brackets, may hold blanks; the times are the 14th and 15th field, in hundredths.
    let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    let ticks: f64 = after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
