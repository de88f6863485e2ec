use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::{ClaimId, Disposition, InstanceId, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::database::servers::Servers;

/// Which claims were made before another server took the place of the one that they were made on.
///
/// A server that takes over by asynchronous replication may lack the last commits of the one before it. What a handler has
/// written may be gone there, and its message, written earlier, still claimed: an acknowledgement would be accepted for work
/// that does not exist any more. So the adapter gives back the messages that were claimed before, and they are handled again.
/// Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failover {
    servers: Servers,
    claims: Arc<Mutex<Claims>>,
}

#[derive(Debug, Default)]
struct Claims {
    /// How many takeovers `outdated` knows of.
    takeovers: u64,
    /// The newest claim of each instance.
    newest: HashMap<InstanceId, ClaimId>,
    /// The newest claim of each instance that was made before another server took over.
    outdated: HashMap<InstanceId, ClaimId>,
}

impl Failover {
    /// Judges by the servers that connections have led to.
    pub(crate) fn of(servers: Servers) -> Self {
        Self { servers, claims: Arc::default() }
    }

    /// Notes a claim that is about to be made.
    pub(crate) fn claiming(&self, claim: ClaimId) {
        let mut claims = self.claims();
        let newest = claims.newest.entry(claim.instance()).or_insert(claim);
        *newest = claim.max(*newest);
    }

    /// The settlements as they may be written: a message that was claimed before another server took over is given back and not
    /// ended.
    pub(crate) fn heeded<'a>(&self, settlements: &'a [Settlement]) -> Cow<'a, [Settlement]> {
        let claims = self.claims();
        if !settlements.iter().any(|settlement| claims.refuses(settlement)) {
            return Cow::Borrowed(settlements);
        }
        let heed = |settlement: &Settlement| match claims.refuses(settlement) {
            true => Settlement { disposition: Disposition::Returned, receipt: settlement.receipt.clone() },
            false => settlement.clone(),
        };
        settlements.iter().map(heed).collect()
    }

    /// Fails if a settlement must not be written any more. Ask once the connection is there that is to write it: it may be
    /// the first to another server.
    pub(crate) fn check<'a>(
        &self,
        operation: &'static str,
        mut settlements: impl Iterator<Item = &'a Settlement>,
    ) -> Result<(), StoreError> {
        let claims = self.claims();
        match settlements.any(|settlement| claims.refuses(settlement)) {
            true => {
                Err(StoreError::new(StoreErrorKind::Unavailable, operation, "another server has taken over"))
            }
            false => Ok(()),
        }
    }

    /// The claims as the newest takeover has left them: those that were made until then are outdated.
    fn claims(&self) -> MutexGuard<'_, Claims> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let takeovers = self.servers.takeovers();
        if std::mem::replace(&mut claims.takeovers, takeovers) != takeovers {
            claims.outdated = claims.newest.clone();
        }
        claims
    }
}

impl Claims {
    /// An outdated claim may not end its message, which would never come again; it may give the message back.
    fn refuses(&self, Settlement { receipt, disposition }: &Settlement) -> bool {
        let ends = matches!(disposition, Disposition::Done { .. } | Disposition::Dead { .. });
        let newest = self.outdated.get(&receipt.claim.instance());
        ends && newest.is_some_and(|newest| receipt.claim <= *newest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use claimstream_domain::{Locator, MessageId, QueueName, Receipt, Shard};

    use super::*;
    use crate::database::{outage::Outage, store_timer::StoreTimer};

    fn claim(sequence: u64) -> ClaimId {
        ClaimId::new(InstanceId(7), sequence)
    }

    fn done(sequence: u64) -> Settlement {
        let receipt = Receipt {
            message: MessageId::new(uuid::Uuid::from_u128(1)),
            queue: QueueName::new("orders").unwrap(),
            shard: Shard::from_number(0),
            claim: claim(sequence),
            locator: Locator(1),
        };
        Settlement { receipt, disposition: Disposition::Done { emit: vec![] } }
    }

    fn is_given_back(failover: &Failover, sequence: u64) -> bool {
        let given_back = failover.heeded(&[done(sequence)])[0].disposition == Disposition::Returned;
        assert_eq!(failover.check("test", [done(sequence)].iter()).is_err(), given_back);
        given_back
    }

    #[test]
    fn what_was_claimed_before_another_server_took_over_is_given_back() {
        let failover = Failover::default();
        failover.servers.met(1);
        failover.claiming(claim(1));
        failover.servers.met(1);
        assert!(!is_given_back(&failover, 1));
        failover.servers.met(2);
        failover.claiming(claim(2));
        assert!(is_given_back(&failover, 1) && !is_given_back(&failover, 2));
    }

    #[test]
    fn servers_that_take_turns_replace_none() {
        let failover = Failover::default();
        failover.servers.met(1);
        failover.servers.met(2);
        for sequence in 1..9 {
            failover.claiming(claim(sequence));
            failover.servers.met(1 + (sequence % 2) as i64);
            assert!(!is_given_back(&failover, sequence));
        }
    }

    #[test]
    fn a_server_that_comes_back_after_an_outage_has_taken_over() {
        let (timer, hand) = StoreTimer::by_hand();
        let outage = Outage::new(timer);
        let failover = Failover::of(Servers::after(outage.clone()));
        failover.servers.met(1);
        failover.servers.met(2);
        hand.advance(Duration::from_millis(2));
        failover.claiming(claim(1));
        outage.note();
        hand.advance(Duration::from_millis(1));
        failover.servers.met(1);
        assert!(is_given_back(&failover, 1));
        hand.advance(Duration::from_millis(2));
        failover.claiming(claim(2));
        for server in [2, 1, 2] {
            failover.servers.met(server);
        }
        assert!(!is_given_back(&failover, 2), "from then on they take turns");
    }

    #[test]
    fn what_comes_again_is_written_as_it_is() {
        let failover = Failover::default();
        failover.servers.met(1);
        failover.claiming(claim(1));
        failover.servers.met(2);
        let reason = claimstream_domain::Reason::new("not yet");
        let retry = Disposition::Retry { after: Duration::ZERO, reason };
        let retried = Settlement { disposition: retry, ..done(1) };
        assert_eq!(failover.heeded(std::slice::from_ref(&retried)), std::slice::from_ref(&retried));
    }
}
