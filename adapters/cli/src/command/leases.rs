use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, LeaseListed, LeaseRelease, LeaseShown, PauseNote};
use claimstream_ports::{ListInstances, ReleaseLeases};
use serde_json::{Value, json};

use super::{
    agreement::agreed,
    audit::Audited,
    listing::{as_list, as_table, place},
};
use crate::{
    age::Age,
    config::Config,
    exit::Exit,
    failure::Failure,
    holder_arguments::{LeaseCommand, LeasesArguments, ReleaseLeaseArguments},
    moments::Moments,
    shard_place::ShardPlace,
    table::{Column, Table, plain},
};

/// Lists leases, or releases one.
pub(super) async fn run(
    asked: LeasesArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match asked.change {
        Some(LeaseCommand::Release(asked)) => release(asked, config, out).await,
        None => list(asked, config, out).await,
    }
}

async fn list(asked: LeasesArguments, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let LeasesArguments { queue, paging, .. } = asked;
    let after = paging.after.map(|text| text.parse::<ShardPlace>()).transpose();
    let after = after.map_err(|_| Failure::Usage(place("a lease")))?;
    let outbox = config.database.open_existing().await?;
    let is_of_one_queue = queue.is_some();
    let (found, next) = match queue {
        Some(queue) => (outbox.leases_of(&queue).await?, None),
        None => {
            let after = after.map(|ShardPlace { queue, shard }| (queue, shard));
            let found = outbox.leases(after, paging.limit).await?;
            let last = found.last().filter(|_| found.len() as u64 >= u64::from(paging.limit));
            let next =
                last.map(|last| ShardPlace { queue: last.queue.clone(), shard: last.shard }.to_string());
            (found, next)
        }
    };
    if paging.json {
        let moments = Moments::of(&outbox).await?;
        return as_list(found.iter().map(|one| fields(one, moments)), next, out);
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
            ends(one),
            one.in_flight.to_string(),
        ]);
    }
    let none = match is_of_one_queue {
        true => "no shard of this queue has a lease",
        false => "no shard has a lease; only the strategy shard_lease makes them",
    };
    as_table(&table, found.is_empty(), none, next, out)
}

fn fields(one: &LeaseListed, moments: Moments) -> Value {
    json!({
        "queue": one.queue.as_str(),
        "shard": one.shard.number(),
        "holder": one.holder,
        "fence": one.fence,
        "ends_at": one.ends_in.map(|left| moments.ahead(left)),
        "in_flight": one.in_flight,
    })
}

fn ends(one: &LeaseListed) -> String {
    one.ends_in.map_or_else(|| "over".into(), |left| format!("in {}", Age(left)))
}

/// Says what a release would do, asks, and releases the lease with the fence that was given.
async fn release(
    asked: ReleaseLeaseArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let ReleaseLeaseArguments { place, fence, yes, operator, json: as_json } = asked;
    let by = operator.find()?;
    PauseNote::check_name(&by).map_err(|refused| Failure::Usage(refused.to_string()))?;
    let outbox = config.database.open_existing().await?;
    let shown = outbox.lease(&place.queue, place.shard).await?;
    let obstacle = obstacle(&place, fence, shown.as_ref());
    if let (None, false, Some(shown)) = (&obstacle, as_json, &shown) {
        writeln!(out, "{}", warning(&place, shown))?;
    }
    let agreed = obstacle.is_none() && (yes || (!as_json && agreed(&format!("release {place}"))?));
    if agreed {
        let audited = Audited { outbox: &outbox, by: &by };
        audited.begin(AuditAction::ReleaseLease, &format!("lease {place} under fence {fence}")).await?;
    }
    let released = match agreed {
        true => outbox.release_lease(&place.queue, place.shard, fence, &by).await?,
        false => LeaseRelease::Changed,
    };
    let cut_off = match released {
        LeaseRelease::Released { cut_off } => Some(cut_off),
        LeaseRelease::Changed => None,
    };
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let lease = shown.as_ref().map(|shown| &shown.lease);
        let oldest = shown.as_ref().and_then(|shown| shown.oldest);
        let said = json!({
            "queue": place.queue.as_str(),
            "shard": place.shard.number(),
            "holder": lease.and_then(|lease| lease.holder.as_ref()),
            "fence": lease.map(|lease| lease.fence),
            "ends_at": lease.and_then(|lease| lease.ends_in).map(|left| moments.ahead(left)),
            "in_flight": lease.map(|lease| lease.in_flight),
            "oldest_due_at": oldest.map(|oldest| moments.ago(oldest)),
            "cut_off": cut_off,
            "done": cut_off.is_some(),
        });
        writeln!(out, "{said}")?;
    } else {
        match (obstacle.as_deref(), agreed, cut_off) {
            (Some(why), ..) => writeln!(out, "{why}; nothing was released")?,
            (None, false, _) => writeln!(out, "nothing was released, give --yes to release it")?,
            (None, true, Some(1)) => writeln!(out, "{place} is released; 1 message is due again")?,
            (None, true, Some(count)) => {
                writeln!(out, "{place} is released; {count} messages are due again")?
            }
            (None, true, None) => {
                writeln!(out, "the lease of {place} has changed meanwhile; nothing was released")?
            }
        }
    }
    let is_refused = obstacle.is_some() || (agreed && cut_off.is_none());
    Ok(Exit::done_if(!is_refused).into())
}

/// Why the lease is not released; nothing if it is the one that is meant.
fn obstacle(place: &ShardPlace, fence: i64, shown: Option<&LeaseShown>) -> Option<String> {
    let Some(LeaseShown { lease, .. }) = shown else { return Some(format!("{place} was never leased")) };
    match &lease.holder {
        None => Some(format!("{place} is not held")),
        Some(holder) if lease.fence != fence => Some(format!(
            "the lease of {place} has fence {} now, and {} holds it",
            lease.fence,
            plain(holder)
        )),
        Some(_) => None,
    }
}

fn warning(place: &ShardPlace, LeaseShown { lease, oldest }: &LeaseShown) -> String {
    let holder = plain(lease.holder.as_deref().unwrap_or_default());
    let oldest = oldest.map(|oldest| format!(", the oldest due for {}", Age(oldest))).unwrap_or_default();
    let (ends, in_flight) = (ends(lease), lease.in_flight);
    format!(
        "{place}: held by {holder}, ends {ends}; in flight: {in_flight}{oldest}\n\
         What is in flight is due again with one attempt more, and is handed out one at a time. {holder} may still be handling it, so a \
         handler may run twice; what {holder} settles from then on is refused."
    )
}
