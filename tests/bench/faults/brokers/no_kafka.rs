//! In place of `kafka.rs`, in a program that was built without Kafka.

use std::sync::Arc;

use claimstream_ports::{Consume, Publish};

use super::fault::Mishap;
use crate::Failure;

/// Why this program cannot play with Kafka.
pub(super) const MISSING: Option<&str> = Some(WHY);

const WHY: &str = "this program was built without Kafka; build it with `--features claimstream-bench/kafka`, which needs a C compiler and make";

/// There is none.
pub(super) enum MockKafka {}

impl MockKafka {
    pub(super) fn start(_topic: &str) -> Result<Self, Failure> {
        Err(WHY.into())
    }

    pub(super) fn url(&self) -> &str {
        match *self {}
    }

    pub(super) async fn suffer(&self, _mishap: Mishap, _round: usize) -> Result<(), Failure> {
        match *self {}
    }
}

pub(super) fn publisher(_url: &str) -> Result<Arc<dyn Publish>, Failure> {
    Err(WHY.into())
}

pub(super) fn consumer(_url: &str, _topic: &str, _group: &str) -> Result<Arc<dyn Consume>, Failure> {
    Err(WHY.into())
}
