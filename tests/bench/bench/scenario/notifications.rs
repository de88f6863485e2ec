use std::time::{Duration, Instant};

use sea_orm::sqlx::{Executor, MySqlConnection, Row};

use super::{Plan, Setting};
use crate::{
    Failure,
    backlog::{self, Backlog},
    cell::Cell,
    child::Child,
    contender::{Contender, Own},
    drain::{count, figure},
    handwritten,
    job::{Job, Work, unix_now},
    library, notifying,
    record::Round,
    server::{self, Status},
};

/// How many relays there are.
const RELAYS: [u64; 2] = [1, 3];
/// A round that has not ended by then is counted as it stands.
const AT_MOST: u64 = 900;

/// Many requests of one recipient each, and one request of many recipients, for each strategy and number of relays.
pub(super) fn groups(setting: &Setting<'_>) -> Vec<Vec<Cell>> {
    let (small, large) = (setting.options.notifications, setting.options.recipients);
    let group = |(relays, all, recipients): (u64, u64, u64)| {
        let cell = |one: &Contender| {
            let job = Job { backlog: all, recipients, seconds: AT_MOST, ..setting.job(one, relays) };
            Cell::new("notifications", one, relays, Plan::Notifications(job.clone()))
                .with("requests", all / recipients)
                .with("recipients", recipients)
                .with("batch", job.batch)
        };
        let ours = setting.library().filter(|one| !one.is_keyed());
        ours.map(cell).collect()
    };
    let conditions = RELAYS.into_iter().flat_map(|relays| [(relays, small, 1), (relays, large, large)]);
    conditions.filter(|(_, all, _)| *all > 0).map(group).collect()
}

/// Requests are submitted before the clock starts; it stops with the last outcome that was noted.
pub(super) async fn round(contender: &Contender, job: &Job, backlog: &mut Backlog) -> Result<Round, Failure> {
    // It makes the tables, and leaves them empty.
    backlog.fill(contender, &Job { backlog: 0, ..job.clone() }).await?;
    let mut connection = handwritten::connect(&job.url).await?;
    let outbox = library::open(&job.url, Own::named(contender.name())?, 4).await?;
    notifying::submit(&outbox, job).await?;
    backlog::calm(&mut connection, job.backlog).await?;

    let mut relays = Vec::new();
    for number in 0..job.instances {
        relays.push(Child::start(contender, "notify", &Job { number, ..job.clone() })?);
    }
    futures::future::try_join_all(relays.iter_mut().map(Child::ready)).await?;
    let kinds = server::kinds(&mut connection).await?;
    let before = Status::of(&mut connection).await?;
    let began = unix_now();
    for relay in &mut relays {
        relay.go().await?;
    }
    let looks = wait_until_empty(&mut connection, Duration::from_secs(job.seconds)).await?;
    let mut status = Status::of(&mut connection).await?.since(before);
    let kinds_after = server::kinds(&mut connection).await?;
    status.statements -= looks + Status::STATEMENTS;
    for relay in &mut relays {
        relay.go().await?;
    }
    let finished = relays.into_iter().map(|relay| relay.finish::<Work>(Duration::from_secs(60)));
    let mut work = futures::future::try_join_all(finished).await?;

    let mut round = Round { counts: count(&work), ..Round::default() };
    let noted = Noted::read(&mut connection).await?;
    round.counts.acknowledged = noted.delivered;
    round.counts.not_drained = backlog::depth(&mut connection).await?;
    round.counts.lost = job.backlog.saturating_sub(noted.delivered + round.counts.not_drained);
    round.counts.deadlocks = status.deadlocks as u64;
    if let Some(first) = work.first_mut() {
        first.last = noted.last.max(first.last);
    }
    figure(&mut round, &work, began, status);
    for (kind, after) in kinds_after {
        // Looking took some, too.
        let own = if kind == "select" { looks + 2.0 } else { 0.0 };
        let times = after - kinds.get(&kind).copied().unwrap_or(0.0) - own;
        if times > 0.0 {
            round.set(&format!("{kind}_per_message"), times / noted.delivered as f64);
        }
    }
    Ok(round)
}

/// Looks whether the queue is empty until it is, and says how often it looked.
async fn wait_until_empty(connection: &mut MySqlConnection, at_most: Duration) -> Result<f64, Failure> {
    let (began, mut looks) = (Instant::now(), 0.0);
    loop {
        looks += 1.0;
        let any = connection.fetch_optional("SELECT 1 FROM claimstream_queue LIMIT 1").await?;
        if any.is_none() || began.elapsed() > at_most {
            return Ok(looks);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What the records say of the deliveries.
struct Noted {
    delivered: u64,
    /// When the last outcome was noted, in seconds since 1970.
    last: f64,
}

impl Noted {
    async fn read(connection: &mut MySqlConnection) -> Result<Self, Failure> {
        const DELIVERED: &str = "SELECT COUNT(*), CAST(COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', MAX(changed_at)), 0) AS SIGNED)
             FROM claimstream_notification_message WHERE status = 'DELIVERED'";
        let row = connection.fetch_one(DELIVERED).await?;
        let (delivered, micros) = (row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?);
        Ok(Self { delivered: delivered as u64, last: micros as f64 / 1e6 })
    }
}
