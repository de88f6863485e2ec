use std::time::Duration;

use super::{Plan, Setting};
use crate::{
    Failure,
    backlog::Backlog,
    cell::Cell,
    child::Child,
    contender::{Contender, Own},
    handwritten,
    job::{Job, Produced},
    record::{Counts, Round},
    server::Status,
};

/// How long each round lasts.
const SECONDS: u64 = 3;
/// The library in transactions of the outbox's own type.
const LIBRARY_OWN: &str = "library, begin_own";

/// Producers alone: 1 and 8 of them, 1, 10 and 100 messages in a transaction, in the clear; and 8 with 100 over TLS.
///
/// The library in both kinds of transaction, a hand-written insert into one table and one into two, and other libraries.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let peers = setting.contenders.iter().filter(|one| {
        one.peer().is_some_and(|peer| peer.scenarios.iter().any(|scenario| scenario == "enqueue"))
    });
    let own = [
        (Contender::Own(Own::PreemptiveUpdate), "library"),
        (Contender::Own(Own::PreemptiveUpdate), LIBRARY_OWN),
        (Contender::Own(Own::Ceilxr), "insert, one table"),
        (Contender::Own(Own::Handwritten), "insert, two tables"),
    ];
    let named = peers
        .map(|peer| (peer.clone(), peer.name()))
        .chain(own.iter().map(|(one, name)| (one.clone(), *name)));
    let all: Vec<_> = named.collect();
    let mut groups = Vec::new();
    for (tls, producers, per_transaction) in conditions() {
        let cell = |(one, name): &(Contender, &str)| {
            let url = with_tls(setting.url, tls);
            let sized = Job { url, producers, per_transaction, ..setting.job(one, 0) };
            let job = Job { seconds: SECONDS, own_transactions: *name == LIBRARY_OWN, ..sized };
            Cell::new("enqueue", one, 0, Plan::Enqueue(job))
                .called(name)
                .with("producers", producers)
                .with("per_transaction", per_transaction)
                .with("tls", tls)
                .with("payload", setting.options.payload)
        };
        groups.push(all.iter().map(cell).collect());
    }
    groups
}

fn conditions() -> impl Iterator<Item = (bool, u64, u64)> {
    let in_the_clear =
        [1, 8].into_iter().flat_map(|producers| [1, 10, 100].map(|size| (false, producers, size)));
    in_the_clear.chain([(true, 8, 100)])
}

/// The address of the same database that is spoken to in one way only.
fn with_tls(url: &str, tls: bool) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let mode = if tls { "ssl-mode=required" } else { "ssl-mode=disabled" };
    let others = parameters.split('&').filter(|one| !one.is_empty() && !one.starts_with("ssl-mode="));
    format!("{address}?{}", others.chain([mode]).collect::<Vec<_>>().join("&"))
}

pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    let direct = Job { url: with_tls(&job.url, false), backlog: 0, ..job.clone() };
    let mut connection = handwritten::connect(&direct.url).await?;
    backlog.fill(contender, &direct).await?;
    let before = Status::of(&mut connection).await?;
    let answer = Child::run(contender, "enqueue", job, Duration::from_secs(job.seconds + 60)).await?;
    let status = Status::of(&mut connection).await?.since(before);
    let produced: Produced = serde_json::from_str(&answer)?;
    let count = produced.count as f64;
    let counts = Counts {
        deadlocks: status.deadlocks as u64,
        errors: produced.errors.len() as u64,
        ..Counts::default()
    };
    let mut round = Round { counts, ..Round::default() };
    // Whether what was committed is there.
    if let Some(there) = backlog.remaining(contender).await? {
        round.counts.lost = produced.count.saturating_sub(there);
        round.counts.doubled = there.saturating_sub(produced.count);
    }
    round.set("rate", count / produced.seconds);
    round.set_some("insert_p50_ms", produced.transactions.percentile(0.5));
    round.set_some("insert_p99_ms", produced.transactions.percentile(0.99));
    round.set("producer_cpu_ms_per_1000", 1e6 * produced.cpu_seconds / count);
    round.set("server_cpu_ms_per_1000", 1e6 * status.cpu / count);
    round.set("statements_per_message", status.statements / count);
    round.set("redo_bytes_per_message", status.redo / count);
    if let Some(error) = produced.errors.first() {
        eprintln!("an error reached a producer: {error}");
    }
    Ok(round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_whether_tls_is_meant() {
        assert_eq!(with_tls("mysql://r@h:1/x?ssl-mode=disabled", true), "mysql://r@h:1/x?ssl-mode=required");
        assert_eq!(with_tls("mysql://r@h:1/x?a=b", false), "mysql://r@h:1/x?a=b&ssl-mode=disabled");
    }
}
