use super::{book::Book, flow};
use crate::record::Record;

/// The library's strategies, by their words in the configuration.
pub(super) const STRATEGIES: [&str; 3] = ["shard_lease", "preemptive_update", "skip_locked"];

/// What was asked of the library, and what it came to on one server.
pub(super) struct Target {
    pub(super) what: String,
    ask: Ask,
    found: Option<f64>,
}

pub(super) enum Ask {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
    None,
}

impl Target {
    pub(super) fn new(what: impl Into<String>, ask: Ask, found: Option<f64>) -> Self {
        Self { what: what.into(), ask, found }
    }

    /// The figure, what was asked, and whether that is met.
    pub(super) fn verdict(&self) -> String {
        let asked = match self.ask {
            Ask::AtLeast(ask) => format!("at least {ask:.2}"),
            Ask::AtMost(ask) => format!("at most {ask:.2}"),
            Ask::Below(ask) => format!("below {ask:.0}"),
            Ask::None => "none".into(),
        };
        let Some(found) = self.found else { return format!("{asked}: not measured") };
        let met = match self.ask {
            Ask::AtLeast(ask) => found >= ask,
            Ask::AtMost(ask) => found <= ask,
            Ask::Below(ask) => found < ask,
            Ask::None => found == 0.0,
        };
        format!("{}, {asked}: {}", self.shown(found), if met { "met" } else { "**not met**" })
    }

    /// The figure with two digits, or with as many more as show on which side of the ask it is.
    fn shown(&self, found: f64) -> String {
        let ask = match self.ask {
            Ask::AtLeast(ask) | Ask::AtMost(ask) | Ask::Below(ask) => ask,
            Ask::None => return format!("{found:.0}"),
        };
        let looks_equal = |digits: &usize| format!("{found:.digits$}") == format!("{ask:.digits$}");
        let digits = if found == ask { 2 } else { (2..6).find(|digits| !looks_equal(digits)).unwrap_or(6) };
        format!("{found:.digits$}")
    }
}

/// Every target, in the order of the list, for one server.
pub(super) fn targets(book: &Book, server: &str) -> Vec<Target> {
    let mut targets = Vec::new();
    flow::add(book, server, &mut targets);
    against_the_bound(book, server, &mut targets);
    flatness(book, server, &mut targets);
    client_cpu(book, server, &mut targets);
    client_cpu_in_batches(book, server, &mut targets);
    correctness(book, server, &mut targets);
    idleness(book, server, &mut targets);
    against_peers(book, server, &mut targets);
    targets
}

/// Draining what the targets are about.
pub(super) fn drained(contender: &str, instances: u64) -> impl Fn(&Record) -> bool {
    let contender = contender.to_owned();
    move |one| is_asked_for(one, instances) && one.contender == contender
}

/// Targets are about draining 100,000 messages of 500 bytes, 100 a claim.
fn is_asked_for(one: &Record, instances: u64) -> bool {
    let sizes = [("backlog", 100_000.0), ("batch", 100.0), ("payload", 500.0)];
    let is_sized = sizes.iter().all(|(name, size)| one.number(name) == Some(*size));
    one.scenario == "drain" && one.instances == instances && is_sized
}

/// The steady load of a contender.
pub(super) fn steady(contender: &str) -> impl Fn(&Record) -> bool {
    move |one| one.scenario == "steady" && one.contender == contender && one.number("rate") == Some(5000.0)
}

/// Requests of one recipient each, or one request to many.
pub(super) fn notifications(contender: &str, relays: u64, is_large: bool) -> impl Fn(&Record) -> bool {
    move |one| {
        let same = one.instances == relays && (one.number("requests") == Some(1.0)) == is_large;
        one.scenario == "notifications" && one.contender == contender && same
    }
}

/// Draining under so many keys, or without order if there are none.
pub(super) fn ordered(instances: u64, keys: u64) -> impl Fn(&Record) -> bool {
    move |one| {
        one.scenario == "order" && one.instances == instances && one.number("keys") == Some(keys as f64)
    }
}

/// Enqueueing in the clear.
pub(super) fn enqueued(contender: &str, producers: u64, per_transaction: u64) -> impl Fn(&Record) -> bool {
    move |one| {
        let sizes = [("producers", producers), ("per_transaction", per_transaction)];
        let same = sizes.iter().all(|(name, size)| one.number(name) == Some(*size as f64));
        let in_the_clear = one.parameters.get("tls") == Some(&false.into());
        one.scenario == "enqueue" && one.contender == contender && same && in_the_clear
    }
}

pub(super) fn many(instances: u64) -> String {
    if instances == 1 { "1 instance".into() } else { format!("{instances} instances") }
}

