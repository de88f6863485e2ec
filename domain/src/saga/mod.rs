//! Sagas: several local transactions that are all taken, or all undone, and the next action at every point.

mod continuation;
mod details;
mod fault;
#[cfg(test)]
mod model;
mod next;
mod order;
mod plan;
mod record;
mod state;

pub use continuation::{SagaContinuation, SagaContinued, SagaNudge};
pub use details::SagaDetails;
pub use fault::SagaFault;
pub use next::{SagaEntry, SagaNext, SagaView, Unbegun};
pub use order::{SagaOrder, SagaOrderKind};
pub use plan::SagaPlan;
pub use record::{NewSaga, SagaRecord};
pub use state::{SagaId, SagaState, SagaStepState};
