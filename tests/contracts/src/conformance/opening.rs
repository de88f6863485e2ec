use std::collections::BTreeSet;

use claimstream::Compose;
use claimstream_domain::NewMessage;
use claimstream_sea_orm::SeaOrmOutbox;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, Ports, ServerFixture};

pub const CLAUSES: &[Case<ServerFixture>] = cases!["opening" needs [Server, Opening]:
    of_eight_instances_that_open_an_empty_database_at_once_all_succeed,
];

pub async fn of_eight_instances_that_open_an_empty_database_at_once_all_succeed(fixture: ServerFixture) {
    let open = || {
        let (url, options) = (fixture.empty.clone(), fixture.options.clone());
        tokio::spawn(async move { SeaOrmOutbox::open(&url, options).await })
    };
    let opened = join_all((0..8).map(|_| open())).await.into_iter();
    let outboxes: Vec<_> = opened.map(|opened| opened.expect("an answer").expect("open")).collect();
    for outbox in &outboxes {
        assert_eq!((outbox.shards(), outbox.strategy()), (fixture.options.shards, fixture.strategy));
    }
    let known = outboxes[7].capabilities().await.expect("capabilities");
    assert_eq!(
        applied(&outboxes[7]).await,
        known.iter().map(|one| one.name().to_owned()).collect::<BTreeSet<_>>()
    );
    assert!(known.is_superset(&fixture.options.capabilities), "{known:?}");
    let queue = Fixture::fresh_queue();
    let sent = NewMessage::json(queue.clone(), &"to any reader").expect("a message");
    outboxes[0].enqueue_now(std::slice::from_ref(&sent)).await.expect("enqueue");
    let claimer = Instance::new(8, Ports::of(outboxes[7].clone()), queue, 10);
    assert_eq!(claimer.take_one().await.message.id, sent.id);
}

async fn applied(outbox: &SeaOrmOutbox) -> BTreeSet<String> {
    let sql = "SELECT CAST(capability AS CHAR) FROM claimstream_schema";
    let found = outbox.connection().query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await;
    found.expect("a read").iter().map(|row| row.try_get_by_index(0).expect("a name")).collect()
}
