use std::{io::Write, process::ExitCode};

use claimstream_domain::{Resharding, ShardCount};
use claimstream_sea_orm::{ReshardStep, SeaOrmOutbox, ShardStatus};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use crate::{config::Database, failure::Failure, schema_arguments::ReshardArguments};

/// Shows how many shards there are, gives the queues more of them, or ends that.
pub(super) async fn run(
    asked: ReshardArguments,
    database: &Database,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = database.open_existing().await?;
    let before = outbox.shard_status().await?;
    let mut said = match (asked.shards, asked.end) {
        (Some(to), _) => offer(&before, to)?,
        (None, true) => offer_end(&before),
        (None, false) => stands(&before),
    };
    match (asked.shards, asked.end, asked.yes) {
        (Some(to), _, true) => {
            reshard(&outbox, to, asked.json, out).await?;
            said = ENDED.into();
        }
        (_, true, true) if outbox.end_resharding().await? => said = ended(&before),
        _ => {}
    }
    match asked.json {
        true => writeln!(out, "{}", as_value(&outbox.shard_status().await?))?,
        false => writeln!(out, "{said}")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Does it, and prints each step as it is done.
async fn reshard(
    outbox: &SeaOrmOutbox,
    to: ShardCount,
    is_quiet: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let (sender, mut steps) = unbounded_channel();
    let work = outbox.reshard(to, move |step| drop(sender.send(step)));
    let print = async {
        while let Some(step) = steps.recv().await {
            if let Some(line) = line(&step).filter(|_| !is_quiet) {
                writeln!(out, "{line}")?;
                out.flush()?;
            }
        }
        Ok::<_, Failure>(())
    };
    let (done, printed) = tokio::join!(work, print);
    done?;
    printed
}

const ENDED: &str = "all shards are open; restart the programs that write messages when it suits, and then run `claimstream schema \
                     reshard --end --yes`";

fn line(step: &ReshardStep) -> Option<String> {
    Some(match step {
        ReshardStep::Begun(status) => stands(status),
        ReshardStep::WaitsForTransactions { tries } => {
            format!(
                "try {tries}: a transaction that has used the tables of messages is open; it is tried again"
            )
        }
        ReshardStep::Cut => "messages are written by the new number from now on".into(),
        ReshardStep::InHand { queue, shard, held_by } => {
            let by = held_by.as_ref().map(|label| format!(" by {label}")).unwrap_or_default();
            let shard = shard.number();
            format!("shard {shard} of queue {queue} has messages in hand{by}; it has its turn later")
        }
        ReshardStep::NeedsRelay { queue, shard, held_by } => {
            let (by, shard) = (held_by.as_deref().unwrap_or("a relay"), shard.number());
            format!(
                "{by} is gone and has left messages of shard {shard} of queue {queue} in hand; a relay of this queue must run to take them \
                 over, and the command waits for that"
            )
        }
        ReshardStep::Opened { shard, moved, open } => {
            let shard = shard.number();
            format!("shard {shard} is in order, {moved} messages were moved; {open} shards are open")
        }
        ReshardStep::Ended => return None,
    })
}

/// How it stands, in a sentence.
fn stands(status: &ShardStatus) -> String {
    let (count, open) = (status.count.get(), status.open);
    match status.resharding {
        None => format!("queues are cut into {count} shards"),
        Some(resharding) if !status.is_cut => {
            let to = resharding.to().get();
            format!("queues are cut into {count} shards, and a resharding into {to} was begun")
        }
        Some(_) if status.is_open() => {
            format!(
                "queues are cut into {count} shards, all are open, and the triggers of the resharding are there"
            )
        }
        Some(_) => format!("messages are written into {count} shards, and {open} of them are open"),
    }
}

/// What would be done, if it can be.
fn offer(status: &ShardStatus, to: ShardCount) -> Result<String, Failure> {
    if !status.resharding.is_some_and(|begun| begun.to() == to) {
        Resharding::new(status.count, to).map_err(|why| Failure::Refused(why.to_string()))?;
    }
    let (stands, to) = (stands(status), to.get());
    Ok(format!(
        "{stands}; nothing was changed\n\n\
         With --yes:\n\
         1. Triggers send each new message with an ordering key to one of {to} shards, whatever number its writer knows. Making them\n\
         \x20  waits for open transactions on the tables of messages, for a second at a time; transactions that begin wait behind it.\n\
         2. Messages that wait are moved, a shard of a queue at a time. Relays claim nothing from it meanwhile, and what is in hand\n\
         \x20  there ends first.\n\
         3. New shards open as soon as they are in order. Until then the messages in them wait.\n\
         On a server the triggers run with the rights of the user that makes them. It must exist and keep SELECT, UPDATE and TRIGGER\n\
         until --end has taken them away, or no program can write.\n\
         The number of shards cannot be made smaller again."
    ))
}

fn offer_end(status: &ShardStatus) -> String {
    match status.resharding {
        None => "there is no resharding to end".into(),
        Some(resharding) if !status.is_cut => {
            let from = resharding.from().get();
            format!("with --yes the resharding is taken back, and queues are left at {from} shards")
        }
        Some(_) => "with --yes the triggers are taken away; a program that writes messages and was not restarted since the resharding \
                    would write messages of one key into two shards then"
            .into(),
    }
}

fn ended(before: &ShardStatus) -> String {
    match before.is_cut {
        true => "the triggers are gone".into(),
        false => format!("the resharding is taken back; queues are cut into {} shards", before.count.get()),
    }
}

fn as_value(status: &ShardStatus) -> serde_json::Value {
    json!({
        "shards": status.count.get(),
        "open": status.open,
        "resharding": status.resharding.map(|resharding| json!({
            "from": resharding.from().get(),
            "to": resharding.to().get(),
            "cut": status.is_cut,
        })),
    })
}
