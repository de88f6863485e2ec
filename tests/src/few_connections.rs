//! An outbox with the fewest connections it takes: no claim that marks messages holds one while it waits for another.

use claimstream::Compose;
use claimstream_domain::{Disposition, NewMessage, Renewed, Settled};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::{Instance, LEASE, Ports, Server, Stage, Suite, venue::SeaOrmVenue};

const MESSAGES: usize = 80;
const UNREADABLE: usize = 8;

/// Adds it for every server that is here, with each strategy that writes messages.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in ["preemptive_update", "skip_locked"] {
            if !server.strategies().contains(&strategy) {
                continue;
            }
            let url = url.clone();
            let name = format!("{}::{strategy}::few_connections::two_are_enough_for_many", server.name);
            suite.add_async_trial(&name, async move {
                are_enough_for_many(&SeaOrmVenue::server(server.name, &url, strategy)).await;
            });
        }
    }
}

/// Many claim, bury what cannot be read, renew and settle, all at a time.
async fn are_enough_for_many(venue: &SeaOrmVenue) {
    let url = venue.fresh_database().await.expect("a database");
    let options = OpenOptions { max_connections: 2, ..venue.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let queue = Stage::fresh_queue();
    let messages: Vec<_> =
        (0..MESSAGES).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    for message in messages.iter().step_by(MESSAGES / UNREADABLE) {
        spoil(&outbox, message).await;
    }
    let ports = Ports::of(outbox);
    let instances: Vec<_> = (1..=6).map(|id| Instance::new(id, ports.clone(), queue.clone(), 3)).collect();
    let settled = join_all(instances.iter().map(works_off)).await;
    assert_eq!(settled.iter().sum::<usize>(), MESSAGES - UNREADABLE);
    let left = instances[0].status().await.map(|status| (status.depth, status.dead));
    assert_eq!(left, Some((0, UNREADABLE as u64)));
}

/// Five at a time; answers how many.
async fn works_off(instance: &Instance) -> usize {
    let mut settled = 0;
    loop {
        let claimed = instance.take(5).await;
        if claimed.is_empty() {
            return settled;
        }
        for claimed in &claimed {
            let renewed = instance.renew(&claimed.receipt, LEASE).await;
            let Renewed::Extended(receipt) = renewed else { panic!("{renewed:?}") };
            let done = Disposition::Done { emit: vec![] };
            assert_eq!(instance.settle(&receipt, done).await, Settled::Accepted);
        }
        settled += claimed.len();
    }
}

async fn spoil(outbox: &SeaOrmOutbox, message: &NewMessage) {
    let sql = "UPDATE claimstream_message SET headers = 'no JSON' WHERE id = ?";
    let id = message.id.uuid().as_bytes().to_vec();
    let spoiling = Statement::from_sql_and_values(DbBackend::MySql, sql, [id.into()]);
    assert_eq!(outbox.connection().execute_raw(spoiling).await.expect("an update").rows_affected(), 1);
}
