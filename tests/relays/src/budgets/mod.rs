//! What each step costs on the wire: statements and round trips, counted and held.
//!
//! A number here is what the step costs today. A change that saves something lowers it; a change that costs something has to
//! say why.
//! Promise: an enqueue, a claim, a settlement and an idle second cost the statements and round trips that
//! `docs/limits.md` lists

mod claims;
pub(crate) mod clusters;
mod digests;
mod enqueue;
mod measured;
mod notifications;
mod people;
mod templates;

use futures::future::BoxFuture;

use self::measured::Measured;
use crate::{Server, Suite, backend::SeaOrmBackend};

/// Adds the budgets on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let once = enqueue::tests().into_iter().chain(templates::tests()).chain(digests::tests());
        for (what, test) in once {
            add(suite, (server, &url, "auto"), format!("{}::budgets::{what}", server.name), test);
        }
        for strategy in server.strategies() {
            for (what, test) in
                claims::tests().into_iter().chain(notifications::tests()).chain(people::tests())
            {
                let name = format!("{}::{strategy}::budgets::{what}", server.name);
                add(suite, (server, &url, strategy.name()), name, test);
            }
        }
    }
}

fn add(
    suite: &mut Suite,
    (server, url, strategy): (Server, &str, &'static str),
    name: String,
    test: BudgetTest,
) {
    let url = url.to_owned();
    suite.add_async_test(&name, async move {
        let backend = SeaOrmBackend::server(server.name, &url, strategy);
        test(&Measured::on(&backend).await).await;
    });
}

/// What is counted on one outbox.
type BudgetTest = for<'a> fn(&'a Measured) -> BoxFuture<'a, ()>;

macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|measured| Box::pin($name(measured))) as super::BudgetTest)),*]
    };
}
use tests;
