//! What the routine answers when a dedup key or an id is taken.
//! Promise: a duplicate dedup key is reported with its owner

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::client::{Answer, Call, Client, connect};
use crate::backend::SeaOrmBackend;
use claimstream_testbed::statement_waits;

pub(super) async fn a_key_or_an_id_that_is_taken_writes_nothing(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    client.run("CREATE TABLE orders (id INT PRIMARY KEY) ENGINE = InnoDB").await;
    let unique = || Call { dedup_key: "order-7".into(), ..client.call() };
    client.run("BEGIN").await;
    let first = unique().on(&client.db).await.expect("a call");
    client.run("INSERT INTO orders VALUES (1)").await;
    let [again, other] = [unique(), Call { id: first.id.to_string().into(), ..client.call() }];
    assert!(!again.on(&client.db).await.expect("a call").is_new, "the key is taken in this transaction");
    let both = Call { dedup_key: "order-8".into(), ..other.clone() };
    assert_eq!(other.on(&client.db).await.expect("a call"), Answer { id: first.id, is_new: false });
    assert!(!both.on(&client.db).await.expect("a call").is_new);
    client.run("COMMIT").await;
    assert_eq!(client.counts().await, [1, 1, 1], "a failed call takes no key either");
    assert_eq!(client.count("orders").await, 1);
    client.run("BEGIN").await;
    assert!(!unique().on(&client.db).await.expect("a call").is_new, "nor after the commit");
    assert!(
        Call { dedup_key: "order-8".into(), ..client.call() }.on(&client.db).await.expect("a call").is_new
    );
    client.run("ROLLBACK").await;
    assert_eq!(client.counts().await, [1, 1, 1]);
}

pub(super) async fn a_key_that_is_taken_says_whose_it_is(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let unique = || Call { dedup_key: "order-7".into(), ..client.call() };
    client.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await;
    client.run("CREATE TABLE orders (id INT PRIMARY KEY) ENGINE = InnoDB").await;
    let other = connect(&client.shop.url).await;
    other.execute_unprepared("BEGIN").await.expect("begin");
    let first = unique().on(&other).await.expect("a call");
    let taken = Answer { id: first.id, is_new: false };
    assert_eq!(unique().on(&other).await.expect("a call"), taken, "in the same transaction");
    // One that waits for the key, and has read nothing yet.
    client.run("BEGIN").await;
    client.run("INSERT INTO orders VALUES (1)").await;
    let (waited, ()) = futures::join!(unique().on(&client.db), async {
        statement_waits(&client.shop.outbox).await;
        other.execute_unprepared("COMMIT").await.expect("commit");
    });
    assert_eq!(waited.expect("a call"), taken);
    let with_id = Call { id: Uuid::now_v7().to_string().into(), ..unique() };
    assert_eq!(with_id.on(&client.db).await.expect("a call"), taken);
    // The key is free, and the id is taken.
    let same_id = Call { dedup_key: "order-8".into(), id: first.id.to_string().into(), ..client.call() };
    assert_eq!(same_id.on(&client.db).await.expect("a call"), taken);
    client.run("COMMIT").await;
    assert_eq!(client.counts().await, [1, 1, 1]);
    // The snapshot is older than the message that has the key.
    client.run("BEGIN").await;
    client.run("INSERT INTO orders VALUES (2)").await;
    assert_eq!(client.count("claimstream_dedup").await, 1);
    let later = || Call { dedup_key: "order-9".into(), ..client.call() };
    other.execute_unprepared("BEGIN").await.expect("begin");
    let second = later().on(&other).await.expect("a call");
    other.execute_unprepared("COMMIT").await.expect("commit");
    match later().on(&client.db).await {
        Ok(answer) => {
            assert_eq!(answer, Answer { id: second.id, is_new: false });
            client.run("COMMIT").await;
            assert_eq!(client.count("orders").await, 2, "the transaction went on");
        }
        // MariaDB with innodb_snapshot_isolation.
        Err(refused) => {
            assert!(refused.to_string().contains("1020"), "{refused}");
            client.run("COMMIT").await;
            assert_eq!(client.count("orders").await, 1, "the server has ended the transaction");
        }
    }
}
