use std::{cmp::Reverse, collections::BTreeMap};

use claimstream_domain::{
    Timestamp,
    saga::{NewSaga, SagaId},
};

/// The sagas that have been noted, by scope and id.
#[derive(Debug, Default)]
pub(crate) struct Sagas(BTreeMap<(Box<str>, SagaId), (NewSaga, Timestamp)>);

impl Sagas {
    /// Takes a new saga in.
    pub(crate) fn insert(&mut self, saga: NewSaga, at: Timestamp) {
        self.0.insert((saga.scope.clone(), saga.id), (saga, at));
    }

    /// Whether a saga with this identity is here.
    pub(crate) fn knows(&self, saga: &NewSaga) -> bool {
        self.get(&saga.scope, saga.id).is_some()
    }

    /// A saga, and when it was noted.
    pub(crate) fn get(&self, scope: &str, id: SagaId) -> Option<&(NewSaga, Timestamp)> {
        self.0.get(&(scope.into(), id))
    }

    /// The sagas of an owner, the newest first, those behind `after`.
    pub(crate) fn of_owner(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
    ) -> Vec<&(NewSaga, Timestamp)> {
        let after = after.and_then(|id| self.get(scope, id).map(|(_, at)| (*at, id)));
        let is_meant = |saga: &NewSaga| *saga.scope == *scope && *saga.owner == *owner;
        let mut found: Vec<_> = self
            .0
            .values()
            .filter(|(saga, at)| is_meant(saga) && after.is_none_or(|after| (*at, saga.id) < after))
            .collect();
        found.sort_by_key(|(saga, at)| Reverse((*at, saga.id)));
        found
    }
}
