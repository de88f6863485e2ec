use std::collections::HashMap;

use claimstream_domain::{
    Timestamp,
    step::{RunFilter, RunKind, RunListed, RunPlace, Step, StepKey, StepListed},
};

use crate::clock::between;

/// The steps that have been committed, and when each was begun and changed last.
#[derive(Debug, Default)]
pub(crate) struct Steps(HashMap<StepKey, Kept>);

#[derive(Debug)]
struct Kept {
    step: Step,
    created: Timestamp,
    changed: Timestamp,
}

impl Steps {
    pub(crate) fn get(&self, key: &StepKey) -> Option<Step> {
        self.0.get(key).map(|kept| kept.step.clone())
    }

    pub(crate) fn put(&mut self, key: StepKey, step: Step, now: Timestamp) {
        let created = self.0.get(&key).map_or(now, |kept| kept.created);
        self.0.insert(key, Kept { step, created, changed: now });
    }

    /// The runs that match, and their places, in order.
    pub(crate) fn runs(&self, filter: &RunFilter, now: Timestamp) -> Vec<(RunPlace, RunListed)> {
        let meant = self.0.iter().filter(|(key, kept)| filter.means(key, kept.step.state));
        let mut runs: Vec<_> = meant
            .map(|(key, kept)| {
                let listed = RunListed {
                    key: key.clone(),
                    standing: filter.kind.standing(key.step(), kept.step.state),
                    version: kept.step.version,
                    age: between(kept.created, now),
                    quiet_for: between(self.last_change(key).unwrap_or(kept.changed), now),
                };
                (RunPlace::new(kept.changed.as_micros(), key.clone()), listed)
            })
            .filter(|(_, run)| run.quiet_for >= filter.quiet_for)
            .collect();
        runs.sort_by(|(one, _), (other, _)| one.cmp(other));
        runs
    }

    /// The rows of a run by step.
    pub(crate) fn of_run(&self, kind: RunKind, scope: &str, run: &str, now: Timestamp) -> Vec<StepListed> {
        let rows = self.0.iter().filter(|(key, _)| key.scope() == scope && key.run() == run);
        let mut steps: Vec<_> = rows
            .map(|(key, kept)| StepListed {
                step: key.step().into(),
                standing: kind.standing(key.step(), kept.step.state),
                version: kept.step.version,
                age: between(kept.created, now),
                quiet_for: between(kept.changed, now),
            })
            .collect();
        steps.sort_by(|one, other| one.step.cmp(&other.step));
        steps
    }

    fn last_change(&self, key: &StepKey) -> Option<Timestamp> {
        let of_run =
            self.0.iter().filter(|(other, _)| (other.scope(), other.run()) == (key.scope(), key.run()));
        of_run.map(|(_, kept)| kept.changed).max()
    }
}
