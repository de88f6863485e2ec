use std::{collections::BTreeMap, pin::pin, sync::Arc};

use claimstream::{RelayConfig, RetryPolicy};
use claimstream_domain::step::StepResult;
use claimstream_ports::Consume;
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::inbox::{Consumer, Handed, Inbox, deliveries};
use claimstream_testbed::work::Tally;
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, StreamExt};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tokio::sync::watch;
use uuid::Uuid;

use super::orders::KEYS;
use crate::Failure;

/// Takes messages from the broker, and has the effect of each through the inbox of its own database.
pub(super) struct Shipping {
    pub(super) inbox: Arc<SeaOrmOutbox>,
    pub(super) broker: Arc<dyn Consume>,
    pub(super) tally: Arc<Tally>,
}

/// An effect: the message, and the number of its order.
pub(super) struct Effect {
    pub(super) message: Uuid,
    pub(super) number: u64,
}

impl Shipping {
    /// The table takes the same message as often as it comes: a second effect is seen.
    pub(super) async fn make_table(&self) -> Result<(), Failure> {
        let create = "CREATE TABLE shipped (
            at BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, message CHAR(36) NOT NULL, number BIGINT UNSIGNED NOT NULL
        ) ENGINE = InnoDB";
        self.inbox.connection().execute_unprepared(create).await?;
        Ok(())
    }

    pub(super) async fn ship(self, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
        let inbox = Inbox::new(self.inbox.clone(), &RelayConfig::default())?;
        let shipping = Consumer::new("shipping")?;
        let timer = TokioTimer::new();
        let consumption =
            inbox.consumption(shipping, TokioTimer::new(), RetryPolicy::default(), |tx, received| {
                let number = String::from_utf8_lossy(received.body.bytes());
                let insert =
                    format!("INSERT INTO shipped (message, number) VALUES ('{}', {number})", received.id);
                async move {
                    tx.execute_unprepared(&insert).await.map_err(|e| store_error("ship", e))?;
                    Ok(StepResult::default())
                }
                .boxed()
            });
        let stopped = async move {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let mut given = pin!(deliveries(&*self.broker, &timer).take_until(stopped));
        while let Some(delivery) = given.next().await {
            // The stream goes on after an error.
            let Ok(delivery) = delivery else { continue };
            let id = delivery.received.id.parse()?;
            // After an error the effect stays; the broker has not learnt of it, and gives the message again.
            if let Ok(Handed::Refused(_, why)) = consumption.hand(delivery).await {
                return Err(format!("refused: {why}").into());
            }
            self.tally.delivered(id);
        }
        Ok(())
    }
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
