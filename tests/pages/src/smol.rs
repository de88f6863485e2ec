//! The code of docs/cookbook/smol.md; it is run.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream::{Compose, Enqueue, NewMessage, Relay, RelayConfig, StoreError};
use claimstream_ports::{Sleep, Timer};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::TryStreamExt;

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = ::smol::block_on(backend.fresh_database()).expect("a database");
    on_smol(&url).expect("a message that is handled");
}

struct SmolTimer(Instant);

impl Timer for SmolTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(async move {
            ::smol::Timer::after(duration).await;
        })
    }

    fn spawn(&self, work: Sleep<'static>) {
        ::smol::spawn(work).detach();
    }
}

fn on_smol(url: &str) -> Result<(), Failure> {
    ::smol::block_on(async {
        let outbox = Arc::new(SeaOrmOutbox::open(url, OpenOptions::default()).await?);
        let (writer, message) = (outbox.clone(), NewMessage::json("orders", &7)?);
        let written: Result<(), StoreError> = outbox
            .transaction(|tx| {
                Box::pin(async move {
                    writer.enqueue(tx, &[message]).await?; // and your own statements
                    Ok(())
                })
            })
            .await;
        written?;

        let relay = Relay::new(outbox, SmolTimer(Instant::now()), RelayConfig::default());
        let mut claims = relay.claims("orders")?;
        if let Some(claim) = claims.try_next().await? {
            claim.ack().await?;
        }
        claims.close().await?;
        Ok(())
    })
}
