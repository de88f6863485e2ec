use std::{io::Write, process::ExitCode};

use claimstream_domain::notification::Channel;
use claimstream_notifications::{
    Suppressions,
    consent::{Address, SuppressedAddress},
};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::json;

use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    suppression_arguments::SuppressionCommand,
    table::{Column, Table},
};

/// Lists, adds or removes addresses that must not be written to.
pub(super) async fn run(
    command: SuppressionCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing().await?;
    match command {
        SuppressionCommand::List { channel, limit, json } => {
            let found = read(&outbox, channel, limit as usize).await?;
            match json {
                true => found.iter().try_for_each(|one| writeln!(out, "{}", line(one)))?,
                false => write!(out, "{}", table(&found))?,
            }
        }
        SuppressionCommand::Add { channel, address, reason, note } => {
            outbox.suppress(&Address::new(channel, &address), reason, note).await?;
            writeln!(out, "suppressed {channel} {address}: {reason}")?;
        }
        SuppressionCommand::Remove { channel, address } => {
            match outbox.lift(&Address::new(channel, &address)).await? {
                true => writeln!(out, "removed {channel} {address}")?,
                false => {
                    return Err(Failure::Refused(format!(
                        "the address {address} of {channel} is not suppressed"
                    )));
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The most addresses that are read at a time.
const PAGE: u32 = 500;

async fn read(
    outbox: &SeaOrmOutbox,
    channel: Option<Channel>,
    limit: usize,
) -> Result<Vec<SuppressedAddress>, Failure> {
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < limit {
        let page = outbox.suppressed(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.key);
        found.extend(page.into_iter().filter(|one| channel.is_none_or(|of| of == one.address.channel())));
    }
    found.truncate(limit);
    Ok(found)
}

fn table(found: &[SuppressedAddress]) -> Table<5> {
    let mut table = Table::new(["CHANNEL", "ADDRESS", "REASON", "FOR", "NOTE"].map(Column::Text));
    for one in found {
        table.row([
            one.address.channel().to_string(),
            one.address.as_str().to_owned(),
            one.reason.to_string(),
            Age(one.age).to_string(),
            one.note.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn line(one: &SuppressedAddress) -> serde_json::Value {
    json!({
        "channel": one.address.channel().name(),
        "address": one.address.as_str(),
        "reason": one.reason.name(),
        "note": one.note,
        "age_seconds": one.age.as_secs(),
    })
}
