use std::{collections::HashMap, future::Future, time::Duration};

use claimstream::{in_transaction, work};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::{
    saga::{Saga, SagaError, SagaId},
    tcc::{Branch, Coordinator, CoordinatorError, GlobalId, GlobalTransaction},
};
use serde_json::json;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    books::ACCOUNTS,
    member::{BRANCHES, Member, Payment, timer},
};

/// All that was asked for, and whether the answer said that it is kept.
#[derive(Default)]
pub(super) struct Started {
    pub(super) sagas: HashMap<SagaId, bool>,
    pub(super) globals: HashMap<GlobalId, bool>,
}

impl Started {
    pub(super) fn add(&mut self, other: Self) {
        self.sagas.extend(other.sagas);
        self.globals.extend(other.globals);
    }
}

/// For whom all sagas are.
pub(super) const OWNER: &str = "flows";
/// How long after one the next is started.
const EVERY: Duration = Duration::from_millis(60);
/// A node that says nothing for so long is left alone.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Starts sagas and global transactions in turn, here and now or by a message, until it is to stop. Some are left by their runners.
pub(super) async fn run(member: Member, place: usize, mut stop: watch::Receiver<bool>) -> Started {
    let mut started = Started::default();
    let (Ok(payments), Ok(orders)) = (member.payments(), member.orders()) else { return started };
    let mut number = place;
    while !*stop.borrow() {
        number += 1;
        // One of eight runners dies on its way.
        let timeout = if number % 8 < 2 { Duration::from_millis(number as u64 % 40) } else { TIMEOUT };
        if number.is_multiple_of(2) {
            let id = SagaId::new(Uuid::now_v7());
            let is_kept = within(timeout, saga(&member, &payments, id, number)).await;
            started.sagas.insert(id, is_kept);
        } else if let Ok(gid) = GlobalId::new(&Uuid::now_v7().to_string()) {
            let is_kept = within(timeout, global(&member, &orders, &gid, number)).await;
            started.globals.insert(gid, is_kept);
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = stop.changed() => {}
        }
    }
    started
}

async fn within<T, E>(limit: Duration, asked: impl Future<Output = Result<T, E>>) -> bool {
    matches!(tokio::time::timeout(limit, asked).await, Ok(Ok(_)))
}

async fn saga(
    member: &Member,
    payments: &Saga<Payment, SeaOrmOutbox>,
    id: SagaId,
    number: usize,
) -> Result<(), SagaError> {
    let account = |number: usize| number as u32 % ACCOUNTS;
    let payment =
        Payment { from: account(number), to: account(number / 2), is_refused: number.is_multiple_of(5) };
    if number.is_multiple_of(4) {
        return payments.start(id, OWNER, payment).await.map(|_| ());
    }
    in_transaction(&member.home, &*timer(), |tx| {
        let payment = payment.clone();
        work(async move { payments.submit(tx, id, OWNER, payment).await.map(|_| ()) })
    })
    .await
}

async fn global(
    member: &Member,
    orders: &Coordinator<SeaOrmOutbox>,
    gid: &GlobalId,
    number: usize,
) -> Result<(), CoordinatorError> {
    let refused = |branch: &str| branch == BRANCHES[1] && number.is_multiple_of(5);
    let branches = BRANCHES.map(|branch| Branch::new(branch, json!({ "refused": refused(branch) })));
    let branches = branches.into_iter().collect::<Result<Vec<_>, _>>()?;
    let global = GlobalTransaction::new(gid.clone(), branches)?;
    if number % 4 == 1 {
        return orders.run(&global).await.map(|_| ());
    }
    in_transaction(&member.home, &*timer(), |tx| work(orders.begin(tx, &global))).await.map(|_| ())
}
