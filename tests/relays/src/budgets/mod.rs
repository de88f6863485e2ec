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
        let once = enqueue::trials().into_iter().chain(templates::trials()).chain(digests::trials());
        for (what, trial) in once {
            add(suite, (server, &url, "auto"), format!("{}::budgets::{what}", server.name), trial);
        }
        for strategy in server.strategies() {
            for (what, trial) in
                claims::trials().into_iter().chain(notifications::trials()).chain(people::trials())
            {
                let name = format!("{}::{strategy}::budgets::{what}", server.name);
                add(suite, (server, &url, strategy.name()), name, trial);
            }
        }
    }
}

fn add(suite: &mut Suite, (server, url, strategy): (Server, &str, &'static str), name: String, trial: Trial) {
    let url = url.to_owned();
    suite.add_async_trial(&name, async move {
        let backend = SeaOrmBackend::server(server.name, &url, strategy);
        trial(&Measured::on(&backend).await).await;
    });
}

/// What is counted on one outbox.
type Trial = for<'a> fn(&'a Measured) -> BoxFuture<'a, ()>;

macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|measured| Box::pin($name(measured))) as super::Trial)),*]
    };
}
use trials;
