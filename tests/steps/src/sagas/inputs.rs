//! The input of a saga from one version of a program to the next: a field that it gains has its default in what was stored before.
//! Promise: a start that is repeated by a later version of the program is the same start

use claimstream_domain::saga::SagaOrderKind;
use claimstream_steps::saga::{Saga, SagaConfig, SagaError, SagaOutcome, SagaRun, StepFailure};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    bank::{Account, Bank, book, fresh_saga, timer},
    breakable::Breakable,
    case::{Case, cases},
    crash::Crash,
    database::Database,
};

pub(super) fn cases<D: Database>() -> Vec<(&'static str, Case<D>)> {
    cases![
        s4_a_repeated_start_whose_input_gained_a_default_field_is_the_same_start,
        s4_an_order_to_a_saga_whose_stored_input_cannot_be_read_is_an_alarm,
    ]
}

#[derive(Clone, Serialize, Deserialize)]
struct First {
    account: Account,
    amount: i64,
}

/// What a later version of the program reads and writes.
#[derive(Clone, Serialize, Deserialize)]
struct Second {
    account: Account,
    amount: i64,
    #[serde(default)]
    note: String,
}

/// A version whose new field has no default.
#[derive(Clone, Serialize, Deserialize)]
struct Third {
    account: Account,
    amount: i64,
    currency: String,
}

trait Input: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    fn booked(&self) -> (&Account, i64);
}

impl Input for First {
    fn booked(&self) -> (&Account, i64) {
        (&self.account, self.amount)
    }
}

impl Input for Second {
    fn booked(&self) -> (&Account, i64) {
        (&self.account, self.amount)
    }
}

impl Input for Third {
    fn booked(&self) -> (&Account, i64) {
        (&self.account, self.amount)
    }
}

/// A saga of one step, which takes an amount from an account.
fn saga<D: Database, I: Input>(bank: &Bank<D>, crash: &Crash) -> Saga<I, Breakable<D>> {
    let home = bank.seen_by(crash)[0].clone();
    let (place, database) = (home.clone(), bank.databases[0].clone());
    Saga::list(&bank.name("inputs"), home, timer())
        .at(move |_: &I| place.clone())
        .step("take", booking::<D, I>(database.clone(), -1), booking::<D, I>(database, 1))
        .build(SagaConfig::default())
        .expect("a saga")
}

fn booking<D: Database, I: Input>(
    database: D,
    sign: i64,
) -> impl for<'a> Fn(&'a D::Tx, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>> {
    move |tx, run| {
        let database = database.clone();
        Box::pin(async move {
            let (account, amount) = run.input().booked();
            book(&database, tx, account, sign * amount).await
        })
    }
}

/// Guard: a repeated start is compared by what the input type of today makes of the stored input |
/// app/steps/src/saga/list.rs `start`: every `Taken` is an error
async fn s4_a_repeated_start_whose_input_gained_a_default_field_is_the_same_start<D: Database>(
    bank: Bank<D>,
) {
    let (id, account) = (fresh_saga(), bank.account(0, "money", 10).await);
    let crash = Crash::at_point("after saga Init");
    let first = First { account: account.clone(), amount: 1 };
    assert!(crash.run(saga(&bank, &crash).start(id, "anna", first)).await.is_none());
    let later = saga::<D, Second>(&bank, &Crash::never());
    let same = Second { account: account.clone(), amount: 1, note: String::new() };
    for other in [
        Second { amount: 2, ..same.clone() },
        Second { note: "gift".into(), ..same.clone() },
        Second { account: bank.account(0, "money", 10).await, ..same.clone() },
    ] {
        let refused = later.start(id, "anna", other).await;
        assert!(matches!(refused, Err(SagaError::Taken(_))), "{refused:?}");
    }
    let of_another = later.start(id, "bert", same.clone()).await;
    assert!(matches!(of_another, Err(SagaError::Taken(_))), "{of_another:?}");
    assert_eq!(bank.balance(&account).await, 10);
    for _ in 0..2 {
        assert_eq!(later.start(id, "anna", same.clone()).await.expect("an outcome"), SagaOutcome::Finish);
        assert_eq!(bank.balance(&account).await, 9);
    }
    bank.settle_all(&later).await;
}

/// Guard: a saga whose stored input cannot be read raises an alarm | app/steps/src/saga/list.rs `enter`: `?` behind `stored`
async fn s4_an_order_to_a_saga_whose_stored_input_cannot_be_read_is_an_alarm<D: Database>(bank: Bank<D>) {
    let (id, account) = (fresh_saga(), bank.account(0, "money", 10).await);
    let crash = Crash::at_point("after saga Init");
    let first = First { account: account.clone(), amount: 1 };
    assert!(crash.run(saga(&bank, &crash).start(id, "anna", first)).await.is_none());
    let later = saga::<D, Third>(&bank, &Crash::never());
    let third = Third { account: account.clone(), amount: 1, currency: "EUR".into() };
    let order = later.order(SagaOrderKind::RollBack, id, "anna", third).expect("an order");
    bank.enqueue(order).await;
    bank.deliver(&later).await;
    assert!(later.tally().alarms > 0);
    assert_eq!(bank.balance(&account).await, 10);
}
