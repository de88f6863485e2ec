use std::{io::Write, process::ExitCode};

use claimstream_domain::{
    Fingerprint,
    notification::{Channel, consent::Suppression},
};
use claimstream_notifications::{
    Suppressions,
    consent::{Address, SuppressedAddress},
};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::{Value, json};

use super::listing::{as_list, as_table};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    suppression_arguments::SuppressionCommand,
    table::{Column, Table},
};

/// Lists, adds or removes addresses that must not be written to.
pub(super) async fn run(
    command: SuppressionCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    match command {
        SuppressionCommand::List { channel, after, limit, json: as_json } => {
            let asked = AddressQuery { channel, after: after.as_deref().map(place).transpose()?, limit };
            return list(&outbox, asked, as_json, out).await;
        }
        SuppressionCommand::Add { channel, address, reason, note, json: as_json } => {
            outbox.suppress(&Address::new(channel, &address), reason, note).await?;
            match as_json {
                true => writeln!(out, "{}", changed(channel, &address, Some(reason)))?,
                false => writeln!(out, "suppressed {channel} {address}: {reason}")?,
            }
        }
        SuppressionCommand::Remove { channel, address, json: as_json } => {
            let mut was_suppressed = outbox.lift(&Address::new(channel, &address)).await?;
            if let Some(former) = Address::former(channel, &address) {
                was_suppressed |= outbox.lift(&former).await?;
            }
            if !was_suppressed {
                return Err(Failure::Refused(format!(
                    "the address {address} of {channel} is not suppressed"
                )));
            }
            match as_json {
                true => writeln!(out, "{}", changed(channel, &address, None))?,
                false => writeln!(out, "removed {channel} {address}")?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a change has made of an address.
fn changed(channel: Channel, address: &str, reason: Option<Suppression>) -> Value {
    json!({
        "channel": channel.name(),
        "address": address,
        "suppressed": reason.is_some(),
        "reason": reason.map(Suppression::name),
    })
}

/// Which addresses are listed.
struct AddressQuery {
    channel: Option<Channel>,
    after: Option<Fingerprint>,
    limit: u32,
}

async fn list(
    outbox: &SeaOrmOutbox,
    asked: AddressQuery,
    as_json: bool,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let limit = asked.limit as usize;
    let found = read(outbox, asked).await?;
    let next = found.last().filter(|_| found.len() >= limit).map(|last| written(&last.key));
    if as_json {
        let moments = Moments::of(outbox).await?;
        return as_list(found.iter().map(|one| item(one, moments)), next, out);
    }
    as_table(&table(&found), found.is_empty(), "no address is suppressed", next, out)
}

/// The most addresses that are read at a time.
const PAGE: u32 = 500;

async fn read(outbox: &SeaOrmOutbox, asked: AddressQuery) -> Result<Vec<SuppressedAddress>, Failure> {
    let AddressQuery { channel, mut after, limit } = asked;
    let limit = limit as usize;
    let mut found = Vec::new();
    while found.len() < limit {
        let page = outbox.suppressed(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.key);
        found.extend(page.into_iter().filter(|one| channel.is_none_or(|of| of == one.address.channel())));
    }
    found.truncate(limit);
    Ok(found)
}

fn written(key: &Fingerprint) -> String {
    key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn place(text: &str) -> Result<Fingerprint, Failure> {
    let refused =
        || Failure::Usage("--after is not the place of an address; take it from the page before".into());
    let digits = || (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    let bytes: Option<Vec<u8>> = digits().map(|two| u8::from_str_radix(two?, 16).ok()).collect();
    bytes.and_then(|bytes| Fingerprint::from_slice(&bytes).ok()).ok_or_else(refused)
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

fn item(one: &SuppressedAddress, moments: Moments) -> Value {
    json!({
        "channel": one.address.channel().name(),
        "address": one.address.as_str(),
        "reason": one.reason.name(),
        "note": one.note,
        "suppressed_at": moments.ago(one.age),
    })
}
