use std::{io::Write, process::ExitCode};

use claimstream_domain::notification::Channel;
use claimstream_sea_orm::{Finding, Severity};

use crate::{
    config::{ChannelSettings, Config, ProviderChoice},
    directory,
    failure::Failure,
    provider::provider,
    templates,
};

/// Checks the configuration and the database, one line for each finding, and sums up.
pub(super) async fn run(strict: bool, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut findings = examine_configuration(config);
    findings.extend(examine_database(config).await);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (warnings, failures) = (count(Severity::Warning), count(Severity::Failure));
    writeln!(out, "{} ok, {warnings} warnings, {failures} failures", count(Severity::Good))?;
    Ok(match (failures, warnings) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) if strict => ExitCode::from(1),
        (0, _) => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    })
}

async fn examine_database(config: &Config) -> Vec<Finding> {
    let examined = match config.database.open_existing().await {
        Ok(outbox) => outbox.doctor().await.map_err(Failure::from),
        Err(error) => Err(error.into()),
    };
    examined.unwrap_or_else(|failure| vec![found(Severity::Failure, "database", failure.to_string())])
}

fn examine_configuration(config: &Config) -> Vec<Finding> {
    let notifications = &config.notifications;
    let files = [
        (
            "directory",
            &notifications.directory,
            directory(notifications).err(),
            "only recipients with an address of their own are reached",
        ),
        ("templates", &notifications.templates, templates(notifications).err(), "there are no templates"),
    ];
    let files = files.into_iter().map(|(check, path, refused, without)| match (path, refused) {
        (_, Some(refused)) => found(Severity::Failure, check, refused.to_string()),
        (Some(path), None) => found(Severity::Good, check, format!("{} is readable", path.display())),
        (None, None) => {
            found(Severity::Warning, check, format!("notifications.{check} is not set; {without}"))
        }
    });
    let channels = Channel::ALL.map(|channel| examine_channel(channel, &config.channels.of(channel)));
    files.chain(channels).collect()
}

fn examine_channel(channel: Channel, settings: &ChannelSettings) -> Finding {
    if let Err(refused) = provider(channel, settings) {
        return found(Severity::Failure, "channel", refused.to_string());
    }
    let provider = settings.provider.unwrap_or(ProviderChoice::None);
    let good =
        |detail: String| found(Severity::Good, "channel", format!("{channel} {}{detail}", provider.name()));
    let warn =
        |why: &str| found(Severity::Warning, "channel", format!("{channel} {}: {why}", provider.name()));
    match provider {
        ProviderChoice::None => warn("messages on this channel are refused for good"),
        ProviderChoice::Webhook if !settings.secret.is_set() => {
            warn("messages are not signed; set a secret that the receiver knows too")
        }
        ProviderChoice::Log
            if settings.show_content == Some(true) || settings.show_addresses == Some(true) =>
        {
            warn("addresses or content are written out; restrict access to the log")
        }
        ProviderChoice::Log => good(match &settings.file {
            Some(path) => format!(" to {}", path.display()),
            None => " to the standard output".into(),
        }),
        ProviderChoice::Webhook => good(match &settings.url {
            Some(gateway) => format!(" to {gateway}, signed"),
            None => " to each recipient's own URL, signed".into(),
        }),
        ProviderChoice::Smtp => {
            good(settings.server.as_ref().map(|to| format!(" to {to}")).unwrap_or_default())
        }
    }
}

fn found(severity: Severity, check: &'static str, detail: String) -> Finding {
    Finding { severity, check, detail }
}
