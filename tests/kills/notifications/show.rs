use std::time::{Duration, Instant};

use claimstream_domain::notification::{MESSAGE_QUEUE, NotificationRequest, REQUEST_QUEUE};
use claimstream_ports::{Observe, notification::Suppressions};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::shutdown_signal;
use uuid::Uuid;

use crate::{
    Failure, Options,
    bars::Bars,
    cut_off,
    expectation::Expectation,
    fleet::Fleet,
    instance::open,
    kill_line::server_name,
    load,
    repeats::{in_flight, of_killed},
    report::{Report, Run},
    sink::{Sink, unix_micros},
    stall_limit::StallLimit,
    way::Way,
};

/// How a run ended.
pub(crate) enum Outcome {
    /// All is well.
    Good,
    /// Something is amiss.
    Bad,
    /// The operator did not wait for the end.
    Interrupted,
}

/// Submits the requests, lets the relays deliver them, kills some if asked to, and reports.
pub(crate) async fn run(options: &Options) -> Result<Outcome, Failure> {
    let interruption = shutdown_signal()?;
    let folder = tempfile::tempdir()?;
    let database = match &options.database {
        Some(url) => url.clone(),
        None => format!("sqlite://{}", folder.path().join("outbox.db").display()),
    };
    let outbox = open(&database, &options.strategy).await?;
    refuse_a_busy_outbox(&outbox).await?;
    let name = Uuid::now_v7();
    let requests = load::requests(options, name)?;
    let expectation = Expectation::of(&requests).await?;
    let mut sink = Sink::create(folder.path())?;
    println!(
        "{} requests for {} combinations of recipient and channel; {} processes that {}, strategy {}, {}",
        requests.len(),
        expectation.messages.len(),
        options.instances,
        if options.serve { "serve and relay" } else { "relay" },
        outbox.strategy(),
        without_password(&database),
    );
    if options.serve {
        // An earlier run on the same database has suppressed them.
        for address in expectation.bouncing() {
            outbox.lift(address).await?;
        }
    }
    let (way, mut fleet) = Way::start(options, folder.path(), &database).await?;
    let bars = Bars::new(requests.len(), expectation.deliverable());
    let began = Instant::now();
    let work = async {
        let submitting = way.submit(&outbox, name, &requests, &bars.submitted);
        let watching = watch(&outbox, &mut sink, &mut fleet, &bars, &requests);
        let (mut accepted, (ended, revived)) = tokio::try_join!(submitting, watching)?;
        let rate = sink.deliveries().len() as f64 / ended.duration_since(began).as_secs_f64().max(0.001);
        let of_killed = of_killed(sink.deliveries(), fleet.kills(), in_flight(options.lease));
        let aftermath = way.aftermath(&outbox, &of_killed, &mut accepted).await?;
        Ok::<_, Failure>((accepted, rate, of_killed, aftermath, revived))
    };
    let (accepted, rate, of_killed, aftermath, revived) = tokio::select! {
        // The relays may end by the same signal, which is no failure of theirs.
        biased;
        () = interruption => {
            bars.abandon();
            return interrupt(fleet).await;
        }
        done = work => done?,
    };
    bars.finish();
    let kills = fleet.stop().await?;
    sink.read_on()?;
    // A server gives ids of its own.
    let mut expectation = Expectation::of(&accepted.requests).await?;
    if let Some(aftermath) = &aftermath {
        expectation.bounce(&aftermath.skipped);
    }
    let run = Run {
        accepted: &accepted,
        expectation: &expectation,
        sink: &sink,
        kills: &kills,
        of_killed: &of_killed,
        revived,
        providers: way.story(),
        aftermath: aftermath.as_ref(),
        lease: options.lease,
        rate,
    };
    let report = Report::gather(&outbox, &run).await?;
    println!("{report}");
    report.kill_line(server_name(&outbox).await?).append(options.json.as_deref())?;
    Ok(if report.is_good() { Outcome::Good } else { Outcome::Bad })
}

/// Lets the relays stop in order, unless there is a second signal.
async fn interrupt(fleet: Fleet) -> Result<Outcome, Failure> {
    tokio::select! {
        stopped = fleet.stop() => stopped.map(|_| Outcome::Interrupted),
        () = shutdown_signal()? => Ok(Outcome::Interrupted),
    }
}

/// What lies in the outbox from another run would be delivered to this run's sink.
async fn refuse_a_busy_outbox(outbox: &SeaOrmOutbox) -> Result<(), Failure> {
    let waiting = depth(outbox).await?;
    if waiting > 0 {
        return Err(
            format!("{waiting} messages of another run wait in this outbox; use another database").into()
        );
    }
    Ok(())
}

/// How many messages of notifications are in the outbox.
pub(crate) async fn depth(outbox: &SeaOrmOutbox) -> Result<u64, Failure> {
    let queues = outbox.observe().await?;
    let ours = queues.iter().filter(|queue| [REQUEST_QUEUE, MESSAGE_QUEUE].contains(&queue.queue.as_str()));
    Ok(ours.map(|queue| queue.depth).sum())
}

/// Follows the sink, and kills and replaces relays, until everything is submitted, nothing is left in the outbox, and nothing is dead
/// for the kills alone. Says when the last delivery was seen, and how many dead letters were revived.
async fn watch(
    outbox: &SeaOrmOutbox,
    sink: &mut Sink,
    fleet: &mut Fleet,
    bars: &Bars,
    requests: &[NotificationRequest],
) -> Result<(Instant, u64), Failure> {
    let (mut last, mut last_count, mut revived) = (Instant::now(), 0, 0);
    let mut stall = StallLimit::new(requests, unix_micros());
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fleet.tend()?;
        sink.read_on()?;
        bars.delivered.set_position(sink.deliveries().len() as u64);
        if sink.count() > last_count {
            (last, last_count) = (Instant::now(), sink.count());
        }
        let submitted = bars.submitted.position();
        stall.see(requests, submitted, sink.count(), unix_micros());
        let all_in = submitted == requests.len() as u64;
        if all_in && depth(outbox).await? == 0 {
            match cut_off::revive(outbox).await? {
                0 => return Ok((last, revived)),
                some => revived += some,
            }
        }
        if stall.has_run_out(unix_micros()) {
            let limit = StallLimit::LIMIT;
            return Err(format!("nothing was delivered for {limit:?} and the outbox is not empty").into());
        }
    }
}

fn without_password(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        Some((scheme, (_, host))) => format!("{scheme}://{host}"),
        None => url.to_owned(),
    }
}
