//! TCC: scenarios A3.1 to A3.7 on memory, SQLite and every server that is here.

mod branches;
mod coordinator;
mod races;
mod shop;
mod world;

use futures::future::BoxFuture;

use crate::{Server, Suite, venue::SeaOrmVenue};
use world::{Place, World};

/// Adds every scenario on every store.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for (name, play) in scenarios() {
        suite.add_async_trial(&format!("memory::tcc::{name}"), async move { play(World::in_memory()).await });
    }
    for (name, play) in scenarios() {
        suite.add_async_trial(&format!("sqlite::tcc::{name}"), async move {
            let venue = SeaOrmVenue::sqlite("auto");
            play(World::of(&venue).await).await;
        });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for (name, play) in scenarios() {
            let url = url.clone();
            suite.add_async_trial(&format!("{}::tcc::{name}", server.name), async move {
                let venue = SeaOrmVenue::server(server.name, &url, "auto");
                play(World::of(&venue).await).await;
            });
        }
    }
}

type Scenario<S> = (&'static str, fn(World<S>) -> BoxFuture<'static, ()>);

fn scenarios<S: Place>() -> Vec<Scenario<S>> {
    [branches::scenarios(), races::scenarios(), coordinator::scenarios()].concat()
}

/// The scenarios of a file: `listed![a_sentence, another_one]`.
macro_rules! listed {
    [$($name:ident),+ $(,)?] => {
        vec![$((stringify!($name), |world| Box::pin($name(world)) as _)),+]
    };
}
use listed;
