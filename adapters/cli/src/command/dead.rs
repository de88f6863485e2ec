use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{
    DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterListed, DeadLetterPlace, MessageId, Payload,
};
use claimstream_ports::DeadLetters;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    dead_change::{self, Change, NONE},
    known_queues::remark_if_unknown,
};
use crate::{
    age::Age,
    config::Config,
    dead_arguments::{DeadChange, DeadCommand},
    failure::Failure,
    moments::Moments,
    table::{Column, Table, plain},
};

/// Lists, shows, counts, revives or purges dead letters.
pub(super) async fn run(
    command: DeadCommand,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if let DeadCommand::Revive(change) | DeadCommand::Purge(change) = &command
        && !change.says_which()
    {
        let why = "say which dead letters: --queue, --id, --older-than, --reason, --limit or --all";
        return Err(Failure::Usage(why.into()));
    }
    let outbox = config.database.open_existing().await?;
    match command {
        DeadCommand::List { filter, limit, after, json } => {
            list(&outbox, filter.into(), limit, after, json, out).await
        }
        DeadCommand::Reasons { filter, limit, json } => {
            reasons(&outbox, &filter.into(), limit, json, out).await
        }
        DeadCommand::Show { id, json } => show(&outbox, id, json, out).await,
        DeadCommand::Revive(change) => {
            change_letters(&outbox, Change::Revive, change, (config, timer), out).await
        }
        DeadCommand::Purge(change) => {
            change_letters(&outbox, Change::Purge, change, (config, timer), out).await
        }
    }
}

/// Changes letters; where none are found in a queue, its name may be misspelt.
async fn change_letters(
    outbox: &SeaOrmOutbox,
    change: Change,
    asked: DeadChange,
    (config, timer): (&Config, TokioTimer),
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let queue = asked.filter.queue.clone();
    let (code, matched) = dead_change::run(outbox, change, asked, timer, out).await?;
    if let (Some(queue), 0) = (queue, matched) {
        remark_if_unknown(&queue, outbox, config, timer).await;
    }
    Ok(code)
}

