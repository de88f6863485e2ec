use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    time::Duration,
};

use claimstream_domain::notification::{DeliveryStatus, RequestStatus};
use claimstream_ports::notification::NotificationReports;
use claimstream_sea_orm::SeaOrmOutbox;
use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use crate::{
    Failure,
    due::due,
    expectation::Expectation,
    fleet::Kill,
    kill_line::KillLine,
    repeats::{Repeats, in_flight},
    served::{Accepted, Aftermath},
    sink::Sink,
    verdict::Verdict,
};

/// What a run came to: what should have happened, what the database says, and what the sink saw.
pub(crate) struct Report {
    requests: BTreeMap<&'static str, usize>,
    messages: usize,
    delivered: usize,
    skipped: BTreeMap<String, usize>,
    dead: BTreeMap<String, usize>,
    impossible: BTreeMap<String, usize>,
    kills: usize,
    revived: u64,
    repeats: Repeats,
    lost: Vec<Uuid>,
    wrong: Vec<String>,
    unexpected: usize,
    latencies: Vec<Duration>,
    rate: f64,
    refused: BTreeMap<String, usize>,
    repeated_calls: usize,
    providers: Vec<(&'static str, String)>,
}

/// The facts of a run that are known without the database.
pub(crate) struct Run<'a> {
    pub(crate) accepted: &'a Accepted,
    pub(crate) expectation: &'a Expectation,
    pub(crate) sink: &'a Sink,
    pub(crate) kills: &'a [Kill],
    /// Messages that a killed process may have delivered without noting it.
    pub(crate) of_killed: &'a HashSet<Uuid>,
    /// How many dead letters were revived because all of their attempts had been cut off.
    pub(crate) revived: u64,
    /// What came of receipts.
    pub(crate) aftermath: Option<&'a Aftermath>,
    /// What the providers report.
    pub(crate) providers: Vec<(&'static str, String)>,
    /// How long a claim lasted.
    pub(crate) lease: Duration,
    /// How many messages were delivered a second, until the last delivery of the requests that were asked for.
    pub(crate) rate: f64,
}

/// What the database says of one request.
struct RecordedRequest {
    request: Uuid,
    recorded: RequestStatus,
    status: RequestStatus,
    reason: Option<String>,
    messages: Vec<(Uuid, DeliveryStatus, String)>,
}

impl Report {
    pub(crate) async fn gather(outbox: &SeaOrmOutbox, run: &Run<'_>) -> Result<Self, Failure> {
        let asked = futures::stream::iter(
            run.accepted.requests.iter().map(|request| read_request(outbox, request.id)),
        );
        let rows: Vec<RecordedRequest> = asked.buffer_unordered(8).try_collect().await?;
        let mut report = Self::empty(run.kills.len());
        let mut settled = HashMap::new();
        for row in rows {
            report.judge_request(&row, run.expectation);
            settled.extend(row.messages.into_iter().map(|(id, status, reason)| (id, (status, reason))));
        }
        report.judge_messages(run, &settled);
        report.count_repeats(run);
        report.time(run);
        report.rate = run.rate;
        report.revived = run.revived;
        report.refused.clone_from(&run.accepted.refused);
        report.repeated_calls = run.accepted.repeated;
        report.providers.clone_from(&run.providers);
        if let Some(aftermath) = run.aftermath {
            report.providers.extend(aftermath.story());
            report.wrong.extend(aftermath.wrong());
        }
        Ok(report)
    }

    fn empty(kills: usize) -> Self {
        Self {
            requests: BTreeMap::new(),
            messages: 0,
            delivered: 0,
            skipped: BTreeMap::new(),
            dead: BTreeMap::new(),
            impossible: BTreeMap::new(),
            kills,
            revived: 0,
            repeats: Repeats::default(),
            lost: Vec::new(),
            wrong: Vec::new(),
            unexpected: 0,
            latencies: Vec::new(),
            rate: 0.0,
            refused: BTreeMap::new(),
            repeated_calls: 0,
            providers: Vec::new(),
        }
    }

    fn judge_request(&mut self, row: &RecordedRequest, expectation: &Expectation) {
        *self.requests.entry(row.status.name()).or_default() += 1;
        if row.recorded == RequestStatus::Failed {
            *self.impossible.entry(row.reason.clone().unwrap_or_default()).or_default() += 1;
        }
        let is_impossible = expectation.impossible.contains(&row.request);
        if Verdict::on_request(is_impossible, row.recorded) == Verdict::Wrong {
            self.wrong.push(format!("request {} is {}", row.request, row.recorded));
        }
    }

    /// Holds every message that there should be against the database and the sink.
    fn judge_messages(&mut self, run: &Run<'_>, settled: &HashMap<Uuid, (DeliveryStatus, String)>) {
        let (expectation, sink) = (run.expectation, run.sink);
        self.messages = expectation.messages.len();
        for (id, expected) in &expectation.messages {
            let (seen, recorded) = (sink.deliveries().contains_key(id), settled.get(id));
            match recorded {
                Some((DeliveryStatus::Delivered, _)) if seen => self.delivered += 1,
                Some((DeliveryStatus::Skipped, reason)) => {
                    *self.skipped.entry(reason.clone()).or_default() += 1;
                }
                Some((DeliveryStatus::Failed, reason)) => {
                    *self.dead.entry(reason.clone()).or_default() += 1;
                }
                _ => {}
            }
            let is_suppressed = |reason: &str| expectation.is_suppressed(id, reason);
            let is_excused = !seen || run.of_killed.contains(id);
            if matches!(recorded, Some((DeliveryStatus::Skipped, reason)) if is_excused && is_suppressed(reason))
            {
                continue;
            }
            match Verdict::on_message(*expected, recorded.map(|(status, _)| *status), seen) {
                Verdict::AsExpected => {}
                Verdict::Wrong => self.wrong.push(format!("message {id} should be {expected}")),
                Verdict::Lost => self.lost.push(*id),
            }
        }
        let known =
            sink.deliveries().keys().chain(settled.keys().filter(|id| !sink.deliveries().contains_key(id)));
        self.unexpected = known.filter(|id| !expectation.messages.contains_key(id)).count();
    }

