use std::fmt::Write;

use crate::{cell::conditions, record::Record, statistics::ratio};

/// What the ratios of a group are against.
const REFERENCE: &str = "ceilxr";

/// A group of cells as a table for the terminal: medians, least and most, ratios, and what should be nothing.
pub(crate) fn table(records: &[Record]) -> String {
    let mut text = String::new();
    let Some(first) = records.first() else { return text };
    let _ = writeln!(text, "\n{} on {}, {} rounds", first.scenario, first.server.name, most_rounds(records));
    let _ = writeln!(
        text,
        "{:<34} {:<44} {:>12} {:>25} {:>6} {:>9} {:>10} {:>10} {:>6} {:>11}",
        "contender",
        "conditions",
        "median",
        "min - max",
        "ratio",
        "deadlocks",
        "duplicates",
        "superseded",
        "lost",
        "not drained"
    );
    for record in records {
        line(&mut text, record, records);
    }
    text
}

fn line(text: &mut String, record: &Record, group: &[Record]) {
    let figure = main_figure(&record.scenario);
    let conditions = conditions(record.instances, &record.parameters);
    let counts = record.counts();
    let median = record.median(figure);
    let range = record
        .range(figure)
        .map_or_else(String::new, |(least, most)| format!("{} - {}", short(least), short(most)));
    let reference =
        group.iter().find(|other| other.contender == REFERENCE).and_then(|other| other.median(figure));
    let ratio = median.zip(reference).and_then(|(one, other)| ratio(one, other));
    let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let _ = writeln!(
        text,
        "{:<34} {conditions:<44} {:>12} {range:>25} {ratio:>6} {:>9} {:>10} {:>10} {:>6} {:>11}",
        record.contender,
        median.map_or_else(|| "-".into(), short),
        counts.deadlocks,
        counts.duplicates,
        counts.superseded,
        counts.lost,
        counts.not_drained,
    );
    for failure in &record.failures {
        let _ = writeln!(text, "    failed: {failure}");
    }
}

/// The figure that a scenario is about.
pub(crate) fn main_figure(scenario: &str) -> &'static str {
    match scenario {
        "steady" => "latency_p99_ms",
        "highest_rate" => "highest_rate",
        "near_empty" => "insert_p99_ms",
        "idle" => "statements_per_second_and_instance",
        "wakeup" => "latency_p50_ms",
        "memory" => "resident_held_mib",
        "statements" => "rate_alone",
        _ => "rate",
    }
}

/// A number as people write it: no more digits than it is worth.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 && value < 0.0 => format!("-{}", whole(-value as u64)),
        size if size >= 100.0 => whole(value.round() as u64),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number, its digits in groups of three.
pub(crate) fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn most_rounds(records: &[Record]) -> usize {
    records.iter().map(|record| record.rounds.len()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.123, 12.34, 123.4, 1234.4, 1_234_567.0, -1500.0, 99.96].map(short);
        assert_eq!(numbers, ["0.12", "12.3", "123", "1,234", "1,234,567", "-1,500", "100.0"]);
    }
}
