//! What begins and commits cost on nodes that certify each other's commits.
//! Promise: begins and commits on Galera and in a group cost the round trips that `docs/limits.md` lists

use claimstream_domain::NewMessage;
use claimstream_ports::Enqueue;

use super::measured::{Measured, hold};
use crate::{Suite, backend::SeaOrmBackend};

/// Adds them on a cluster of which each node takes writes.
pub(crate) fn add_on(suite: &mut Suite, name: &'static str, url: &str) {
    let (test, url) = (format!("{name}::budgets::begins_and_commits"), url.to_owned());
    suite.add_async_test(&test, async move {
        let backend = SeaOrmBackend::server(name, &url, "auto");
        let measured = &Measured::on(&backend).await;
        let budgets = if name.starts_with("galera") { GALERA } else { GROUP };
        for (kind, budget) in KINDS.into_iter().zip(budgets) {
            let mut counts = Vec::new();
            for _ in 0..Measured::ROUNDS {
                let messages = measured.messages(kind.messages());
                counts.push(measured.count(kind.carry_out(measured, &messages)).await.1);
            }
            hold(kind.says(), budget, counts);
        }
    });
}

const KINDS: [Kind; 4] = [Kind::Nothing, Kind::OfDriver, Kind::NothingOfOwn, Kind::Own];

/// The statements and round trips of each kind. A server by itself has (8, 4), (13, 7), (4, 2) and (8, 5).
type Budgets = [(usize, usize); 4];

/// The `COMMIT` is a packet of its own, and a savepoint that is renewed is proven.
const GALERA: Budgets = [(8, 5), (13, 8), (4, 3), (9, 6)];
/// A transaction of the driver is begun twice; the proof of its commit is shorter.
const GROUP: Budgets = [(8, 5), (13, 8), (4, 2), (8, 5)];

/// A transaction that is begun by the outbox and committed by it.
#[derive(Clone, Copy)]
enum Kind {
    /// Of the driver's type, and nothing is written in it.
    Nothing,
    /// Of the driver's type, with a message.
    OfDriver,
    /// Of the outbox's own type, and nothing is written in it.
    NothingOfOwn,
    /// Of the outbox's own type, with a message.
    Own,
}

impl Kind {
    fn says(self) -> &'static str {
        match self {
            Self::Nothing => "begin and commit",
            Self::OfDriver => "1 in a caller's transaction",
            Self::NothingOfOwn => "begin and commit of the outbox's own type",
            Self::Own => "1 in a transaction of the outbox's own type",
        }
    }

    fn messages(self) -> usize {
        match self {
            Self::Nothing | Self::NothingOfOwn => 0,
            Self::OfDriver | Self::Own => 1,
        }
    }

    async fn carry_out(self, Measured { outbox, .. }: &Measured, messages: &[NewMessage]) {
        match self {
            Self::Nothing | Self::OfDriver => {
                let tx = outbox.begin().await.expect("begin");
                outbox.enqueue(&tx, messages).await.expect("enqueue");
                outbox.commit(tx).await.expect("commit");
            }
            Self::NothingOfOwn | Self::Own => {
                let tx = outbox.begin_own().await.expect("begin");
                outbox.enqueue(&tx, messages).await.expect("enqueue");
                tx.commit().await.expect("commit");
            }
        }
    }
}