fn against_the_bound(book: &Book, server: &str, targets: &mut Vec<Target>) {
    let asks: [(&str, &[(u64, f64)]); 3] = [
        ("shard_lease", &[(1, 2.1), (4, 2.1), (16, 1.6)]),
        ("preemptive_update", &[(1, 1.2), (4, 1.1), (16, 0.9)]),
        ("skip_locked", &[(1, 0.95), (4, 0.9)]),
    ];
    for (strategy, asks) in asks {
        for (instances, ask) in asks {
            let found =
                book.ratio(server, "rate", drained(strategy, *instances), drained("ceilxr", *instances));
            let what = format!("`{strategy}` against `ceilxr`, {}", many(*instances));
            targets.push(Target::new(what, Ask::AtLeast(*ask), found));
        }
    }
}

fn flatness(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for strategy in STRATEGIES {
        let found = book.ratio(server, "rate", drained(strategy, 16), drained(strategy, 4));
        targets.push(Target::new(format!("`{strategy}`, 16 instances against 4"), Ask::AtLeast(0.9), found));
    }
    let of = |strategy: &'static str, scenario: &'static str, is: fn(&Record, f64) -> bool, value: f64| {
        move |one: &Record| one.scenario == scenario && one.contender == strategy && is(one, value)
    };
    for (size, name, ask) in [(1e6, "1M", 0.9), (5e6, "5M", 0.7)] {
        for strategy in STRATEGIES {
            let sized = |size| of(strategy, "backlog", |one, size| one.number("backlog") == Some(size), size);
            let found = book.ratio(server, "rate", sized(size), sized(1e4));
            targets.push(Target::new(
                format!("`{strategy}`, backlog {name} against 10k"),
                Ask::AtLeast(ask),
                found,
            ));
        }
    }
    for strategy in STRATEGIES {
        let open = of(strategy, "snapshot", |one, _| one.word("snapshot") == "open", 0.0);
        let none = of(strategy, "snapshot", |one, _| one.word("snapshot") == "none", 0.0);
        let found = book.ratio(server, "rate", open, none);
        targets.push(Target::new(
            format!("`{strategy}`, snapshot open against none"),
            Ask::AtLeast(0.85),
            found,
        ));
    }
}

fn client_cpu(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for strategy in STRATEGIES {
        for instances in [1, 4] {
            let (one, other) = (drained(strategy, instances), drained("handwritten", instances));
            let found = book.ratio(server, "client_cpu_ms_per_1000", one, other);
            let what = format!(
                "client CPU of `{strategy}`, one by one, against the hand-written loop, {}",
                many(instances)
            );
            targets.push(Target::new(what, Ask::AtMost(2.0), found));
        }
    }
}

fn client_cpu_in_batches(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for instances in [1, 4] {
        let (one, other) = (drained("shard_lease_batches", instances), drained("handwritten", instances));
        let found = book.ratio(server, "client_cpu_ms_per_1000", one, other);
        let what = format!(
            "client CPU of `shard_lease`, in batches, against the hand-written loop, {}",
            many(instances)
        );
        targets.push(Target::new(what, Ask::AtMost(1.3), found));
    }
}

fn is_library(one: &Record) -> bool {
    STRATEGIES.iter().any(|strategy| one.contender.starts_with(strategy))
        || one.contender.starts_with("library")
}

fn correctness(book: &Book, server: &str, targets: &mut Vec<Target>) {
    let cells = book.all(server, is_library);
    let sum = |count: fn(&Record) -> u64| {
        (!cells.is_empty()).then(|| cells.iter().map(|cell| count(cell)).sum::<u64>() as f64)
    };
    targets.push(Target::new(
        "errors that reached the user, all scenarios",
        Ask::None,
        sum(|one| one.counts().errors),
    ));
    let per_claims = |one: &&Record| {
        let counts = one.counts();
        let claims = counts.handed_out.max(1) as f64;
        if counts.deadlocks == 0 { 0.0 } else { counts.deadlocks as f64 * 1e5 / claims }
    };
    let worst = cells.iter().map(per_claims).max_by(f64::total_cmp);
    targets.push(Target::new(
        "deadlocks per 100,000 claimed messages, worst scenario",
        Ask::Below(1.0),
        worst,
    ));
    let duplicates = sum(|one| one.counts().duplicates + one.counts().doubled);
    targets.push(Target::new("messages doubled, all scenarios", Ask::None, duplicates));
    targets.push(Target::new("messages lost, all scenarios", Ask::None, sum(|one| one.counts().lost)));
}

