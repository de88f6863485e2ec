//! The code of docs/timer-events.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use std::{sync::Arc, time::Duration};

use claimstream::{Relay, RelayConfig};
use claimstream_domain::notification::{NotificationRequest, RecipientReference};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::timer_event::{Alarm, DecisionError, EventInfo, EventScheme, Schedule, TimerEvents};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::FutureExt;
use sea_orm::DatabaseTransaction;
use uuid::Uuid;

use super::Failure;
use crate::fixture::mail_to;

async fn close_month(_: &DatabaseTransaction, _: &EventInfo) -> Result<(), DecisionError> {
    Ok(())
}

async fn tell_accounting(_: &EventInfo, _: Uuid) -> Result<(), DecisionError> {
    Ok(())
}

async fn run(outbox: Arc<SeaOrmOutbox>) -> Result<(), Failure> {
    let alarm = Alarm::to_queue("alarms".try_into()?);
    let monthly = Schedule::cron("0 3 1 * *", "Europe/Berlin")?;
    let bill = EventScheme::new("monthly-bill".parse()?, monthly, alarm)
        .deadline(Duration::from_secs(300))
        .decision("close-month".parse()?, |tx, event| close_month(tx, event).boxed())
        .remote_decision("tell-accounting".parse()?, |event, key| tell_accounting(event, key).boxed());

    let timers = TimerEvents::new(outbox.clone(), TokioTimer::new(), "timers".try_into()?).with(bill)?;
    timers.start().await?; // every instance, whenever it starts
    let config = RelayConfig { retry: timers.pipeline_retry(), ..RelayConfig::default() };
    let relay = Relay::new(outbox, TokioTimer::new(), config);
    relay.pipeline("timers", timers)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

fn weekly_report(_: &EventInfo) -> NotificationRequest {
    mail_to(RecipientReference::User { user: "accounting".into() })
}

fn recurring(outbox: Arc<SeaOrmOutbox>) -> Result<EventScheme<DatabaseTransaction>, Failure> {
    let monday = Schedule::cron("0 9 * * MON", "Europe/Berlin")?;
    let report = EventScheme::new("weekly-report".parse()?, monday, Alarm::to_queue("alarms".try_into()?))
        .notification("send".parse()?, outbox.clone(), weekly_report)?;
    Ok(report)
}
