use claimstream_domain::Enqueued::New;
use claimstream_ports::Enqueue;

use super::{
    BudgetTest,
    measured::{Measured, hold},
    tests,
};

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![
        an_enqueue_in_a_callers_transaction,
        an_enqueue_in_a_transaction_of_its_own,
        an_enqueue_in_a_transaction_of_the_outboxs_own_type,
        a_transaction_that_enqueues_nothing,
    ]
}

/// How many messages are enqueued in one call, and what that costs: statements and round trips.
type Budgets = [(usize, (usize, usize)); 6];

const IN_A_CALLERS: Budgets =
    [(1, (13, 7)), (10, (13, 7)), (20, (13, 7)), (99, (19, 13)), (100, (13, 7)), (500, (13, 7))];

async fn an_enqueue_in_a_callers_transaction(measured: &Measured) {
    for (count, budget) in IN_A_CALLERS {
        let mut counts = Vec::new();
        for _ in 0..Measured::ROUNDS {
            let work = async {
                let tx = measured.outbox.begin().await.expect("begin");
                let enqueued =
                    measured.outbox.enqueue(&tx, &measured.messages(count)).await.expect("enqueue");
                assert!(enqueued.iter().all(|enqueued| *enqueued == New));
                measured.outbox.commit(tx).await.expect("commit");
            };
            counts.push(measured.count(work).await.1);
        }
        hold(&format!("{count} in a caller's transaction"), budget, counts);
    }
}

const OF_ITS_OWN: Budgets =
    [(1, (3, 3)), (10, (3, 3)), (20, (3, 3)), (99, (9, 9)), (100, (3, 3)), (500, (3, 3))];

async fn an_enqueue_in_a_transaction_of_its_own(measured: &Measured) {
    for (count, budget) in OF_ITS_OWN {
        let mut counts = Vec::new();
        for _ in 0..Measured::ROUNDS {
            let messages = measured.messages(count);
            let (enqueued, sent) = measured.count(measured.outbox.enqueue_now(&messages)).await;
            assert!(enqueued.expect("enqueue").iter().all(|enqueued| *enqueued == New));
            counts.push(sent);
        }
        hold(&format!("enqueue_now of {count}"), budget, counts);
    }
}

const OF_OWN_TYPE: Budgets =
    [(1, (8, 5)), (10, (8, 5)), (20, (8, 5)), (99, (14, 11)), (100, (8, 5)), (500, (8, 5))];

async fn an_enqueue_in_a_transaction_of_the_outboxs_own_type(measured: &Measured) {
    for (count, budget) in OF_OWN_TYPE {
        let mut counts = Vec::new();
        for _ in 0..Measured::ROUNDS {
            let work = async {
                let tx = measured.outbox.begin_own().await.expect("begin");
                let enqueued =
                    measured.outbox.enqueue(&tx, &measured.messages(count)).await.expect("enqueue");
                assert!(enqueued.iter().all(|enqueued| *enqueued == New));
                tx.commit().await.expect("commit");
            };
            counts.push(measured.count(work).await.1);
        }
        hold(&format!("{count} in a transaction of the outbox's own type"), budget, counts);
    }
}

async fn a_transaction_that_enqueues_nothing(measured: &Measured) {
    let mut counts = Vec::new();
    for _ in 0..Measured::ROUNDS {
        let work = async {
            let tx = measured.outbox.begin().await.expect("begin");
            measured.outbox.commit(tx).await.expect("commit");
        };
        counts.push(measured.count(work).await.1);
    }
    hold("begin and commit", (8, 4), counts);
}
