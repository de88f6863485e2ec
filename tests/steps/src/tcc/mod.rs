//! TCC: scenarios A3.1 to A3.7 on memory, SQLite and every server that is here.
//! Promise: a TCC branch applies each effect once, and a late Try never (A3.1 to A3.5, A3.7)

mod branches;
mod cluster;
mod coordinator;
mod late_node;
mod mishaps;
mod races;
mod shop;
mod world;

use futures::future::BoxFuture;

use crate::{
    Server, Suite,
    backend::SeaOrmBackend,
    sagas::{self, Draw, Ends},
};
use world::{Place, World};

pub(crate) use cluster::add_on;

/// Adds every scenario on every store.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for (name, run) in scenarios() {
        suite.add_async_test(&format!("memory::tcc::{name}"), async move { run(World::in_memory()).await });
    }
    suite.add_async_test(&format!("memory::tcc::{UNDER_MISHAPS}"), async {
        draw_in_memory(Draw::some("memory").into_iter(), show).await;
    });
    for (name, run) in scenarios() {
        suite.add_async_test(&format!("sqlite::tcc::{name}"), async move {
            let backend = SeaOrmBackend::sqlite("auto");
            run(World::of(&backend).await).await;
        });
    }
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        if server.name == sagas::WITH_MISHAPS {
            let backend = SeaOrmBackend::server(server.name, &url, "auto");
            suite.add_async_test(&format!("{}::tcc::{UNDER_MISHAPS}", server.name), async move {
                draw_on(backend, Draw::some(server.name).into_iter(), show).await;
            });
        }
        for (name, run) in scenarios() {
            let url = url.clone();
            suite.add_async_test(&format!("{}::tcc::{name}", server.name), async move {
                let backend = SeaOrmBackend::server(server.name, &url, "auto");
                run(World::of(&backend).await).await;
            });
        }
    }
}

const UNDER_MISHAPS: &str = "a3_6_many_transactions_under_drawn_mishaps_end_alike_in_all_their_branches";

fn show(draw: Draw, ends: Ends) {
    println!("tcc: {draw:?}: {ends}");
}

/// Draws global transactions with their mishaps in memory; how each draw ended is noted.
pub async fn draw_in_memory(draws: impl Iterator<Item = Draw>, note: impl Fn(Draw, Ends)) {
    for draw in draws {
        note(draw, mishaps::run(World::in_memory(), draw).await);
    }
}

/// The same in databases of a backend.
pub async fn draw_on(backend: SeaOrmBackend, draws: impl Iterator<Item = Draw>, note: impl Fn(Draw, Ends)) {
    for draw in draws {
        note(draw, mishaps::run(World::of(&backend).await, draw).await);
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
