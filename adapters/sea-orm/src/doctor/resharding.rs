use crate::doctor::{
    examination::Examination,
    finding::{Finding, warning},
};

impl Examination<'_> {
    /// A resharding that has not ended: messages may wait for it, or triggers may be there still.
    pub(crate) fn examine_resharding(&self) -> Option<Finding> {
        let resharding = self.shards.resharding?;
        let (from, to, open) = (resharding.from().get(), resharding.to().get(), self.shards.open);
        Some(warning(
            "resharding",
            match (self.shards.is_open(), self.shards.is_cut) {
                (true, _) => format!(
                    "all {to} shards are open, and triggers send each message with an ordering key to its own, because programs that write may \
                     know the old count still. When all of them were restarted, `claimstream schema reshard --end --yes`"
                ),
                (false, true) => format!(
                    "{open} of {to} shards are open; messages whose keys belong into the others wait. If `claimstream schema reshard` does not \
                     run, run it again: `claimstream schema reshard {to} --yes`"
                ),
                (false, false) => format!(
                    "a resharding from {from} to {to} shards was begun, and messages are written by the old count. Continue with \
                     `claimstream schema reshard {to} --yes`, or take it back with `claimstream schema reshard --end --yes`"
                ),
            },
        ))
    }
}
