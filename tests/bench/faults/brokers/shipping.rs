use std::{
    collections::BTreeMap,
    io::{BufRead, stdin},
    pin::pin,
    sync::Arc,
};

use claimstream::{RelayConfig, RetryPolicy};
use claimstream_domain::step::StepResult;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::inbox::{Consumer, Handed, Inbox, deliveries};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, StreamExt};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use uuid::Uuid;

use super::{
    consumer::ConsumerJob,
    gate::{Gate, Gated, Point},
    orders::KEYS,
};
use crate::Failure;

/// An effect: the message, and the number of its order.
pub(super) struct Effect {
    pub(super) message: Uuid,
    pub(super) number: u64,
}

/// Has the effect of each message through the inbox of its own database, until this process is killed, or its parent closes its
/// standard input any more.
pub(crate) async fn consume(job: &str) -> Result<(), Failure> {
    let job: ConsumerJob = serde_json::from_str(job)?;
    let store = Arc::new(SeaOrmOutbox::open(&job.inbox, OpenOptions::default()).await?);
    let inbox = Inbox::new(store, &RelayConfig::default())?;
    let gate = Arc::<Gate>::default();
    let broker = Gated { broker: job.target.consumer(&job.broker)?, gate: Arc::clone(&gate) };
    let (shipping, timer, orders) = (Consumer::new("shipping")?, TokioTimer::new(), Arc::clone(&gate));
    let consumption =
        inbox.consumption(shipping, TokioTimer::new(), RetryPolicy::default(), |tx, received| {
            let (number, gate) = (String::from_utf8_lossy(received.body.bytes()), Arc::clone(&gate));
            let insert =
                format!("INSERT INTO shipped (message, number) VALUES ('{}', {number})", received.id);
            async move {
                tx.execute_unprepared(&insert).await.map_err(|e| store_error("ship", e))?;
                gate.pass(Point::InEffect).await;
                Ok(StepResult::default())
            }
            .boxed()
        });
    let orphaned = async {
        let _ = tokio::task::spawn_blocking(move || obey(&orders)).await;
    };
    let mut given = pin!(deliveries(&broker, &timer).take_until(orphaned));
    while let Some(delivery) = given.next().await {
        // The stream goes on after an error.
        let Ok(delivery) = delivery else { continue };
        // After an error the effect stays; the broker has not learnt of it, and gives the message again.
        if let Ok(Handed::Refused(_, why)) = consumption.hand(delivery).await {
            return Err(format!("refused: {why}").into());
        }
    }
    Ok(())
}

/// Stops the consumer where the lines of the standard input say.
fn obey(gate: &Gate) {
    stdin()
        .lock()
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| Point::named(&line))
        .for_each(|at| gate.close(at));
}

/// The table takes the same message as often as it comes: a second effect is seen.
pub(super) async fn make_table(inbox: &SeaOrmOutbox) -> Result<(), Failure> {
    let create = "CREATE TABLE shipped (
        at BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, message CHAR(36) NOT NULL, number BIGINT UNSIGNED NOT NULL
    ) ENGINE = InnoDB";
    inbox.connection().execute_unprepared(create).await?;
    Ok(())
}

/// All effects, in the order in which they happened.
pub(super) async fn effects(inbox: &SeaOrmOutbox) -> Result<Vec<Effect>, Failure> {
    let asked = "SELECT CAST(message AS CHAR), CAST(number AS SIGNED) FROM shipped ORDER BY at";
    let rows = inbox.connection().query_all_raw(Statement::from_string(DbBackend::MySql, asked)).await?;
    rows.iter()
        .map(|row| {
            let number: i64 = row.try_get_by_index(1)?;
            Ok(Effect {
                message: row.try_get_by_index::<String>(0)?.parse()?,
                number: u64::try_from(number)?,
            })
        })
        .collect()
}

/// How many effects happened after a later one of their key.
pub(super) fn out_of_order(effects: &[Effect]) -> usize {
    let mut last = BTreeMap::new();
    let mut wrong = 0;
    for Effect { number, .. } in effects {
        let latest = last.entry(number % KEYS).or_insert(*number);
        wrong += usize::from(number < latest);
        *latest = (*latest).max(*number);
    }
    wrong
}
