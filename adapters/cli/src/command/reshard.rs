use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, Shard, ShardCount};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{Capability, ReshardAction, ReshardPlan, ReshardStep, ShardStatus};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::audit::Audited;
use crate::{config::DatabaseSettings, failure::Failure, schema_arguments::ReshardArguments};

/// Shows how many shards there are, gives the queues more of them, or ends that.
pub(super) async fn run(
    asked: ReshardArguments,
    database: &DatabaseSettings,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let ReshardArguments { shards, end, yes, operator, json: as_json } = asked;
    let outbox = database.open_existing().await?;
    let before = outbox.shard_status().await?;
    let plan = match (shards, end) {
        (Some(to), _) => Some(outbox.plan_resharding(to).await?),
        (None, true) => outbox.plan_end_of_resharding().await?,
        (None, false) => None,
    };
    if shards.is_some() && yes {
        // A resharding takes the leases of shards, also where no relay does.
        match outbox.add_capability(Capability::ShardLease).await {
            // A user without the right; the resharding itself says what makes the table.
            Err(error) if error.kind() == StoreErrorKind::Misconfigured => {}
            added => added?,
        }
    }
    let by = operator.find_or_unnamed();
    let audited = Audited { outbox: &outbox, by: &by };
    let said = match (&plan, shards) {
        (None, _) if end => "there is no resharding to end".into(),
        (None, _) => stands(&before),
        (Some(plan), Some(to)) if yes => reshard(&audited, plan, to, as_json, out).await?,
        (Some(plan), _) if yes => end_resharding(&audited, plan).await?,
        (Some(plan), _) => offer(&before, plan),
    };
    if !as_json {
        writeln!(out, "{said}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut value = as_value(&outbox.shard_status().await?);
    if let Some(plan) = plan.filter(|_| !yes) {
        value["plan"] = plan_as_value(&plan);
    }
    writeln!(out, "{value}")?;
    Ok(ExitCode::SUCCESS)
}

/// Does it, and prints each step as it is done.
async fn reshard(
    audited: &Audited<'_>,
    plan: &ReshardPlan,
    to: ShardCount,
    is_quiet: bool,
    out: &mut impl Write,
) -> Result<String, Failure> {
    let subject = subject(plan);
    audited.begin(AuditAction::Reshard, &subject).await?;
    let (sender, mut steps) = unbounded_channel();
    let work = audited.outbox.reshard(to, move |step| drop(sender.send(step)));
    let mut all = 0;
    let print = async {
        let mut printed = Ok(());
        while let Some(step) = steps.recv().await {
            if let ReshardStep::Opened { moved, .. } = step {
                all += moved;
            }
            if let Some(line) = line(&step).filter(|_| !is_quiet && printed.is_ok()) {
                printed = writeln!(out, "{line}").and_then(|()| out.flush());
            }
        }
        printed
    };
    let (done, printed) = tokio::join!(work, print);
    done?;
    audited.end(AuditAction::Resharded, &subject, all).await?;
    printed?;
    Ok(ENDED.into())
}

async fn end_resharding(audited: &Audited<'_>, plan: &ReshardPlan) -> Result<String, Failure> {
    audited.begin(AuditAction::EndReshard, &subject(plan)).await?;
    Ok(match audited.outbox.end_resharding().await? {
        false => "there is no resharding to end".into(),
        true => ended(plan),
    })
}

/// What the audit log says of it.
fn subject(plan: &ReshardPlan) -> String {
    let (from, to) = (plan.resharding.from().get(), plan.resharding.to().get());
    match plan.action {
        ReshardAction::TakeBack => {
            format!("all queues, from {from} to {to} shards, taken back before its cut")
        }
        _ => format!("all queues, from {from} to {to} shards"),
    }
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

/// What would be done.
fn offer(status: &ShardStatus, plan: &ReshardPlan) -> String {
    let (stands, from, to) = (stands(status), plan.resharding.from().get(), plan.resharding.to().get());
    match plan.action {
        ReshardAction::TakeBack => {
            format!("with --yes the resharding is taken back, and queues are left at {from} shards")
        }
        ReshardAction::End => {
            "with --yes the triggers are taken away; a program that writes messages and was not restarted since the resharding would write \
             messages of one key into two shards then"
                .into()
        }
        ReshardAction::Begin | ReshardAction::Continue => format!(
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
        ),
    }
}

fn ended(plan: &ReshardPlan) -> String {
    match plan.action {
        ReshardAction::TakeBack => {
            let from = plan.resharding.from().get();
            format!("the resharding is taken back; queues are cut into {from} shards")
        }
        _ => "the triggers are gone".into(),
    }
}

fn plan_as_value(plan: &ReshardPlan) -> serde_json::Value {
    let numbers = |shards: &[Shard]| shards.iter().map(|shard| shard.number()).collect::<Vec<_>>();
    json!({
        "action": plan.action.word(),
        "from": plan.resharding.from().get(),
        "to": plan.resharding.to().get(),
        "statements": plan.statements,
        "emptied": numbers(&plan.emptied),
        "opened": numbers(&plan.opened),
    })
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
