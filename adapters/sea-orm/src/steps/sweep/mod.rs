//! What a sweep forgets of steps and sagas.

mod sagas;
mod steps;

use std::time::Duration;

use crate::{
    database::capability::Capability,
    sweep::{part::Part, round::before},
};

/// Steps and sagas that were last changed longer ago than they are kept.
pub(crate) fn part(retention: Duration) -> Part {
    Part::new("steps", Capability::Steps, move |round, now| {
        Box::pin(async move {
            let (steps, sagas) = round.steps(before(now, retention)).await?;
            Ok(vec![("steps", steps), ("sagas", sagas)])
        })
    })
}
