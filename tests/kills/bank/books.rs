use std::collections::{BTreeMap, BTreeSet};

use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::saga::{SagaId, SagaState};
use sea_orm::{ConnectionTrait, Statement};

use super::Failure;

/// The bookings of each saga, in all databases together.
pub(crate) struct Books {
    steps: BTreeMap<String, BTreeSet<String>>,
    /// Bookings that are repeats of another.
    pub(crate) repeats: usize,
}

/// What a saga books: each step, and what undoes it if it can be undone.
pub(crate) type Steps = &'static [(&'static str, Option<&'static str>)];

impl Books {
    pub(crate) async fn read(databases: &[SeaOrmOutbox]) -> Result<Self, Failure> {
        let mut books = Self { steps: BTreeMap::new(), repeats: 0 };
        for db in databases {
            let on = db.connection();
            let all =
                Statement::from_string(on.get_database_backend(), "SELECT saga, step FROM bank_booking");
            for row in on.query_all_raw(all).await? {
                books.enter(row.try_get_by_index(0)?, row.try_get_by_index(1)?);
            }
        }
        Ok(books)
    }

    fn enter(&mut self, saga: String, step: String) {
        if !self.steps.entry(saga).or_default().insert(step) {
            self.repeats += 1;
        }
    }

    /// Whether a saga that is over has booked all it should have, and nothing else.
    pub(crate) fn fit(&self, saga: SagaId, state: Option<&SagaState>, steps: Steps) -> bool {
        let none = BTreeSet::new();
        let booked = self.steps.get(&saga.to_string()).unwrap_or(&none);
        let has = |step: &str| booked.contains(step);
        match state {
            Some(SagaState::Finish) => {
                booked.len() == steps.len() && steps.iter().all(|(forward, _)| has(forward))
            }
            Some(SagaState::Fail) => steps.iter().all(|(forward, back)| match back {
                Some(back) => has(forward) == has(back),
                None => !has(forward),
            }),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const STEPS: Steps = &[("debit", Some("refund")), ("credit", None)];

    fn fits(state: SagaState, booked: &[&str]) -> bool {
        let id = SagaId::new(Uuid::from_u128(7));
        let mut books = Books { steps: BTreeMap::new(), repeats: 0 };
        for step in booked {
            books.enter(id.to_string(), (*step).to_owned());
        }
        books.fit(id, Some(&state), STEPS)
    }

    #[test]
    fn what_is_finished_has_gone_forward_whole() {
        assert!(fits(SagaState::Finish, &["debit", "credit"]));
        assert!(!fits(SagaState::Finish, &["debit"]));
        assert!(!fits(SagaState::Finish, &["debit", "refund", "credit"]));
    }

    #[test]
    fn what_has_failed_has_nothing_that_was_not_undone() {
        assert!(fits(SagaState::Fail, &[]));
        assert!(fits(SagaState::Fail, &["debit", "refund"]));
        assert!(!fits(SagaState::Fail, &["debit"]));
        assert!(!fits(SagaState::Fail, &["debit", "refund", "credit"]));
    }
}
