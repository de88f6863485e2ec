use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::notification::NotificationMessage;
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};
use futures::channel::oneshot;

use super::{
    asked::is_refused,
    sends::{Answered, Sends},
};
use crate::{
    Scripted,
    sabotage::Sabotage,
    sim::{Process, Sim},
    store::LEASE,
    weather::Mishap,
};

/// A provider that takes messages, or fails, hangs and panics before or after it has taken them.
pub(super) struct FaultyProvider {
    pub(super) name: &'static str,
    pub(super) process: Process,
    pub(super) sends: Arc<Sends>,
}

#[async_trait]
impl ChannelProvider for FaultyProvider {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let call = self.sends.begins(self.process, self.name, message.id);
        let answer = match is_refused(&message.address) {
            true => Err(DeliveryError::permanent("refused by the script")),
            false => self.take(call, message).await,
        };
        self.sends.answers(message.id, call, Answered::of(&answer));
        match answer {
            Err(_) if self.sends.sim().has(Sabotage::GuessesDeliveries) => Ok(Delivered::default()),
            answer => answer,
        }
    }
}

impl FaultyProvider {
    fn sim(&self) -> &Sim {
        self.sends.sim()
    }

    async fn take(&self, call: usize, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let (sim, weather) = (self.sim(), self.sim().weather());
        if sim.chance(400) {
            sim.sleep(sim.time_below(LEASE / 3)).await;
        }
        if sim.chance(weather.detached) {
            return self.take_alone(message).await;
        }
        if sim.chance(weather.handler) {
            sim.count(Mishap::Handler);
            let retry_after = sim.chance(500).then(|| sim.time_below(LEASE));
            match sim.below(10) {
                0 => return Err(DeliveryError::transient("a scripted failure")),
                1 => return Err(DeliveryError::deferred("a scripted delay")),
                2 => return Err(DeliveryError::down("a scripted outage")),
                3 => return Err(DeliveryError::Throttled { reason: "too many".into(), retry_after }),
                4 => return Err(DeliveryError::unknown("a scripted silence")),
                5 => {
                    self.sends.takes(message.id);
                    return Err(DeliveryError::unknown("a scripted silence after it"));
                }
                6 => {
                    self.sends.answers(message.id, call, Answered::Unknown);
                    std::panic::panic_any(Scripted);
                }
                7 => std::future::pending().await,
                _ => sim.sleep(LEASE / 2 + sim.time_below(LEASE * 2)).await,
            }
        }
        self.sends.takes(message.id);
        Ok(Delivered { reference: Some(format!("{} by {}", message.id, self.name)) })
    }

    /// Takes a message later, though its sender may have died.
    async fn take_alone(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let (sim, sends, id) = (self.sim().clone(), Arc::clone(&self.sends), message.id);
        sim.count(Mishap::Detached);
        let (answer, answered) = oneshot::channel();
        self.sim().spawn(Process::WIRE, async move {
            sim.sleep(sim.time_below(Duration::from_secs(20))).await;
            sends.takes(id);
            let _ = answer.send(());
        });
        let is_taken = answered.await.is_ok();
        is_taken.then(Delivered::default).ok_or_else(|| DeliveryError::unknown("the connection has ended"))
    }
}
