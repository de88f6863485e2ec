use std::{fs, path::Path};

use serde_json::{Map, Value};

use crate::{
    Failure,
    record::{Record, Round},
};

/// Reads all lines of a file: those of the bench, and those of the binary `ownership`, which have another form.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let record = |(n, line): (usize, &str)| {
        let wrong = |e| format!("{}, line {}: {e}", path.display(), n + 1);
        match serde_json::from_str(line).map_err(wrong)? {
            Value::Object(fields) if !fields.contains_key("scenario") => Ok(of_ownership(&fields)),
            bench => Ok(serde_json::from_value(bench).map_err(wrong)?),
        }
    };
    lines.map(record).collect()
}

/// What distinguishes cells of `ownership`; its other numbers are figures.
const PARAMETERS: [&str; 4] = ["order", "keys", "lease_ms", "bound"];

/// A line that names its scenario `run` and its server with the version in brackets.
fn of_ownership(fields: &Map<String, Value>) -> Record {
    let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let server = word("server");
    let (name, version) = server.split_once(" (").unwrap_or((&server, ""));
    let mut record = Record {
        run: server.clone(),
        scenario: word("run"),
        contender: "shard_lease".into(),
        instances: fields.get("instances").and_then(Value::as_u64).unwrap_or(0),
        ..Record::default()
    };
    record.server.name = name.into();
    record.server.version = version.trim_end_matches(')').into();
    let parameters =
        PARAMETERS.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone())));
    record.parameters = parameters.collect();
    record.rounds = match fields.get("rounds").and_then(Value::as_array) {
        Some(rounds) => rounds.iter().filter_map(Value::as_object).map(figures).collect(),
        None => vec![figures(fields)],
    };
    for round in &mut record.rounds {
        let count = |name: &str| round.figures.get(name).map_or(0, |value| *value as u64);
        round.counts.lost = count("lost");
        round.counts.doubled = count("duplicates_by_fence");
        round.counts.superseded = count("superseded");
    }
    record
}

/// All numbers, those of objects inside too.
fn figures(fields: &Map<String, Value>) -> Round {
    let mut round = Round::default();
    for (name, value) in fields.iter().filter(|(name, _)| name.as_str() != "instances") {
        match value {
            Value::Number(number) if !PARAMETERS.contains(&name.as_str()) => {
                round.set_some(name, number.as_f64());
            }
            Value::Object(inside) => round.figures.extend(figures(inside).figures),
            _ => {}
        }
    }
    round
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ownership_is_a_cell_too() {
        let line = r#"{"run":"kill","server":"mysql-9.7 (9.7.4)","order":"per_key","instances":4,"keys":50,
            "kills":60,"wrongs":{"lost":0,"gaps":0}}"#;
        let Value::Object(fields) = serde_json::from_str(line).unwrap() else { panic!() };
        let record = of_ownership(&fields);
        assert_eq!((record.scenario.as_str(), record.server.name.as_str()), ("kill", "mysql-9.7"));
        assert_eq!((record.instances, record.word("order")), (4, "per_key"));
        let names: Vec<_> = record.rounds[0].figures.keys().map(String::as_str).collect();
        assert_eq!(names, ["gaps", "kills", "lost"]);
    }
}
