use std::{convert::Infallible, time::Duration};

use claimstream_ports::{Timer, notification::DeliveryReceipts};
use tokio::sync::Notify;

/// Looks for the deliveries of receipts that were faster than these were noted.
#[derive(Debug, Default)]
pub(crate) struct EarlyReceipts {
    is_new: Notify,
}

impl EarlyReceipts {
    /// How long a receipt waits for its delivery to be noted before it is forgotten.
    pub(crate) const MOST: Duration = Duration::from_secs(3_600);
    /// After receipts that must wait, so many looks follow at short distances.
    const LOOKS: u32 = 15;
    const SHORT: Duration = Duration::from_secs(1);
    const LONG: Duration = Duration::from_secs(60);
    /// How many receipts one look takes.
    const AT_ONCE: u32 = 500;

    /// There are receipts that must wait.
    pub(crate) fn more(&self) {
        self.is_new.notify_one();
    }

    /// Looks again and again: each second for a while after receipts that came to this process, and each minute for all.
    pub(crate) async fn look_after(&self, receipts: &dyn DeliveryReceipts, timer: &dyn Timer) -> Infallible {
        loop {
            take(receipts, Self::MOST).await;
            forget(receipts).await;
            tokio::select! {
                () = timer.sleep(Self::LONG) => {}
                () = self.is_new.notified() => {
                    for _ in 0..Self::LOOKS {
                        timer.sleep(Self::SHORT).await;
                        take(receipts, Self::LONG).await;
                    }
                }
            }
        }
    }
}

async fn take(receipts: &dyn DeliveryReceipts, within: Duration) {
    loop {
        match receipts.take_waiting(within, EarlyReceipts::AT_ONCE).await {
            Ok(taken) if taken >= u64::from(EarlyReceipts::AT_ONCE) => {}
            Ok(0) => return,
            Ok(taken) => {
                return tracing::info!(
                    taken,
                    "receipts that came before their deliveries were noted are kept"
                );
            }
            Err(error) => {
                return tracing::debug!(%error, "receipts that wait could not be looked for; they wait on");
            }
        }
    }
}

async fn forget(receipts: &dyn DeliveryReceipts) {
    loop {
        match receipts.forget_waiting(EarlyReceipts::MOST, EarlyReceipts::AT_ONCE).await {
            Ok(0) => return,
            Ok(forgotten) => {
                tracing::warn!(forgotten, "receipts are forgotten: no delivery has their reference")
            }
            Err(error) => return tracing::debug!(%error, "receipts that wait could not be forgotten"),
        }
    }
}
