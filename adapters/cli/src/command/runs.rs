use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{
    MessageId, MessageStanding,
    step::{RunFilter, RunListed, RunPage, StepListed, StepStanding},
};
use claimstream_ports::{FindMessages, step::ListRuns};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::{Map, Value, json};

use super::standing;
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    run_arguments::RunListing,
    table::{Column, Table, plain},
};

/// How the runs of a kind are called in a list: the headings of their two names, the fields of these, and the words for none.
pub(super) struct Called {
    pub(super) headings: [&'static str; 2],
    pub(super) fields: [&'static str; 2],
    pub(super) none: &'static str,
    /// What a run has under these headings and fields.
    pub(super) names: fn(&RunListed) -> [String; 2],
}

/// Lists runs, the one that has stood still for longest first.
pub(super) async fn list(
    listing: RunListing,
    filter: &RunFilter,
    called: &Called,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let as_json = listing.json;
    let RunPage { runs, next } = read(&outbox, filter, listing).await?;
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let items: Vec<Value> = runs.iter().map(|run| item(run, called, moments)).collect();
        writeln!(out, "{}", json!({"items": items, "next": next.map(|next| next.to_string())}))?;
        return Ok(ExitCode::SUCCESS);
    }
    match runs.is_empty() {
        true => writeln!(out, "{}", called.none)?,
        false => write!(out, "{}", table(&runs, called))?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A page; a call of the store may find few runs, or none, although there are more.
async fn read(outbox: &SeaOrmOutbox, filter: &RunFilter, listing: RunListing) -> Result<RunPage, Failure> {
    let RunListing { limit, after, .. } = listing;
    let mut all = RunPage { runs: Vec::new(), next: after };
    loop {
        let wanted = limit.saturating_sub(all.runs.len() as u32);
        let page = outbox.runs(filter, all.next, wanted).await?;
        all.runs.extend(page.runs);
        all.next = page.next;
        if all.next.is_none() || all.runs.len() >= limit as usize {
            return Ok(all);
        }
    }
}

fn table(runs: &[RunListed], called: &Called) -> Table<5> {
    let [first, second] = called.headings;
    let mut table = Table::new([
        Column::Text(first),
        Column::Text(second),
        Column::Text("STATE"),
        Column::Number("QUIET FOR"),
        Column::Number("BEGAN"),
    ]);
    for run in runs {
        let [first, second] = (called.names)(run);
        let began = format!("{} ago", Age(run.age));
        table.row([first, second, run.standing.state.into(), Age(run.quiet_for).to_string(), began]);
    }
    table
}

fn item(run: &RunListed, called: &Called, moments: Moments) -> Value {
    let mut fields = standing_of(run.standing, run.version, moments.ago(run.age), moments.ago(run.quiet_for));
    for (field, name) in called.fields.into_iter().zip((called.names)(run)) {
        fields.insert(field.into(), name.into());
    }
    fields.insert("quiet_seconds".into(), json!(run.quiet_for.as_secs_f64()));
    Value::Object(fields)
}

fn standing_of(
    standing: StepStanding,
    version: u64,
    began_at: String,
    changed_at: String,
) -> Map<String, Value> {
    let fields = json!({
        "state": standing.state,
        "open": standing.is_open,
        "version": version,
        "began_at": began_at,
        "changed_at": changed_at,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// How one row stands, as fields of an object; all are null if there is none.
pub(super) fn fields(step: Option<&StepListed>, moments: Moments) -> Map<String, Value> {
    match step {
        Some(step) => {
            standing_of(step.standing, step.version, moments.ago(step.age), moments.ago(step.quiet_for))
        }
        None => {
            let names = ["state", "open", "version", "began_at", "changed_at"];
            names.map(|name| (name.to_owned(), Value::Null)).into_iter().collect()
        }
    }
}

/// The rows of a run but for the one that stands for it, as JSON; each has its name in the field `named`.
pub(super) fn rows(steps: &[StepListed], named: &str, moments: Moments) -> Vec<Value> {
    let rows = steps.iter().map(|step| {
        let mut fields = fields(Some(step), moments);
        fields.insert(named.into(), (*step.step).into());
        Value::Object(fields)
    });
    rows.collect()
}

/// The same for people.
pub(super) fn row_table(steps: &[StepListed], heading: &'static str) -> Table<4> {
    let mut table = Table::new([
        Column::Text(heading),
        Column::Text("STATE"),
        Column::Number("CHANGED"),
        Column::Number("BEGAN"),
    ]);
    for step in steps {
        let ago = |age| format!("{} ago", Age(age));
        table.row([step.step.to_string(), step.standing.state.into(), ago(step.quiet_for), ago(step.age)]);
    }
    table
}

/// A message of a run: what it asks for, its id, and where it stands.
pub(super) type RunMessage = (&'static str, MessageId, Option<MessageStanding>);

/// Where the messages of a run stand; those that are finished, or were never enqueued, are left out.
pub(super) async fn messages(
    outbox: &SeaOrmOutbox,
    known: Vec<(&'static str, MessageId)>,
) -> Result<Vec<RunMessage>, Failure> {
    let ids: Vec<MessageId> = known.iter().map(|(_, id)| *id).collect();
    let found = outbox.find(&ids).await?;
    let all = known.into_iter().zip(found).map(|((asks, id), found)| (asks, id, found));
    Ok(all.filter(|(_, _, found)| found.is_some()).collect())
}

/// Messages as JSON.
pub(super) fn message_values(messages: &[RunMessage], moments: Moments) -> Vec<Value> {
    let value = |(asks, id, found): &RunMessage| {
        let mut fields = standing::fields(found.as_ref(), moments);
        fields.insert("asks".into(), (*asks).into());
        fields.insert("id".into(), id.to_string().into());
        Value::Object(fields)
    };
    messages.iter().map(value).collect()
}

/// Messages for people, with what helps if one is a dead letter.
pub(super) fn message_lines(messages: &[RunMessage]) -> String {
    let mut text = String::new();
    for (asks, id, found) in messages {
        let Some(found) = found else { continue };
        let error = found.last_error.as_ref().map(|error| format!(": {}", plain(error.as_str())));
        let (state, next) = (found.state.name(), standing::next(found));
        let next = if next == state { String::new() } else { format!(", {next}") };
        text += &format!(
            "message       {asks} {id}: {state}{next}, attempt {}{}\n",
            found.attempts,
            error.unwrap_or_default()
        );
        if state == "dead" {
            text += &format!("              claimstream dead revive --id {id} --yes continues it\n");
        }
    }
    text
}
