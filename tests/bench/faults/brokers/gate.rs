use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use claimstream_ports::{Consume, ConsumeError, Delivery, Hold};

/// Where a consumer is killed with a message in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Point {
    /// Its effect is written and not committed.
    InEffect,
    /// Its effect was committed, and the broker does not know.
    BeforeAcknowledgement,
}

impl Point {
    const ALL: [Self; 2] = [Self::InEffect, Self::BeforeAcknowledgement];

    /// The word on the consumer's input that stops it there.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InEffect => "in-effect",
            Self::BeforeAcknowledgement => "before-acknowledgement",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.name() == name)
    }
}

/// What the consumer says when it stands where it is to be killed.
pub(super) const STANDS: &str = "stands";
/// What it says, with the id of the message, when an effect was committed, now or before.
pub(super) const HANDLED: &str = "handled ";

/// Stops the consumer for ever at the point that was named.
#[derive(Default)]
pub(super) struct Gate(Mutex<Option<Point>>);

impl Gate {
    pub(super) fn close(&self, at: Point) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    pub(super) async fn pass(&self, point: Point) {
        let is_closed = *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Some(point);
        if is_closed {
            println!("{STANDS}");
            std::future::pending::<()>().await;
        }
    }
}

/// A consumer that says of each message when it is about to acknowledge it, and may be stopped there.
pub(super) struct Gated {
    pub(super) broker: Arc<dyn Consume>,
    pub(super) gate: Arc<Gate>,
}

#[async_trait]
impl Consume for Gated {
    async fn next(&self) -> Result<Delivery, ConsumeError> {
        let given = self.broker.next().await?;
        let (received, times) = (given.received.clone(), given.times);
        Ok(Delivery::new(received, times, Box::new(GatedHold { given, gate: Arc::clone(&self.gate) })))
    }
}

struct GatedHold {
    given: Delivery,
    gate: Arc<Gate>,
}

#[async_trait]
impl Hold for GatedHold {
    async fn finish(self: Box<Self>) -> Result<(), ConsumeError> {
        // Said before the broker knows: otherwise a kill in between would hide an effect for ever.
        println!("{HANDLED}{}", self.given.received.id);
        self.gate.pass(Point::BeforeAcknowledgement).await;
        self.given.finish().await
    }

    async fn give_back(self: Box<Self>) -> Result<(), ConsumeError> {
        self.given.give_back().await
    }
}
