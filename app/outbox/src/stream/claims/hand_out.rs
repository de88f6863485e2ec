use std::sync::Arc;

use claimstream_domain::Claimed;

use super::Claims;
use crate::in_flight::{ClaimStatus, Ticket};
use crate::stream::claim::Claim;

impl Claims {
    /// The next message that may be handed out now.
    pub(super) fn next_live(&mut self) -> Option<Claim> {
        while let Some((ticket, claimed)) = self.buffer.pop() {
            if self.has_to_wait(ticket) {
                self.buffer.put_back([(ticket, claimed)]);
                return None;
            }
            if self.is_used_up(&claimed) {
                self.returns.bury(ticket, claimed);
                continue;
            }
            match self.settler.hand_out(ticket) {
                ClaimStatus::Live => return Some(Claim::new(Arc::clone(&self.settler), ticket, claimed)),
                ClaimStatus::Stale | ClaimStatus::Lost => {
                    self.settler.key_groups.concluded(ticket, false);
                    self.returns.give_back(ticket, claimed);
                }
            }
        }
        None
    }

    /// The next messages that may be handed out together now, at least one.
    pub(super) fn next_together(&mut self, most: usize) -> Option<Vec<(Ticket, Claimed)>> {
        loop {
            let mut taken = self.buffer.take_together(most, |ticket| self.isolation.is_suspect(ticket));
            let (first, _) = taken.first()?;
            if self.has_to_wait(*first) {
                self.buffer.put_back(taken);
                return None;
            }
            let most = self.settler.setup.config.retry.max_attempts;
            let used_up = taken.extract_if(.., |(_, claimed)| claimed.attempt > most);
            used_up.for_each(|(ticket, claimed)| self.returns.bury(ticket, claimed));
            let standings = self.settler.hand_out_all(taken.iter().map(|(ticket, _)| *ticket));
            let mut standings = standings.into_iter();
            let gone = taken.extract_if(.., |_| standings.next() != Some(ClaimStatus::Live));
            gone.for_each(|(ticket, claimed)| {
                self.settler.key_groups.concluded(ticket, false);
                self.returns.give_back(ticket, claimed);
            });
            if !taken.is_empty() {
                return Some(taken);
            }
        }
    }
}
