use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{DeadLetter, DeadLetterFilter, MessageId, Payload};
use claimstream_ports::{DeadLetters, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    age::Age,
    arguments::{DeadCommand, DeadFilter, DeadSelection},
    config::Config,
    failure::Failure,
    table::{Column, Table, plain},
};

/// Lists, shows, revives or purges dead letters.
pub(super) async fn run(
    command: DeadCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if let DeadCommand::Revive(selection) | DeadCommand::Purge { selection, .. } = &command {
        selection.check()?;
    }
    let outbox = config.database.open_existing().await?;
    match command {
        DeadCommand::List { filter, limit, json } => list(&outbox, filter, limit, json, out).await,
        DeadCommand::Show { id, json } => show(&outbox, id, json, out).await,
        DeadCommand::Revive(selection) => {
            let revived = apply(&outbox, selection, Change::Revive).await?;
            writeln!(out, "revived {revived}")?;
            Ok(ExitCode::SUCCESS)
        }
        DeadCommand::Purge { selection, yes } => purge(&outbox, selection, yes, out).await,
    }
}

async fn list(
    outbox: &SeaOrmOutbox,
    filter: DeadFilter,
    limit: u32,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let letters = outbox.list(&filter.into(), limit).await?;
    match as_json {
        true => writeln!(out, "{}", Value::Array(letters.iter().map(as_value).collect()))?,
        false if letters.is_empty() => writeln!(out, "there are no such dead letters")?,
        false => write!(out, "{}", table(&letters))?,
    }
    if letters.len() as u64 == u64::from(limit) {
        let _ = writeln!(stderr(), "there may be more; use --limit");
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
        true => writeln!(out, "{}", as_value(letter))?,
        false => write!(out, "{}", described(letter))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn purge(
    outbox: &SeaOrmOutbox,
    selection: DeadSelection,
    yes: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if yes {
        let purged = apply(outbox, selection, Change::Purge).await?;
        writeln!(out, "purged {purged}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let limit = selection.limit.unwrap_or(COUNTED).min(COUNTED);
    let found = outbox.list(&selection.filter.into(), limit).await?.len();
    let more = if found == COUNTED as usize { " or more" } else { "" };
    Err(Failure::Refused(format!(
        "nothing was purged; {found}{more} dead letters match, give --yes to delete them"
    )))
}

/// The most dead letters that are counted before they are purged.
const COUNTED: u32 = 10_000;

#[derive(Clone, Copy)]
enum Change {
    Revive,
    Purge,
}

impl Change {
    async fn make(self, outbox: &SeaOrmOutbox, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        match self {
            Self::Revive => outbox.revive(filter).await,
            Self::Purge => outbox.purge(filter).await,
        }
    }
}

/// The most ids that one call names.
const IDS: usize = 500;

/// Changes all that are selected, or the newest of them where there is a limit.
async fn apply(outbox: &SeaOrmOutbox, selection: DeadSelection, change: Change) -> Result<u64, Failure> {
    let filter: DeadLetterFilter = selection.filter.into();
    let Some(limit) = selection.limit else { return Ok(change.make(outbox, &filter).await?) };
    let newest = outbox.list(&filter, limit).await?;
    let ids: Vec<MessageId> = newest.iter().map(|letter| letter.message.id).collect();
    let mut changed = 0;
    for ids in ids.chunks(IDS) {
        changed += change.make(outbox, &DeadLetterFilter { ids: ids.to_vec(), ..filter.clone() }).await?;
    }
    Ok(changed)
}

impl DeadSelection {
    /// Refuses a selection of everything that was not meant.
    fn check(&self) -> Result<(), Failure> {
        let filtered =
            self.filter.queue.is_some() || !self.filter.ids.is_empty() || self.filter.older_than.is_some();
        match filtered || self.all || self.limit.is_some() {
            true => Ok(()),
            false => Err(Failure::Usage(
                "say which dead letters: --queue, --id, --older-than, --limit or --all".into(),
            )),
        }
    }
}

impl From<DeadFilter> for DeadLetterFilter {
    fn from(filter: DeadFilter) -> Self {
        Self { queue: filter.queue, ids: filter.ids, dead_for: filter.older_than }
    }
}

fn table(letters: &[DeadLetter]) -> Table<5> {
    let mut table = Table::new([
        Column::Text("ID"),
        Column::Text("QUEUE"),
        Column::Number("ATTEMPTS"),
        Column::Number("DEAD FOR"),
        Column::Text("REASON"),
    ]);
    for letter in letters {
        table.row([
            letter.message.id.to_string(),
            letter.message.queue.to_string(),
            letter.attempts.to_string(),
            Age(letter.dead_for).to_string(),
            letter.reason.to_string(),
        ]);
    }
    table
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

fn as_value(letter: &DeadLetter) -> Value {
    let message = &letter.message;
    let bytes = message.payload.bytes();
    let payload = serde_json::from_slice::<Value>(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()));
    json!({
        "id": message.id.to_string(),
        "queue": message.queue.as_str(),
        "attempts": letter.attempts,
        "dead_for_seconds": letter.dead_for.as_secs_f64(),
        "reason": letter.reason.as_str(),
        "ordering_key": message.ordering_key.as_ref().map(|key| key.as_str()),
        "headers": message.headers,
        "content_type": message.payload.content_type(),
        "payload": payload,
    })
}
