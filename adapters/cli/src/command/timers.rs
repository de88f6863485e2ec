use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{
    MessageId, MessageStanding,
    step::{RunKind, StepListed},
    timer_event::{SchemeName, Tick, TimerListed, TimerPage},
};
use claimstream_ports::{
    FindMessages,
    step::{ListRuns, ListTimers},
};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::{Value, json};

use super::{
    runs::{self, Called, RunMessage},
    standing,
};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    run_arguments::{TimerArguments, TimerCommand},
    table::{Column, Table},
};

const CALLED: Called = Called {
    headings: ["SCHEME", "OCCURRENCE"],
    fields: ["scheme", "occurrence"],
    none: "there are no such events",
    names: |run| {
        let scheme = run.key.scope().strip_prefix("timer:").unwrap_or(run.key.scope());
        [scheme.to_owned(), run.key.run().to_owned()]
    },
};

/// The most decisions of an event that are shown.
const MOST: u32 = 1_000;

/// Lists timers or events, or shows an event.
pub(super) async fn run(
    asked: TimerArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match asked.command {
        Some(TimerCommand::Events { scheme, listing }) => {
            let filter = listing.filter(RunKind::TimerEvent, scheme.as_ref().map(SchemeName::as_str));
            runs::list(listing, &filter, &CALLED, config, out).await
        }
        Some(TimerCommand::Show { scheme, occurrence, json }) => {
            show(&Tick { scheme, occurrence }, json, config, out).await
        }
        None => list(asked, config, out).await,
    }
}

async fn list(asked: TimerArguments, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let TimerArguments { limit, after, json: as_json, .. } = asked;
    let outbox = config.database.open_existing().await?;
    let mut all = TimerPage { timers: Vec::new(), next: after };
    loop {
        let page = outbox.timers(all.next, limit - all.timers.len() as u32).await?;
        all.timers.extend(page.timers);
        all.next = page.next;
        if all.next.is_none() || all.timers.len() >= limit as usize {
            break;
        }
    }
    let ids: Vec<MessageId> = all.timers.iter().map(|timer| timer.message).collect();
    let found = outbox.find(&ids).await?;
    let rows = all.timers.iter().zip(&found);
    let next = all.next.as_ref().map(ToString::to_string);
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let items: Vec<Value> = rows.map(|(timer, found)| item(timer, found.as_ref(), moments)).collect();
        writeln!(out, "{}", json!({"items": items, "next": next}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["SCHEME", "QUEUE", "OCCURRENCE", "MESSAGE"].map(Column::Text));
    for (timer, found) in rows {
        let TimerListed { queue, scheme, occurrence, .. } = timer;
        table.row([scheme.to_string(), queue.to_string(), occurrence.to_string(), said(found.as_ref())]);
    }
    match all.timers.is_empty() {
        true => writeln!(out, "there are no timers")?,
        false => write!(out, "{table}")?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after '{next}'");
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the message of a timer's newest occurrence stands, for people.
fn said(found: Option<&MessageStanding>) -> String {
    match found {
        None => "none is found: nothing moves the timer on until its program starts again, unless it waits behind more than 10,000 others".into(),
        Some(found) => {
            let (state, next) = (found.state.name(), standing::next(found));
            if next == state { state.into() } else { format!("{state}, {next}") }
        }
    }
}

fn item(timer: &TimerListed, found: Option<&MessageStanding>, moments: Moments) -> Value {
    let mut fields = standing::fields(found, moments);
    let more = [
        ("scheme", timer.scheme.to_string()),
        ("queue", timer.queue.to_string()),
        ("occurrence", timer.occurrence.to_string()),
        ("message", timer.message.to_string()),
    ];
    fields.extend(more.map(|(name, value)| (name.to_owned(), value.into())));
    Value::Object(fields)
}

async fn show(
    tick: &Tick,
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let scope = RunKind::TimerEvent.scope(tick.scheme.as_str());
    let rows = outbox.steps(&scope, &tick.unique_code(), MOST).await?;
    let messages = messages(&outbox, tick).await?;
    if rows.is_empty() && messages.is_empty() {
        let Tick { scheme, occurrence } = tick;
        let why =
            format!("there is no event of {scheme} at {occurrence}; `claimstream timers` lists the schemes");
        return Err(Failure::Refused(why));
    }
    let (own, decisions): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.step.is_empty());
    let own = own.first();
    match as_json {
        true => writeln!(out, "{}", as_value(tick, own, &decisions, &messages, Moments::of(&outbox).await?))?,
        false => write!(out, "{}", described(tick, own, &decisions, &messages))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn messages(outbox: &SeaOrmOutbox, tick: &Tick) -> Result<Vec<RunMessage>, Failure> {
    let known = vec![("tick", tick.message_id()), ("deadline", tick.deadline_id())];
    runs::messages(outbox, known).await
}

fn as_value(
    tick: &Tick,
    own: Option<&StepListed>,
    decisions: &[StepListed],
    messages: &[RunMessage],
    moments: Moments,
) -> Value {
    let mut fields = runs::fields(own, moments);
    let more = [
        ("scheme", json!(tick.scheme.as_str())),
        ("occurrence", json!(tick.unique_code())),
        ("steps", json!(runs::rows(decisions, "step", moments))),
        ("messages", json!(runs::message_values(messages, moments))),
    ];
    fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(fields)
}

fn described(
    tick: &Tick,
    own: Option<&StepListed>,
    decisions: &[StepListed],
    messages: &[RunMessage],
) -> String {
    let Tick { scheme, occurrence } = tick;
    let mut text = format!("scheme        {scheme}\noccurrence    {occurrence}\n");
    text += &match own {
        Some(own) => format!(
            "state         {}\nchanged       {} ago\nbegan         {} ago\n",
            own.standing.state,
            Age(own.quiet_for),
            Age(own.age)
        ),
        None => "state         not begun\n".into(),
    };
    text += &runs::message_lines(messages);
    match decisions.is_empty() {
        true => text,
        false => text + &format!("\n{}", runs::row_table(decisions, "STEP")),
    }
}
