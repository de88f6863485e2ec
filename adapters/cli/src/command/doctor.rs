use std::{io::Write, process::ExitCode};

use claimstream_domain::notification::Channel;
use claimstream_sea_orm::{Finding, Severity};

use crate::{
    config::{ChannelSettings, Channels, Config, Notifications, ProviderChoice},
    directory,
    failure::Failure,
    provider::provider,
    templates,
};

/// Checks the configuration and the database, one line for each finding, and sums up.
pub(super) async fn run(strict: bool, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let (has_requests, database) = examine_database(config).await;
    let mut findings = match has_requests || sets_notifications(config) {
        true => examine_notifications(config),
        false => vec![found(
            Severity::Good,
            "notifications",
            "not used: there is no request, and nothing is set under [notifications] or [channels]".into(),
        )],
    };
    findings.extend(database);
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

/// Whether the database has notification requests, and the findings in it.
async fn examine_database(config: &Config) -> (bool, Vec<Finding>) {
    let failed = |failure: Failure| vec![found(Severity::Failure, "database", failure.to_string())];
    let outbox = match config.database.open_existing().await {
        Ok(outbox) => outbox,
        Err(error) => return (false, failed(error.into())),
    };
    let examined = outbox.doctor().await.unwrap_or_else(|error| failed(error.into()));
    match outbox.has_notification_requests().await {
        Ok(has_requests) => (has_requests, examined),
        Err(error) => (false, [examined, failed(error.into())].concat()),
    }
}

/// Whether anything about notifications is set to another value than its default.
fn sets_notifications(config: &Config) -> bool {
    config.notifications != Notifications::default() || config.channels != Channels::default()
}

fn examine_notifications(config: &Config) -> Vec<Finding> {
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