fn idleness(book: &Book, server: &str, targets: &mut Vec<Target>) {
    for strategy in STRATEGIES {
        let with = |consumers: &'static str| {
            move |one: &Record| {
                let same = consumers == "none" || one.contender == strategy;
                one.scenario == "near_empty" && one.word("consumers") == consumers && same
            }
        };
        let found = book.ratio(server, "insert_p99_ms", with("idle"), with("none"));
        let what = format!("producers' insert p99 with 16 idle `{strategy}` instances against none");
        targets.push(Target::new(what, Ask::AtMost(1.2), found));
    }
    for strategy in STRATEGIES {
        let is = |scenario: &'static str| {
            move |one: &Record| one.scenario == scenario && one.contender == strategy
        };
        let found = book.figure(server, "statements_per_second_and_instance", is("idle"));
        let what = format!("`{strategy}`, idle, statements a second and instance");
        targets.push(Target::new(what, Ask::AtMost(1.0), found));
        for (figure, name, ask) in [("latency_p50_ms", "p50", 5.0), ("latency_p99_ms", "p99", 20.0)] {
            let found = book.figure(server, figure, is("wakeup"));
            let what = format!("`{strategy}`, idle, enqueued in the same process to handled, {name}, ms");
            targets.push(Target::new(what, Ask::Below(ask), found));
        }
    }
}

fn against_peers(book: &Book, server: &str, targets: &mut Vec<Target>) {
    let peer = |instances| move |one: &Record| is_asked_for(one, instances) && one.peer.is_some();
    for (strategy, asks) in [("shard_lease", [2.3, 4.0]), ("preemptive_update", [1.25, 2.0])] {
        for (instances, ask) in [1, 4].into_iter().zip(asks) {
            let found = book.ratio(server, "rate", drained(strategy, instances), peer(instances));
            let what = format!("`{strategy}` against the fastest other library, {}", many(instances));
            targets.push(Target::new(what, Ask::AtLeast(ask), found));
        }
    }
    for strategy in STRATEGIES {
        for instances in [1, 4] {
            let leases =
                |one: &Record| peer(instances)(one) && one.peer.as_ref().is_some_and(|peer| peer.leases);
            let found = book.ratio(server, "rate", drained(strategy, instances), leases);
            let what =
                format!("`{strategy}` against other libraries that lease messages, {}", many(instances));
            targets.push(Target::new(what, Ask::AtLeast(6.0), found));
        }
    }
    for tls in [false, true] {
        let same = move |one: &Record| {
            let sizes = one.number("producers") == Some(8.0) && one.number("per_transaction") == Some(100.0);
            one.scenario == "enqueue" && sizes && one.parameters.get("tls") == Some(&tls.into())
        };
        let ours = move |one: &Record| same(one) && one.contender == "library";
        let theirs = move |one: &Record| same(one) && one.peer.is_some();
        let found = book.ratio(server, "rate", ours, theirs);
        let way = if tls { "over TLS" } else { "in the clear" };
        let what = format!("enqueue, 100 a transaction, 8 producers, {way}, against the best other library");
        targets.push(Target::new(what, Ask::AtLeast(1.0), found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_figure_ask_and_whether_it_is_met() {
        let verdict = |ask, found| Target::new("", ask, found).verdict();
        assert_eq!(verdict(Ask::AtLeast(1.9), Some(1.9)), "1.90, at least 1.90: met");
        assert_eq!(verdict(Ask::AtLeast(1.9), Some(1.2)), "1.20, at least 1.90: **not met**");
        assert_eq!(verdict(Ask::AtMost(1.2), Some(1.3)), "1.30, at most 1.20: **not met**");
        assert_eq!(verdict(Ask::Below(1.0), None), "below 1: not measured");
        assert_eq!(verdict(Ask::None, Some(0.0)), "0, none: met");
    }

    #[test]
    fn a_figure_that_rounding_would_make_the_ask_has_more_digits() {
        let verdict = |ask, found| Target::new("", ask, Some(found)).verdict();
        assert_eq!(verdict(Ask::AtLeast(0.7), 0.6963), "0.696, at least 0.70: **not met**");
        assert_eq!(verdict(Ask::AtMost(1.0), 1.0002), "1.0002, at most 1.00: **not met**");
        assert_eq!(verdict(Ask::AtLeast(0.7), 0.7), "0.70, at least 0.70: met");
    }

    #[test]
    fn the_servers_have_the_same_targets() {
        let book = Book::new(Vec::new());
        let names = |server| targets(&book, server).into_iter().map(|one| one.what).collect::<Vec<_>>();
        assert_eq!(names("mariadb-10.11"), names("mysql-9.7"));
    }
}
