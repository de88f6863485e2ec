use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::figures::{Drained, Enqueueing, Figures, Times, rate};
use crate::table::plain;

/// The figures for people, each with a sentence.
pub(super) fn as_text(figures: &Figures) -> String {
    let Figures { server, auto, each, settings, round_trip, commit, enqueue, drain, latency } = figures;
    let mut text = String::new();
    let mut line = |what: &str, figure: String, sentence: &str| {
        let _ = writeln!(text, "{}", format!("{what:<38}{figure:<38}{}", plain(sentence)).trim_end());
    };
    line("server", server.clone(), "");
    line("strategy of auto", auto.to_string(), "");
    for one in settings {
        line(one.name, one.value.clone(), one.means);
    }
    line("", String::new(), "");
    line(
        "round trip",
        spread(round_trip),
        "each statement takes at least that, so far apart are program and server",
    );
    let commits = format!("{}/s, {}", whole(commit.rate()), spread(commit));
    line("commit", commits, "one row, one connection, one commit after the other");
    for one in enqueue {
        let Enqueueing { producers, per_transaction, times, .. } = one;
        let what = format!("enqueue, {producers} x {per_transaction}");
        let figure = format!("{}/s, {}", whole(one.rate()), spread(times));
        line(&what, figure, sentence_of(*producers, *per_transaction));
    }
    for (strategy, drained) in drain {
        let what = format!("claim and settle, {strategy}");
        match drained {
            Drained::Done { messages, took } => {
                let figure = format!("{}/s", whole(rate(*messages, *took)));
                line(
                    &what,
                    figure,
                    "one relay whose handler does nothing; yours is as fast as its handler at most",
                );
            }
            Drained::Unsupported(why) => line(&what, "not on this server".into(), why),
        }
    }
    let sentence = "from the call that enqueues to the handler, in one process that wakes its relay; elsewhere add relay.idle_max, or a wakeup";
    line("enqueue to handler", spread(latency), sentence);
    let _ = writeln!(text, "\neach part took {} s; messages had 200 bytes", each.as_secs_f64());
    text
}

fn sentence_of(producers: u64, per_transaction: u64) -> &'static str {
    match (producers, per_transaction) {
        (1, 1) => "messages; a message in each transaction, one transaction after the other",
        (_, 1) => "messages; the same from several at a time, whose commits share a flush",
        _ => "messages; many in each transaction",
    }
}

/// A rate without the digits below its precision.
fn whole(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|three| str::from_utf8(three).ok()).collect();
    groups.join(",")
}

fn spread(times: &Times) -> String {
    match (times.percentile(0.5), times.percentile(0.99)) {
        (Some(half), Some(most)) => format!("p50 {:.2} ms, p99 {:.2} ms", ms(half), ms(most)),
        _ => "nothing was measured".into(),
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The same as one object.
pub(super) fn as_value(figures: &Figures) -> Value {
    let Figures { server, auto, each, settings, round_trip, commit, enqueue, drain, latency } = figures;
    let settings =
        settings.iter().map(|one| json!({"name": one.name, "value": one.value, "means": one.means}));
    let enqueue = enqueue.iter().map(|one| {
        let Enqueueing { producers, per_transaction, messages, times, .. } = one;
        with_spread(
            json!({
                "producers": producers,
                "messages_per_transaction": per_transaction,
                "messages": messages,
                "messages_per_second": round(one.rate()),
            }),
            times,
        )
    });
    let drain = drain.iter().map(|(strategy, drained)| {
        let (messages, a_second, why) = match drained {
            Drained::Done { messages, took } => (Some(*messages), Some(round(rate(*messages, *took))), None),
            Drained::Unsupported(why) => (None, None, Some(why)),
        };
        json!({
            "strategy": strategy.name(),
            "supported": why.is_none(),
            "messages": messages,
            "messages_per_second": a_second,
            "why": why,
        })
    });
    json!({
        "server": server,
        "auto": auto.name(),
        "seconds_each": each.as_secs_f64(),
        "settings": settings.collect::<Vec<_>>(),
        "round_trip": with_spread(json!({}), round_trip),
        "commit": with_spread(json!({"per_second": round(commit.rate())}), commit),
        "enqueue": enqueue.collect::<Vec<_>>(),
        "drain": drain.collect::<Vec<_>>(),
        "latency": with_spread(json!({"messages": latency.count()}), latency),
    })
}

fn with_spread(mut value: Value, times: &Times) -> Value {
    for (name, share) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
        value[name] = times.percentile(share).map(|time| (ms(time) * 1e3).round() / 1e3).into();
    }
    value
}

fn round(rate: f64) -> f64 {
    (rate * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_rates_are_grouped() {
        assert_eq!([0.0, 12.4, 999.6, 1_234_567.0].map(whole), ["0", "12", "1,000", "1,234,567"]);
    }
}
