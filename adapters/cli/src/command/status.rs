use std::{
    io::{IsTerminal, Write, stderr, stdout},
    process::ExitCode,
    time::Duration,
};

use claimstream_domain::QueueStatus;
use claimstream_ports::{Observe, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Value, json};

use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    table::{Column, Table},
};

/// Shows how the queues stand, once or again and again.
pub(super) async fn run(
    watch: Option<f64>,
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let interval = watch.map(interval).transpose()?;
    let outbox = config.database.open_existing().await?;
    let Some(interval) = interval else {
        write!(out, "{}", shown(&outbox.observe().await?, as_json))?;
        return Ok(ExitCode::SUCCESS);
    };
    loop {
        show_again(&outbox, as_json, out).await?;
        tokio::time::sleep(interval).await;
    }
}

fn interval(seconds: f64) -> Result<Duration, Failure> {
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|interval| *interval >= SHORTEST);
    interval
        .ok_or_else(|| Failure::Usage(format!("--watch takes seconds, at least {}", SHORTEST.as_secs_f64())))
}

/// More often would be a load of its own.
const SHORTEST: Duration = Duration::from_millis(100);

/// A database that cannot be reached for a while does not end the watch.
async fn show_again(outbox: &SeaOrmOutbox, as_json: bool, out: &mut impl Write) -> Result<(), Failure> {
    match outbox.observe().await {
        Ok(queues) => {
            if stdout().is_terminal() && !as_json {
                // Clears the screen and goes to its first line.
                write!(out, "\u{1b}[2J\u{1b}[H")?;
            }
            write!(out, "{}", shown(&queues, as_json))?;
            out.flush()?;
        }
        Err(error) => report(&error)?,
    }
    Ok(())
}

fn report(error: &StoreError) -> Result<(), Failure> {
    Ok(writeln!(stderr(), "error: {error}")?)
}

fn shown(queues: &[QueueStatus], as_json: bool) -> String {
    match as_json {
        true => format!("{}\n", Value::Array(queues.iter().map(as_value).collect())),
        false if queues.is_empty() => "all queues are empty\n".into(),
        false => format!("{}{}", table(queues), remarks(queues)),
    }
}

/// A line for each queue with messages that nobody claims.
fn remarks(queues: &[QueueStatus]) -> String {
    let of = |status: &QueueStatus| {
        let (queue, stray) = (&status.queue, status.stray);
        match (stray, status.seems_unread()) {
            (0, false) => String::new(),
            (0, true) => format!("{queue}: no relay seems to read this queue; see doctor\n"),
            _ => format!("{queue}: {stray} messages lie in shards that no relay reads; see doctor\n"),
        }
    };
    queues.iter().map(of).collect()
}

fn table(queues: &[QueueStatus]) -> Table<8> {
    let number = Column::Number;
    let mut table = Table::new([
        Column::Text("QUEUE"),
        number("DEPTH"),
        number("DUE"),
        number("SCHEDULED"),
        number("RETRYING"),
        number("LEASED"),
        number("OLDEST"),
        number("DEAD"),
    ]);
    for status in queues {
        table.row([
            status.queue.to_string(),
            status.depth.to_string(),
            status.due.to_string(),
            status.scheduled().to_string(),
            status.retrying.to_string(),
            status.leased.to_string(),
            status.oldest.map_or_else(|| "-".into(), |oldest| Age(oldest).to_string()),
            status.dead.to_string(),
        ]);
    }
    table
}

fn as_value(status: &QueueStatus) -> Value {
    json!({
        "queue": status.queue.as_str(),
        "depth": status.depth,
        "due": status.due,
        "scheduled": status.scheduled(),
        "retrying": status.retrying,
        "leased": status.leased,
        "oldest_seconds": status.oldest.map(|oldest| oldest.as_secs_f64()),
        "dead": status.dead,
        "stray": status.stray,
        "seems_unread": status.seems_unread(),
    })
}
