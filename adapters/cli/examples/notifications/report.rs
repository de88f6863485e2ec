use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    time::Duration,
};

use claimstream_domain::notification::{DeliveryStatus, NotificationRequest, RequestStatus};
use claimstream_ports::NotificationReports;
use claimstream_sea_orm::SeaOrmOutbox;
use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use crate::{Failure, expectation::Expectation, sink::Sink};

/// What a run came to: what should have happened, what the database says, and what the sink saw.
pub(crate) struct Report {
    requests: BTreeMap<&'static str, usize>,
    messages: usize,
    delivered: usize,
    skipped: BTreeMap<String, usize>,
    dead: BTreeMap<String, usize>,
    impossible: BTreeMap<String, usize>,
    kills: usize,
    repeated_after_kill: usize,
    duplicates: usize,
    lost: Vec<Uuid>,
    unexpected: usize,
    latencies: Vec<Duration>,
    rate: f64,
}

/// What the database says of one request.
struct Told {
    request: Uuid,
    status: RequestStatus,
    reason: Option<String>,
    messages: Vec<(Uuid, DeliveryStatus, String)>,
}

impl Report {
    pub(crate) async fn gather(
        outbox: &SeaOrmOutbox,
        requests: &[NotificationRequest],
        expectation: &Expectation,
        sink: &Sink,
        killed: &BTreeSet<u32>,
        submitted: &HashMap<Uuid, u64>,
        took: Duration,
    ) -> Result<Self, Failure> {
        let asked = futures::stream::iter(requests.iter().map(|request| tell(outbox, request.id)));
        let told: Vec<Told> = asked.buffer_unordered(8).try_collect().await?;
        let mut report = Self::empty(killed.len());
        let mut settled = HashMap::new();
        for Told { request, status, reason, messages } in told {
            *report.requests.entry(status.name()).or_default() += 1;
            if messages.is_empty()
                && status == RequestStatus::Failed
                && expectation.impossible.contains(&request)
            {
                *report.impossible.entry(reason.unwrap_or_default()).or_default() += 1;
            }
            settled.extend(messages.into_iter().map(|(id, status, reason)| (id, (status, reason))));
        }
        report.compare(expectation, &settled, sink);
        report.count_repeats(sink, killed);
        report.time(requests, sink, submitted);
        report.rate = report.delivered as f64 / took.as_secs_f64().max(0.001);
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
            repeated_after_kill: 0,
            duplicates: 0,
            lost: Vec::new(),
            unexpected: 0,
            latencies: Vec::new(),
            rate: 0.0,
        }
    }

    /// Holds every message that there should be against the database and the sink: it is lost unless it was delivered
    /// and seen, or left out or given up for a recorded reason.
    fn compare(
        &mut self,
        expectation: &Expectation,
        settled: &HashMap<Uuid, (DeliveryStatus, String)>,
        sink: &Sink,
    ) {
        self.messages = expectation.messages.len();
        for id in expectation.messages.keys() {
            let seen = sink.deliveries().contains_key(id);
            match settled.get(id) {
                Some((DeliveryStatus::Delivered, _)) if seen => self.delivered += 1,
                Some((DeliveryStatus::Skipped, reason)) if !seen => {
                    *self.skipped.entry(reason.clone()).or_default() += 1;
                }
                Some((DeliveryStatus::Failed, reason)) if !seen => {
                    *self.dead.entry(reason.clone()).or_default() += 1;
                }
                _ => self.lost.push(*id),
            }
        }
        let expected = |id: &&Uuid| !expectation.messages.get(id).is_some_and(|reachable| *reachable);
        self.unexpected = sink.deliveries().keys().filter(expected).count();
    }

    /// A second delivery is explained only if a process that was killed had made one before.
    fn count_repeats(&mut self, sink: &Sink, killed: &BTreeSet<u32>) {
        for deliveries in sink.deliveries().values() {
            for (n, _) in deliveries.iter().enumerate().skip(1) {
                match deliveries[..n].iter().any(|earlier| killed.contains(&earlier.process)) {
                    true => self.repeated_after_kill += 1,
                    false => self.duplicates += 1,
                }
            }
        }
    }

    /// Times from the commit, or from the due time of a scheduled request, to the first delivery.
    fn time(&mut self, requests: &[NotificationRequest], sink: &Sink, submitted: &HashMap<Uuid, u64>) {
        let delays: HashMap<Uuid, u64> =
            requests.iter().map(|request| (request.id, request.delay_ms.unwrap_or(0) * 1000)).collect();
        for deliveries in sink.deliveries().values() {
            let Some(first) = deliveries.iter().min_by_key(|delivery| delivery.at) else { continue };
            let Some(submitted) = submitted.get(&first.request) else { continue };
            let due = submitted + delays.get(&first.request).unwrap_or(&0);
            self.latencies.push(Duration::from_micros(first.at.saturating_sub(due)));
        }
        self.latencies.sort();
    }

    /// Whether everybody was told once.
    pub(crate) fn is_good(&self) -> bool {
        self.duplicates == 0 && self.lost.is_empty() && self.unexpected == 0 && self.delivered > 0
    }

    fn latency(&self, share: f64) -> String {
        let at = (self.latencies.len() as f64 * share) as usize;
        let latency = self.latencies.get(at.min(self.latencies.len().saturating_sub(1)));
        latency.map_or_else(|| "-".into(), |latency| format!("{:.1} ms", latency.as_secs_f64() * 1e3))
    }
}

async fn tell(outbox: &SeaOrmOutbox, request: Uuid) -> Result<Told, Failure> {
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
    Ok(Told { request, status: progress.status(), reason: progress.reason, messages })
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
        row(f, "processes killed", self.kills.to_string())?;
        row(f, "delivered twice after a kill", self.repeated_after_kill.to_string())?;
        row(f, "duplicates", self.duplicates.to_string())?;
        row(f, "lost", self.lost.len().to_string())?;
        row(f, "not asked for", self.unexpected.to_string())?;
        row(f, "rate", format!("{:.0} messages/s", self.rate))?;
        row(f, "enqueue to delivery", format!("p50 {}, p99 {}", self.latency(0.5), self.latency(0.99)))?;
        self.lost.iter().take(10).try_for_each(|id| writeln!(f, "  lost: {id}"))
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, reasons: &BTreeMap<String, usize>) -> fmt::Result {
    reasons.iter().try_for_each(|(reason, count)| writeln!(f, "  {:<28} {count:>6}  {reason}", ""))
}
