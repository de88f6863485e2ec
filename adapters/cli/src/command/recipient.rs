use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_notifications::{
    EraseRecipient, Erased, PreferenceRepository,
    consent::{PreferenceChange, Preferences, address_named, named_preference_key, spellings_named},
};
use claimstream_sea_orm::Capability;

use crate::{arguments::RecipientCommand, config::Config, failure::Failure};

/// Forgets a recipient, or shows and changes what it wants.
pub(super) async fn run(
    command: RecipientCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match command {
        RecipientCommand::Erase { key, addresses, json } => erase(&key, &addresses, json, config, out).await,
        RecipientCommand::Preferences { key, changes, json } => {
            preferences(&key, &changes, json, config, out).await
        }
    }
}

async fn erase(
    key: &str,
    addresses: &[String],
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    if let Some(address) = address_named(key) {
        let (channel, address) = (address.channel(), address.as_str());
        return Err(Failure::Refused(format!(
            "{key} names an address, and recipients are erased: name each that has it by its key, as `show` prints it, \
             such as direct:ann@example.com||||; nothing was erased (`suppressions add {channel} {address}` keeps it from being \
             written to)"
        )));
    }
    let spellings: Vec<_> = addresses.iter().map(|address| spellings_named(address)).collect();
    if let Some(n) = spellings.iter().position(Vec::is_empty) {
        return Err(Failure::Usage(format!(
            "--address {} names no address; write a channel and an address, such as email:ann@example.com",
            addresses[n]
        )));
    }
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let erased = outbox.erase(key, &spellings.concat()).await?;
    if erased == Erased::default() {
        let _ = writeln!(
            stderr(),
            "nothing was written to {key}; the key of a user is user:ID, as `show` prints it"
        );
    }
    let Erased { requests, records, bodies, dead_letters } = erased;
    if as_json {
        let erased = serde_json::json!({
            "requests": requests, "messages": records, "payloads": bodies, "dead_letters": dead_letters,
        });
        writeln!(out, "{erased}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "erased in {requests} requests, {records} messages, {bodies} payloads and {dead_letters} dead letters"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what a recipient wants, after the changes if there are any.
async fn preferences(
    key: &str,
    changes: &[PreferenceChange],
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let named = named_preference_key(key).map_err(|refused| Failure::Refused(refused.to_string()))?;
    let key = named.as_str();
    if !key.starts_with("user:") && address_named(key).is_none() {
        let _ = writeln!(
            stderr(),
            "{key} is no recipient unless a directory has one with this key; the key of a user is user:ID, and of an address its \
             channel and itself, such as email:ann@example.com or sms:+491234567"
        );
    }
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let wants = match changes {
        [] => {
            let read = outbox.consents(&[key.to_owned()], &[]).await?;
            read.preferences.into_iter().next().unwrap_or_default()
        }
        changes => outbox.change(key, changes).await?,
    };
    match as_json {
        true => writeln!(out, "{}", serde_json::to_string(&wants).map_err(std::io::Error::other)?)?,
        false => write!(out, "{}", text(&wants))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a recipient wants, in the form in which it is changed.
fn text(wants: &Preferences) -> String {
    let rules = wants.rules.iter().map(|rule| {
        let allowed = if rule.allowed { "on" } else { "off" };
        format!("{}={allowed}", rule.about())
    });
    let zone = wants.time_zone.iter().map(|zone| format!("time_zone={zone}"));
    let hours = wants.quiet_hours.iter().map(|hours| format!("quiet_hours={hours}"));
    let lines: Vec<String> = rules.chain(zone).chain(hours).collect();
    match lines.is_empty() {
        true => "nothing is set\n".to_owned(),
        false => format!("{}\n", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_given_as_changes() {
        let all = ["email/marketing=off", "any/orders=on", "time_zone=Asia/Seoul", "quiet_hours=22:00-08:00"];
        let change = |wants, text: &&str| text.parse::<PreferenceChange>().unwrap().apply(wants).unwrap();
        let wants = all.iter().fold(Preferences::default(), change);
        assert_eq!(text(&wants), format!("{}\n", all.join("\n")));
        assert_eq!(text(&Preferences::default()), "nothing is set\n");
    }
}