async fn list(
    outbox: &SeaOrmOutbox,
    filter: DeadLetterFilter,
    limit: u32,
    after: Option<DeadLetterPlace>,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let (mut letters, mut next) = (Vec::new(), after);
    loop {
        let page = outbox.page(&filter, next, limit - letters.len() as u32).await?;
        letters.extend(page.letters);
        next = page.next;
        if next.is_none() || letters.len() >= limit as usize {
            break;
        }
    }
    if as_json {
        let moments = Moments::of(outbox).await?;
        let items: Vec<Value> = letters.iter().map(|letter| listed(letter, moments)).collect();
        writeln!(out, "{}", json!({"items": items, "next": next.map(|next| next.to_string())}))?;
        return Ok(ExitCode::SUCCESS);
    }
    match letters.is_empty() {
        true => writeln!(out, "{NONE}")?,
        false => write!(out, "{}", table(&letters))?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

async fn reasons(
    outbox: &SeaOrmOutbox,
    filter: &DeadLetterFilter,
    most: u32,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let found = outbox.groups(filter, most).await?;
    if as_json {
        let moments = Moments::of(outbox).await?;
        let items: Vec<Value> = found.groups.iter().map(|group| grouped(group, moments)).collect();
        writeln!(out, "{}", json!({"items": items, "complete": found.is_complete}))?;
        return Ok(ExitCode::SUCCESS);
    }
    match found.groups.is_empty() {
        true => writeln!(out, "{NONE}")?,
        false => write!(out, "{}", group_table(&found.groups))?,
    }
    if !found.is_complete {
        let _ = writeln!(stderr(), "only the newest {most} were counted; use --limit");
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(
    outbox: &SeaOrmOutbox,
    id: Uuid,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let filter = DeadLetterFilter { ids: vec![MessageId::new(id)], ..DeadLetterFilter::default() };
    let found = outbox.list(&filter, 1).await?;
    let letter = found.first().ok_or_else(|| Failure::Refused(format!("there is no dead letter {id}")))?;
    match as_json {
        true => writeln!(out, "{}", as_value(letter, Moments::of(outbox).await?))?,
        false => write!(out, "{}", described(letter))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(letters: &[DeadLetterListed]) -> Table<5> {
    let mut table = Table::new([
        Column::Text("ID"),
        Column::Text("QUEUE"),
        Column::Number("ATTEMPTS"),
        Column::Number("DEAD FOR"),
        Column::Text("REASON"),
    ]);
    for letter in letters {
        table.row([
            letter.id.to_string(),
            letter.queue.to_string(),
            letter.attempts.to_string(),
            Age(letter.dead_for).to_string(),
            letter.reason.to_string(),
        ]);
    }
    table
}

fn group_table(groups: &[DeadLetterGroup]) -> Table<5> {
    let mut table = Table::new([
        Column::Number("LETTERS"),
        Column::Text("QUEUE"),
        Column::Number("NEWEST"),
        Column::Number("OLDEST"),
        Column::Text("REASON"),
    ]);
    for group in groups {
        table.row([
            group.letters.to_string(),
            group.queue.to_string(),
            Age(group.newest).to_string(),
            Age(group.oldest).to_string(),
            group.reason.to_string(),
        ]);
    }
    table
}

fn listed(letter: &DeadLetterListed, moments: Moments) -> Value {
    json!({
        "id": letter.id.to_string(),
        "queue": letter.queue.as_str(),
        "attempts": letter.attempts,
        "died_at": moments.ago(letter.dead_for),
        "dead_for_seconds": letter.dead_for.as_secs_f64(),
        "reason": letter.reason.as_str(),
    })
}

fn grouped(group: &DeadLetterGroup, moments: Moments) -> Value {
    json!({
        "queue": group.queue.as_str(),
        "reason": group.reason.as_str(),
        "letters": group.letters,
        "newest_at": moments.ago(group.newest),
        "oldest_at": moments.ago(group.oldest),
    })
}

fn described(letter: &DeadLetter) -> String {
    let message = &letter.message;
    let mut text = format!(
        "id            {}\nqueue         {}\nattempts      {}\ndead for      {}\nreason        {}\n",
        message.id,
        message.queue,
        letter.attempts,
        Age(letter.dead_for),
        plain(letter.reason.as_str())
    );
    if let Some(key) = &message.ordering_key {
        text += &format!("ordering key  {}\n", plain(key.as_str()));
    }
    for (name, value) in message.headers.iter() {
        text += &format!("header        {}: {}\n", plain(name), plain(value));
    }
    text + &format!("content type  {}\n\n{}\n", plain(message.payload.content_type()), body(&message.payload))
}

/// A payload for people: JSON laid out, other text as it is, anything else as its size.
fn body(payload: &Payload) -> String {
    let text = match (serde_json::from_slice::<Value>(payload.bytes()), std::str::from_utf8(payload.bytes()))
    {
        (Ok(json), _) => format!("{json:#}"),
        (Err(_), Ok(text)) => text.to_owned(),
        (Err(_), Err(_)) => format!("{} bytes that are not text", payload.bytes().len()),
    };
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

fn as_value(letter: &DeadLetter, moments: Moments) -> Value {
    let message = &letter.message;
    let bytes = message.payload.bytes();
    let payload = serde_json::from_slice::<Value>(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()));
    json!({
        "id": message.id.to_string(),
        "queue": message.queue.as_str(),
        "attempts": letter.attempts,
        "died_at": moments.ago(letter.dead_for),
        "dead_for_seconds": letter.dead_for.as_secs_f64(),
        "reason": letter.reason.as_str(),
        "ordering_key": message.ordering_key.as_ref().map(|key| key.as_str()),
        "headers": message.headers,
        "content_type": message.payload.content_type(),
        "payload": payload,
    })
}
