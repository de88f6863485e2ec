use std::{io::Write, process::ExitCode, time::SystemTime};

use claimstream_domain::{
    Finding, FindingGroup, Severity,
    notification::{
        Channel,
        provider::{ProviderName, Selection},
    },
};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{
    doctor_capabilities::{examine_capabilities, open_for, sets_notifications, used_capabilities},
    doctor_publishing::{examine_copies, examine_publishing},
};
use crate::{
    Exit, OneDatabase,
    binlog::examine_binlog,
    config::{
        ChannelSettings, Channels, Config, DatabaseName, DatabaseSettings, DirectorySource, ProviderChoice,
        Serve, TemplatePlace,
    },
    directory,
    failure::Failure,
    open::OpenError,
    provider::{gateway_config, provider},
    templates,
};

/// Checks the configuration and the database, one line for each finding, in groups by what they are about, and sums up.
pub(super) async fn run(
    strict: bool,
    as_json: bool,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let sections = sections(config, timer).await;
    let findings = || sections.iter().flat_map(|section| &section.group.findings);
    let count = |severity| findings().filter(|finding| finding.severity == severity).count();
    let (good, warnings, failures) =
        (count(Severity::Good), count(Severity::Warning), count(Severity::Failure));
    let passed = failures == 0 && (warnings == 0 || !strict);
    if as_json {
        let findings: Vec<Value> = sections.iter().flat_map(Section::values).collect();
        let sum = json!({
            "checked_at": humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            "findings": findings,
            "ok": good,
            "warnings": warnings,
            "failures": failures,
            "passed": passed,
        });
        writeln!(out, "{sum}")?;
    } else {
        for Section { database, group } in sections.iter().filter(|one| !one.group.findings.is_empty()) {
            match database {
                Some(name) => writeln!(out, "{} of database {name}", group.about)?,
                None => writeln!(out, "{}", group.about)?,
            }
            group.findings.iter().try_for_each(|finding| writeln!(out, "{finding}"))?;
            writeln!(out)?;
        }
        writeln!(out, "{good} ok, {}, {}", counted(warnings, "warning"), counted(failures, "failure"))?;
    }
    Ok(Exit::done_if(passed).into())
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Findings about one thing, and, of several databases, in which one.
struct Section {
    database: Option<DatabaseName>,
    group: FindingGroup,
}

impl Section {
    fn values(&self) -> Vec<Value> {
        self.group.findings.iter().map(|finding| self.value(finding)).collect()
    }

    fn value(&self, finding: &Finding) -> Value {
        let severity = match finding.severity {
            Severity::Good => "ok",
            Severity::Warning => "warning",
            Severity::Failure => "failure",
        };
        let about = self.group.about;
        let mut value =
            json!({"group": about, "check": finding.check, "severity": severity, "detail": finding.detail});
        if let Some(name) = &self.database {
            value["database"] = name.as_str().into();
        }
        value
    }
}

/// What is found in each database, all at the same time, and what is found in the configuration.
async fn sections(config: &Config, timer: TokioTimer) -> Vec<Section> {
    let databases = config.each_database();
    let examined = join_all(databases.iter().map(examine)).await;
    let has_requests = examined.iter().any(|(has_requests, _)| *has_requests);
    let of_databases = databases.into_iter().zip(examined).map(|(database, (_, findings))| Section {
        database: database.name,
        group: FindingGroup { about: OUTBOX, findings },
    });
    let publishing = examine_publishing(config, timer).await;
    // The first is the outbox, which each database has of its own.
    let others = groups((has_requests, Vec::new()), publishing, config).into_iter().skip(1);
    of_databases.chain(others.map(|group| Section { database: None, group })).collect()
}

const OUTBOX: &str = "outbox";

async fn examine(database: &OneDatabase) -> Examined {
    let used = used_capabilities(&database.config);
    let opened = open_for(&database.config.database, &used).await;
    let (has_requests, mut findings) = examine_database(opened.as_ref().map_err(ToString::to_string)).await;
    match &opened {
        Ok(outbox) => {
            findings.extend(examine_capabilities(outbox, &used).await);
            findings.extend(examine_binlog(&database.config).await);
            findings.extend(examine_copies(&database.config, outbox).await);
        }
        Err(OpenError::Store { error, .. }) if !error.is_retryable() => {
            findings.extend(examine_gone(&database.config.database).await);
        }
        Err(_) => {}
    }
    if database.drain {
        let what = "messages are delivered, and no command takes in new ones; `claimstream status` says when it is empty";
        findings.push(found(Severity::Good, "drain", what.into()));
    }
    (has_requests, findings)
}

/// The tables that are gone, as far as they can be why the database cannot be opened.
async fn examine_gone(database: &DatabaseSettings) -> Option<Finding> {
    let gone = database.plan().await.ok()?.gone;
    (!gone.is_empty()).then(|| {
        found(Severity::Failure, "tables", format!("gone: {}; restore them from a backup", gone.join(", ")))
    })
}

/// What was found in the database, and whether it has notification requests.
pub(crate) type Examined = (bool, Vec<Finding>);

/// These findings, those about brokers, and those about what else is configured.
pub(crate) fn groups(
    (has_requests, outbox): Examined,
    publishing: Vec<Finding>,
    config: &Config,
) -> Vec<FindingGroup> {
    let notifications = match has_requests || sets_notifications(config) {
        true => examine_notifications(config),
        false => vec![found(
            Severity::Good,
            "notifications",
            "not used: there is no request, and nothing is set under [notifications] or [channels]".into(),
        )],
    };
    let serve: Vec<Finding> = examine_serve(config).into_iter().collect();
    let groups =
        [(OUTBOX, outbox), ("notifications", notifications), ("publishing", publishing), ("serve", serve)];
    groups.into_iter().map(|(about, findings)| FindingGroup { about, findings }).collect()
}

/// A database that could not be opened is a finding.
async fn examine_database(outbox: Result<&SeaOrmOutbox, String>) -> Examined {
    let failed = |why: String| vec![found(Severity::Failure, "database", why)];
    let outbox = match outbox {
        Ok(outbox) => outbox,
        Err(why) => return (false, failed(why)),
    };
    let examined = outbox.doctor().await.unwrap_or_else(|error| failed(error.to_string()));
    match outbox.has_notification_requests().await {
        Ok(has_requests) => (has_requests, examined),
        Err(error) => (false, [examined, failed(error.to_string())].concat()),
    }
}

fn examine_notifications(config: &Config) -> Vec<Finding> {
    let channels = Channel::ALL.into_iter().flat_map(|channel| examine_route(channel, &config.channels));
    let sources = [examine_directory(config), examine_templates(config)].into_iter();
    sources.chain(channels).chain(examine_unsubscribing(config)).collect()
}

/// Unsubscribe links, if anything is set about them.
fn examine_unsubscribing(config: &Config) -> Option<Finding> {
    let consents = &config.notifications.consents;
    if consents.unsubscribe_url.is_none() && !consents.unsubscribe_key.is_set() {
        return None;
    }
    Some(match consents.unsubscribe_links() {
        Err(refused) => found(Severity::Failure, "unsubscribing", refused.to_string()),
        Ok(Some(_)) => found(Severity::Good, "unsubscribing", "messages carry signed links".into()),
        Ok(None) => found(
            Severity::Warning,
            "unsubscribing",
            "notifications.unsubscribe_url is not set; messages carry no links".into(),
        ),
    })
}

fn examine_directory(config: &Config) -> Finding {
    let notifications = &config.notifications;
    let good = |text: String| found(Severity::Good, "directory", text);
    match (config.directory.source, &notifications.directory) {
        (DirectorySource::Database, _) => good("users and segments are in the database".into()),
        (DirectorySource::Http, _) => good("users and segments come over HTTP".into()),
        (DirectorySource::None, _) => {
            good("none, as set: only recipients with an address of their own are reached".into())
        }
        (DirectorySource::File, None) => found(
            Severity::Warning,
            "directory",
            "notifications.directory is not set; only recipients with an address of their own are reached; if that is meant, set \
             directory.source = \"none\""
                .into(),
        ),
        (DirectorySource::File, Some(path)) => match directory(notifications) {
            Err(refused) => found(Severity::Failure, "directory", refused.to_string()),
            Ok(_) => good(format!("{} is readable", path.display())),
        },
    }
}

fn examine_templates(config: &Config) -> Finding {
    let notifications = &config.notifications;
    let good = |text: String| found(Severity::Good, "templates", text);
    match (config.templates.source, &notifications.templates) {
        (TemplatePlace::Database, _) => good("they are in the database".into()),
        (TemplatePlace::Http, _) => good("they come over HTTP".into()),
        (TemplatePlace::None, _) => good("none, as set".into()),
        (TemplatePlace::File, None) => found(
            Severity::Warning,
            "templates",
            "notifications.templates is not set; there are no templates; if that is meant, set templates.source = \"none\""
                .into(),
        ),
        (TemplatePlace::File, Some(path)) => match templates(notifications) {
            Err(refused) => found(Severity::Failure, "templates", refused.to_string()),
            Ok(_) => good(format!("{} is readable", path.display())),
        },
    }
}

/// A finding for the provider of a channel, or one for each that it lists.
fn examine_route(channel: Channel, channels: &Channels) -> Vec<Finding> {
    let settings = channels.of(channel);
    if channels.is_off(channel) {
        let what = format!("{channel} none, as set: messages on this channel are refused for good");
        return vec![found(Severity::Good, "channel", what)];
    }
    let Some(list) = &settings.providers else {
        return vec![examine_channel(channel, &format!("channels.{channel}"), "", &settings)];
    };
    let count = list.names().len();
    let examine = |(at, name): (usize, &ProviderName)| {
        let place = match settings.select.unwrap_or_default() {
            Selection::InOrder => format!(" provider {} of {count}, {name}:", at + 1),
            Selection::ByWeight => {
                let weight = channels.named(name).and_then(|own| own.weight).unwrap_or(1);
                format!(" provider {name}, weight {weight}:")
            }
        };
        let own = channels.named(name).unwrap_or_default();
        examine_channel(channel, &format!("providers.{name}"), &place, &own)
    };
    list.names().iter().enumerate().map(examine).collect()
}

/// A finding for a provider of a channel; `section` has its settings, and `place` says which of several it is.
fn examine_channel(channel: Channel, section: &str, place: &str, settings: &ChannelSettings) -> Finding {
    if let Err(refused) = provider(section, settings) {
        return found(Severity::Failure, "channel", refused.to_string());
    }
    let provider = settings.provider.unwrap_or(ProviderChoice::None);
    let good = |detail: String| {
        found(
            Severity::Good,
            "channel",
            format!("{channel}{place} {}{detail}{}", provider.name(), limits(settings)),
        )
    };
    let warn = |why: &str| {
        found(Severity::Warning, "channel", format!("{channel}{place} {}: {why}", provider.name()))
    };
    match provider {
        ProviderChoice::None => warn(&format!(
            "messages on this channel are refused for good; if that is meant, set channels.{channel}.provider = \"none\""
        )),
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
        ProviderChoice::Gateway => good(match unused_parts(channel, settings) {
            parts if parts.is_empty() => " by templates".into(),
            parts => format!(" by templates, which leave out: {}", parts.join(", ")),
        }),
        ProviderChoice::InApp => good(" in this database".into()),
        ProviderChoice::Slack | ProviderChoice::Teams => good(match &settings.url {
            Some(webhook) => format!(" to {webhook}"),
            None => " to each recipient's own webhook".into(),
        }),
        ProviderChoice::Smtp => {
            good(settings.server.as_ref().map(|to| format!(" to {to}")).unwrap_or_default())
        }
    }
}

fn unused_parts(channel: Channel, settings: &ChannelSettings) -> Vec<&'static str> {
    gateway_config(settings).ok().and_then(|config| config.unused_parts(channel).ok()).unwrap_or_default()
}

