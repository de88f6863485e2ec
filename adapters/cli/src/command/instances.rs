use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{InstanceId, InstanceListed, LeaseListed, QueueName, Shard};
use claimstream_ports::ListInstances;
use serde_json::{Value, json};

use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    paging::Paging,
    table::{Column, Table},
};

/// Lists the instances that have claimed messages.
pub(super) async fn instances(
    paging: Paging,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let Paging { after, limit, json: as_json } = paging;
    let after = after.map(|text| u64::from_str_radix(&text, 16).map(InstanceId)).transpose();
    let after = after.map_err(|_| Failure::Usage(place("an instance")))?;
    let outbox = config.database.open_existing().await?;
    let found = outbox.instances(after, limit).await?;
    let next = found.last().filter(|_| found.len() as u64 >= u64::from(limit)).map(|last| named(last.id));
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let item = |one: &InstanceListed| json!({"instance": named(one.id), "label": one.label, "seen_at": moments.ago(one.seen)});
        return as_list(found.iter().map(item), next, out);
    }
    let mut table = Table::new([Column::Text("INSTANCE"), Column::Text("LABEL"), Column::Number("SEEN")]);
    for one in &found {
        table.row([named(one.id), one.label.clone(), format!("{} ago", Age(one.seen))]);
    }
    as_table(&table, found.is_empty(), "no instance has claimed a message", next, out)
}

/// Lists the leases of shards.
pub(super) async fn leases(
    paging: Paging,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let Paging { after, limit, json: as_json } = paging;
    let after = match after {
        Some(text) => Some(shard(&text).ok_or_else(|| Failure::Usage(place("a lease")))?),
        None => None,
    };
    let outbox = config.database.open_existing().await?;
    let found = outbox.leases(after, limit).await?;
    let last = found.last().filter(|_| found.len() as u64 >= u64::from(limit));
    let next = last.map(|last| format!("{}/{}", last.queue, last.shard.number()));
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let item = |one: &LeaseListed| {
            json!({
                "queue": one.queue.as_str(),
                "shard": one.shard.number(),
                "holder": one.holder,
                "fence": one.fence,
                "ends_at": one.ends_in.map(|left| moments.ahead(left)),
                "in_flight": one.in_flight,
            })
        };
        return as_list(found.iter().map(item), next, out);
    }
    let mut table = Table::new([
        Column::Text("QUEUE"),
        Column::Number("SHARD"),
        Column::Text("HOLDER"),
        Column::Number("FENCE"),
        Column::Number("ENDS"),
        Column::Number("IN FLIGHT"),
    ]);
    for one in &found {
        table.row([
            one.queue.to_string(),
            one.shard.number().to_string(),
            one.holder.clone().unwrap_or_default(),
            one.fence.to_string(),
            one.ends_in.map_or_else(|| "over".into(), |left| format!("in {}", Age(left))),
            one.in_flight.to_string(),
        ]);
    }
    let none = "no shard has a lease; only the strategy shard_lease makes them";
    as_table(&table, found.is_empty(), none, next, out)
}

pub(super) fn as_list(
    items: impl Iterator<Item = Value>,
    next: Option<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    writeln!(out, "{}", json!({"items": items.collect::<Vec<_>>(), "next": next}))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn as_table<const N: usize>(
    table: &Table<N>,
    is_empty: bool,
    none: &str,
    next: Option<String>,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match is_empty {
        true => writeln!(out, "{none}")?,
        false => write!(out, "{table}")?,
    }
    if let Some(next) = next {
        let _ = writeln!(stderr(), "there may be more; use --after {next}");
    }
    Ok(ExitCode::SUCCESS)
}

fn named(InstanceId(id): InstanceId) -> String {
    format!("{id:016x}")
}

fn shard(text: &str) -> Option<(QueueName, Shard)> {
    let (queue, shard) = text.rsplit_once('/')?;
    Some((QueueName::new(queue).ok()?, Shard::from_number(shard.parse().ok()?)))
}

pub(super) fn place(of: &str) -> String {
    format!("--after is not the place of {of}; take it from the page before")
}
