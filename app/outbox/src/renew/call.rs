use std::{sync::Arc, time::Duration};

use claimstream_domain::{QueueName, Receipt, Renewed};
use claimstream_ports::{Measured, StoreCall, StoreError, StoreErrorKind};
use futures::FutureExt;
use tracing::Instrument;

use crate::{
    in_flight::{OpenClaims, Renewal, Ticket, Wanted},
    setup::Setup,
};

/// Begins to renew the claims that are `wanted`, in one call; `None` if there is nothing to renew.
pub(crate) fn renew(
    setup: &Arc<Setup>,
    open_claims: &Arc<OpenClaims>,
    queue: &QueueName,
    wanted: Wanted,
) -> Option<Renewal> {
    open_claims.begin_renewal(wanted, |tickets, receipts| {
        let span =
            tracing::debug_span!("renew", %queue, count = receipts.len(), lost = tracing::field::Empty);
        let renewal = renewed(Arc::clone(setup), Arc::clone(open_claims), tickets, receipts);
        renewal.instrument(span).boxed().shared()
    })
}

async fn renewed(
    setup: Arc<Setup>,
    open_claims: Arc<OpenClaims>,
    tickets: Vec<Ticket>,
    receipts: Vec<Receipt>,
) -> Result<Arc<[Ticket]>, Arc<StoreError>> {
    let sent = setup.timer.now();
    let times = setup.times(sent);
    // A longer wait would let the lease run out that another try could still save.
    let bound = setup.config.lease.renew_after();
    let call = setup.settlements.renew(&receipts, setup.config.lease);
    let answer = setup.within(bound, "renew", call).await;
    // Later than what the renewer renews along with others, or it would ask without a pause.
    let again = setup.timer.now() + bound / 2;
    match answer.and_then(|renewed| one_for_each(&receipts, renewed)) {
        Ok(renewed) => {
            let unknown = renewed.iter().filter(|one| **one == Renewed::Unknown).count();
            if unknown > 0 {
                tracing::warn!(
                    unknown,
                    of = receipts.len(),
                    "some are not renewed yet, and are asked for again"
                );
            }
            let extended = renewed.iter().filter(|one| matches!(one, Renewed::Extended(_))).count();
            measure(&setup, &receipts, extended, sent);
            let lost = open_claims.conclude_renewal(&tickets, renewed, times, again);
            tracing::Span::current().record("lost", lost.len());
            tracing::debug!(count = receipts.len(), lost = lost.len(), "renewed");
            Ok(lost)
        }
        Err(error) => {
            receipts.first().into_iter().for_each(|first| {
                setup.measure_failure(&first.queue, StoreCall::Renew, sent, &error);
            });
            open_claims.conclude_renewal(&tickets, Vec::new(), times, again);
            tracing::warn!(count = receipts.len(), %error, "leases were not renewed");
            Err(Arc::new(error))
        }
    }
}

/// Notes how many leases a call that began at `sent` has extended.
fn measure(setup: &Setup, receipts: &[Receipt], messages: usize, sent: Duration) {
    if let Some(Receipt { queue, .. }) = receipts.first() {
        setup.measure(Measured::Renewed { queue, messages, took: setup.since(sent) });
    }
}

fn one_for_each(receipts: &[Receipt], renewed: Vec<Renewed>) -> Result<Vec<Renewed>, StoreError> {
    if renewed.iter().all(|one| *one == Renewed::Unknown) && renewed.len() == receipts.len() {
        let why = "the store does not say yet what became of them";
        return Err(StoreError::new(StoreErrorKind::Transient, "renew", why));
    }
    if renewed.len() == receipts.len() {
        return Ok(renewed);
    }
    let what = format!("{} answers to {} renewals", renewed.len(), receipts.len());
    Err(StoreError::new(StoreErrorKind::Corrupt, "renew", what))
}
