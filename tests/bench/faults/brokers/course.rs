use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::{
    PrivateServer,
    work::{Figures, Tally},
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement};
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    broker::Broker,
    consumer::{ConsumerJob, ConsumerProcess},
    fault::Fault,
    gate::Point,
    line::{Line, Played},
    orders::Orders,
    relay::{Job, RelayProcess, keeps_order, options},
    shipping::{Effect, effects, make_table, out_of_order},
    target::Target,
};
use crate::Failure;

/// One kind of fault with one broker.
pub(super) struct Course {
    pub(super) target: Target,
    pub(super) fault: Fault,
    pub(super) strategy: String,
    pub(super) rounds: u32,
    pub(super) every: Duration,
    /// The servers with the outbox and the inbox.
    pub(super) servers: [String; 2],
}

/// How many relays publish.
const RELAYS: usize = 2;
/// How many messages at least have their effect from one fault to the next.
const BETWEEN: usize = 25;
/// How much later after its recovery a consumer is killed than the time before; a member of a group of Kafka commits each second.
const PHASE: Duration = Duration::from_millis(500);
/// So long nothing may move.
const TIMEOUT: Duration = Duration::from_secs(90);
/// How long a repeat is waited for after the last message.
const LATE: Duration = Duration::from_secs(3);

impl Course {
    pub(super) async fn play(&self) -> Result<Line, Failure> {
        let [outbox_server, inbox_server] = &self.servers;
        let outbox_place = PrivateServer::find(outbox_server, None, "faults_outbox").await?;
        let inbox_place = PrivateServer::find(inbox_server, None, "faults_inbox").await?;
        let broker = Broker::start(self.target).await?;
        self.target.prepare(broker.url()).await?;

        let tally = Arc::<Tally>::default();
        let outbox = SeaOrmOutbox::open(&outbox_place.url(), options(&self.strategy)?).await?;
        let db = outbox.connection().clone();
        let inbox = Arc::new(SeaOrmOutbox::open(&inbox_place.url(), OpenOptions::default()).await?);
        let orders = Orders { outbox, every: self.every, tally: tally.clone() };
        orders.make_table().await?;
        make_table(&inbox).await?;
        let (stop_orders, orders_stop) = watch::channel(false);
        let placing = tokio::spawn(orders.place(orders_stop));
        let consumed =
            ConsumerJob { inbox: inbox_place.url(), target: self.target, broker: broker.url().to_owned() };
        let mut consumer = ConsumerProcess::start(&consumed, tally.clone())?;
        let job = Job {
            outbox: outbox_place.url(),
            strategy: self.strategy.clone(),
            target: self.target,
            broker: broker.url().to_owned(),
        };
        let mut relays = Vec::new();
        for _ in 0..RELAYS {
            relays.push(RelayProcess::start(&job)?);
        }

        match self.fault.of_consumer() {
            Some(point) => self.kill_consumer(&mut consumer, point, &tally).await?,
            None => self.strike(&broker, &mut relays, &tally).await?,
        }
        let _ = stop_orders.send(true);
        let rolled_back = placing.await??;
        settle(&db, &inbox, &tally).await?;
        consumer.kill().await?;
        drop(relays);
        let figures = figures(&db, &inbox, &tally).await?;
        Ok(self.line(&figures, &effects(&inbox).await?, &rolled_back))
    }

    async fn strike(
        &self,
        broker: &Broker,
        relays: &mut [RelayProcess],
        tally: &Tally,
    ) -> Result<(), Failure> {
        recovered(tally).await?;
        for round in 0..self.rounds as usize {
            let relay = &mut relays[round % RELAYS];
            tally.fault();
            if self.fault.is_of_relay() {
                relay.kill()?;
            }
            broker.suffer(self.fault, round).await?;
            if self.fault.is_of_relay() {
                relay.start_again()?;
            }
            recovered(tally).await?;
        }
        Ok(())
    }

    async fn kill_consumer(
        &self,
        consumer: &mut ConsumerProcess,
        point: Option<Point>,
        tally: &Tally,
    ) -> Result<(), Failure> {
        recovered(tally).await?;
        for round in 0..self.rounds {
            tokio::time::sleep(PHASE * (round % 4)).await;
            if let Some(point) = point {
                consumer.reach(point).await?;
            }
            tally.fault();
            consumer.kill().await?;
            consumer.start_again()?;
            recovered(tally).await?;
        }
        Ok(())
    }

    fn line(&self, figures: &Figures, effects: &[Effect], rolled_back: &[Uuid]) -> Line {
        let played = Played {
            broker: self.target.name(),
            strategy: &self.strategy,
            fault: self.fault.name(),
            faults: u64::from(self.rounds) * self.fault.times(),
        };
        let never_committed = effects.iter().filter(|effect| rolled_back.contains(&effect.message)).count();
        let out_of_order = keeps_order(&self.strategy).then(|| out_of_order(effects));
        Line::of(&played, figures, never_committed, out_of_order)
    }
}

/// Waits until everything that has been enqueued has had its effect, and some more.
async fn recovered(tally: &Tally) -> Result<(), Failure> {
    let (began, before) = (Instant::now(), tally.handled());
    let (mut least, mut moved) = (usize::MAX, began);
    loop {
        let open = tally.open_since(began);
        if open == 0 && tally.handled() >= before + BETWEEN {
            return Ok(());
        }
        if open < least {
            (least, moved) = (open, Instant::now());
        }
        if moved.elapsed() > TIMEOUT {
            return Err(format!("{open} messages had no effect for {TIMEOUT:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until each message has had its effect or nothing moves any more, and for repeats that come late.
async fn settle(db: &DatabaseConnection, inbox: &SeaOrmOutbox, tally: &Tally) -> Result<(), Failure> {
    let (mut seen, mut moved) = (None, Instant::now());
    loop {
        let left = number(db, "SELECT COUNT(*) FROM claimstream_queue").await?;
        let shipped = number(inbox.connection(), "SELECT COUNT(DISTINCT message) FROM shipped").await?;
        if left == 0 && shipped as usize >= tally.messages() {
            break;
        }
        if seen != Some((left, shipped)) {
            (seen, moved) = (Some((left, shipped)), Instant::now());
        }
        if moved.elapsed() > TIMEOUT {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    tokio::time::sleep(LATE).await;
    Ok(())
}

async fn figures(db: &DatabaseConnection, inbox: &SeaOrmOutbox, tally: &Tally) -> Result<Figures, Failure> {
    let messages: Vec<_> = effects(inbox).await?.iter().map(|effect| effect.message).collect();
    let left = number(db, "SELECT COUNT(*) FROM claimstream_queue").await?;
    let dead = number(db, "SELECT COUNT(*) FROM claimstream_dead").await?;
    Ok(tally.figures(&messages, left, dead))
}

async fn number(db: &DatabaseConnection, sql: &str) -> Result<i64, Failure> {
    let row = db.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
    Ok(row.ok_or("no answer")?.try_get_by_index(0)?)
}
