use std::{io::Write, process::ExitCode};

use claimstream_domain::{InstanceId, InstanceListed};
use claimstream_ports::ListInstances;
use serde_json::json;

use super::listing::{as_list, as_table, place};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    paging::Paging,
    table::{Column, Table},
};

/// Lists the instances that have claimed messages, other than under `shard_lease`.
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
    as_table(
        &table,
        found.is_empty(),
        "no instance is listed; one lists itself when it claims messages, but not under shard_lease: `leases` lists those",
        next,
        out,
    )
}

fn named(InstanceId(id): InstanceId) -> String {
    format!("{id:016x}")
}