/// How notifications are taken in over HTTP, if anything is set about it.
fn examine_serve(config: &Config) -> Option<Finding> {
    let serve = &config.serve;
    if *serve == Serve::default() {
        return None;
    }
    let tokens = match serve.callers() {
        Ok(tokens) => tokens,
        Err(refused) => return Some(found(Severity::Failure, "serve", refused.to_string())),
    };
    if let Err(refused) = serve.inbox_keys() {
        return Some(found(Severity::Failure, "serve", refused.to_string()));
    }
    let listen = serve.listen;
    Some(match tokens {
        None => found(
            Severity::Warning,
            "serve",
            format!("{listen}: every user of this machine may do everything"),
        ),
        Some(tokens) => {
            let proxy =
                if listen.ip().is_loopback() { "" } else { "; put a proxy that speaks TLS in front of it" };
            let callers = tokens.describe().join("; ");
            found(Severity::Good, "serve", format!("{listen}, callers {callers}{proxy}"))
        }
    })
}

/// The limits that are set, to follow the provider.
fn limits(settings: &ChannelSettings) -> String {
    let rate = settings.rate.map(|rate| format!("at most {rate}"));
    let concurrency = settings.concurrency.map(|most| format!("{most} at a time"));
    rate.into_iter().chain(concurrency).map(|limit| format!(", {limit}")).collect()
}

fn found(severity: Severity, check: &'static str, detail: String) -> Finding {
    Finding { severity, check, detail }
}
