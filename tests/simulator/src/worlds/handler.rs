use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream::{BatchHandler, Handler, Verdict, Verdicts};
use claimstream_domain::{Claimed, Message, MessageId, NewMessage, Payload, QueueName, Reason};
use claimstream_ports::Timer;
use uuid::Uuid;

use crate::{
    Scripted,
    journal::Journal,
    running::Running,
    sabotage::Sabotage,
    sim::{Process, Sim},
    store::LEASE,
    timer::ProcessTimer,
    weather::Mishap,
};

/// A handler that does what the script says, and notes it in the journal.
#[derive(Clone)]
pub(super) struct ScriptedHandler {
    pub(super) sim: Sim,
    pub(super) journal: Arc<Journal>,
    pub(super) process: Process,
}

/// The queue of the messages that handlers emit.
pub(super) fn children() -> QueueName {
    QueueName::new("children").expect("a name")
}

/// The `n`-th message of a schedule.
pub(super) fn id(n: u64) -> MessageId {
    // Spread over the upper half, so that what is drawn by an id differs from one to the next.
    MessageId::new(Uuid::from_u64_pair(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n))
}

/// The message that is emitted when another one is done.
pub(super) fn child_of(message: &Message) -> NewMessage {
    let n = message.id.uuid().as_u64_pair().1;
    NewMessage::new(id(n + 1000), children(), Payload::json("{}"))
}

impl ScriptedHandler {
    /// Handles a message as the script says.
    pub(super) async fn act(&self, message: &Message) -> Verdict {
        let sim = &self.sim;
        if sim.chance(400) {
            sim.sleep(sim.time_below(LEASE / 3)).await;
        }
        if sim.chance(sim.weather().handler) {
            sim.count(Mishap::Handler);
            match sim.below(9) {
                0 => return Verdict::nack("a scripted failure"),
                1 => {
                    let after = Some(sim.time_below(LEASE));
                    return Verdict::Nack { after, reason: Reason::new("a scripted failure with a wait") };
                }
                2 => return Verdict::bury("a scripted end"),
                3 => return Verdict::Release,
                4 => {
                    let after = sim.time_below(LEASE);
                    return Verdict::Postpone { after, reason: Reason::new("a scripted postponement") };
                }
                5 => std::panic::panic_any(Scripted),
                6 => std::future::pending().await,
                _ => sim.sleep(LEASE / 2 + sim.time_below(LEASE * 2)).await,
            }
        }
        let emit =
            if message.id.uuid().as_u128().is_multiple_of(2) { vec![child_of(message)] } else { Vec::new() };
        Verdict::Ack { emit }
    }
}

#[async_trait]
impl Handler for ScriptedHandler {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let running = self.journal.begins(self.process, claimed);
        if self.sim.has(Sabotage::AcksBeforeTheEnd) {
            let (this, message) = (self.clone(), claimed.message.clone());
            let work = async move { drop(running.says(this.act(&message).await)) };
            ProcessTimer::of(&self.sim, self.process).spawn(Box::pin(work));
            return Verdict::ack();
        }
        running.says(self.act(&claimed.message).await)
    }
}

#[async_trait]
impl BatchHandler for ScriptedHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let begin = |claimed: &Claimed| self.journal.begins(self.process, claimed);
        let running: Vec<Running> = batch.iter().map(begin).collect();
        let mixed = usize::from(self.sim.has(Sabotage::MixesVerdicts));
        for (at, (claimed, running)) in batch.iter().zip(running).enumerate() {
            if self.sim.chance(self.sim.weather().handler / 4) {
                // One without a verdict comes again alone.
                self.sim.count(Mishap::Handler);
                continue;
            }
            let verdict = running.says(self.act(&claimed.message).await);
            // With its verdict it has left the message, which another process may claim before the batch ends.
            drop(running);
            verdicts.give((at + mixed) % batch.len(), verdict);
            if self.sim.chance(200) {
                self.sim.sleep(Duration::from_millis(self.sim.below(500))).await;
            }
        }
    }
}