    fn count_repeats(&mut self, run: &Run<'_>) {
        for deliveries in run.sink.deliveries().values() {
            let repeats = Repeats::of(deliveries, run.kills, in_flight(run.lease));
            self.repeats.after_a_kill += repeats.after_a_kill;
            self.repeats.duplicates += repeats.duplicates;
        }
    }

    /// Times from the commit, or from when the request is due if that is later, to the first delivery.
    fn time(&mut self, run: &Run<'_>) {
        let pairs = run.accepted.requests.iter().zip(&run.accepted.at);
        let due: HashMap<Uuid, u64> =
            pairs.map(|(request, (_, committed))| (request.id, due(request, *committed))).collect();
        for deliveries in run.sink.deliveries().values() {
            let Some(first) = deliveries.iter().min_by_key(|delivery| delivery.at) else { continue };
            let Some(due) = due.get(&first.request) else { continue };
            self.latencies.push(Duration::from_micros(first.at.saturating_sub(*due)));
        }
        self.latencies.sort();
    }

    /// Whether each recipient who can be reached was notified once, and no other one.
    pub(crate) fn is_good(&self) -> bool {
        let nothing_amiss = self.lost.is_empty() && self.wrong.is_empty() && self.unexpected == 0;
        nothing_amiss && self.repeats.duplicates == 0 && self.delivered > 0
    }

    /// The same as figures.
    pub(crate) fn kill_line(&self, server: String) -> KillLine {
        let ended = |of: &BTreeMap<String, usize>| of.values().sum::<usize>();
        KillLine {
            run: "notifications",
            server,
            kills: self.kills,
            started: self.messages,
            ended: self.delivered + ended(&self.skipped) + ended(&self.dead),
            lost: self.lost.len(),
            doubled: self.repeats.duplicates,
            again: self.repeats.after_a_kill,
            revived: self.revived,
            wrongs: self.wrong.len() + self.unexpected,
        }
    }

    fn latency(&self, share: f64) -> String {
        let at = (self.latencies.len() as f64 * share) as usize;
        let latency = self.latencies.get(at.min(self.latencies.len().saturating_sub(1)));
        latency.map_or_else(|| "-".into(), |latency| format!("{:.1} ms", latency.as_secs_f64() * 1e3))
    }
}

async fn read_request(outbox: &SeaOrmOutbox, request: Uuid) -> Result<RecordedRequest, Failure> {
    let progress =
        outbox.progress(request).await?.ok_or_else(|| format!("request {request} is not in the database"))?;
    let mut messages = Vec::new();
    let mut after = None;
    loop {
        let page = outbox.messages(request, after, 1000).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        messages.extend(page.into_iter().map(|record| {
            let reason = record.reason.map_or_else(String::new, |reason| reason.to_string());
            (record.id, record.status, reason)
        }));
    }
    Ok(RecordedRequest {
        request,
        recorded: progress.recorded,
        status: progress.status(),
        reason: progress.reason,
        messages,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, value: String| writeln!(f, "  {name:<28} {value}");
        let total: usize = self.requests.values().sum();
        let statuses: Vec<String> = self.requests.iter().map(|(name, n)| format!("{n} {name}")).collect();
        writeln!(f)?;
        row(f, "requests", format!("{total} ({})", statuses.join(", ")))?;
        row(f, "messages", self.messages.to_string())?;
        row(f, "delivered", self.delivered.to_string())?;
        row(f, "skipped", self.skipped.values().sum::<usize>().to_string())?;
        reasons(f, &self.skipped)?;
        row(f, "dead", self.dead.values().sum::<usize>().to_string())?;
        reasons(f, &self.dead)?;
        row(f, "requests without a recipient", self.impossible.values().sum::<usize>().to_string())?;
        reasons(f, &self.impossible)?;
        if !self.providers.is_empty() {
            row(f, "refused by the server", self.refused.values().sum::<usize>().to_string())?;
            reasons(f, &self.refused)?;
            row(f, "calls repeated", self.repeated_calls.to_string())?;
        }
        self.providers.iter().try_for_each(|(name, what)| row(f, name, what.clone()))?;
        row(f, "processes killed", self.kills.to_string())?;
        row(f, "revived after kills", self.revived.to_string())?;
        row(f, "delivered twice after a kill", self.repeats.after_a_kill.to_string())?;
        row(f, "duplicates", self.repeats.duplicates.to_string())?;
        row(f, "lost", self.lost.len().to_string())?;
        row(f, "not as expected", self.wrong.len().to_string())?;
        row(f, "not asked for", self.unexpected.to_string())?;
        row(f, "rate", format!("{:.0} messages/s", self.rate))?;
        row(f, "enqueue to delivery", format!("p50 {}, p99 {}", self.latency(0.5), self.latency(0.99)))?;
        self.lost.iter().take(10).try_for_each(|id| writeln!(f, "  lost: {id}"))?;
        self.wrong.iter().take(10).try_for_each(|what| writeln!(f, "  not as expected: {what}"))
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, reasons: &BTreeMap<String, usize>) -> fmt::Result {
    reasons.iter().try_for_each(|(reason, count)| writeln!(f, "  {:<28} {count:>6}  {reason}", ""))
}
