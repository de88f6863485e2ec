//! The routine is made again: what was granted on it stays, on servers that cannot replace a procedure too.
//! Promise: grants on the routine survive its replacement, and a user who cannot grant them again changes
//! nothing

use claimstream_sea_orm::{OpenOptions, SchemaExtra, SeaOrmOutbox};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::client::{Client, connect};
use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, server: &str, backend: impl Fn() -> SeaOrmBackend) {
    let (kept, refused) = (backend(), backend());
    let name = |what: &str| format!("{server}::producers::routine::{what}");
    suite.add_async_test(&name("its_callers_keep_their_rights_when_it_is_made_again"), async move {
        keeps_rights(&kept).await;
    });
    if server.starts_with("mysql") {
        suite.add_async_test(
            &name("it_is_not_taken_away_by_a_user_who_cannot_grant_the_rights_again"),
            async move {
                is_left_alone(&refused).await;
            },
        );
    }
}

/// An earlier form of the routine.
const EARLIER: &str = "CREATE PROCEDURE claimstream_enqueue() BEGIN SELECT 1; END";

async fn keeps_rights(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let caller = User::in_database(&client).await;
    client.run(&format!("GRANT EXECUTE ON PROCEDURE claimstream_enqueue TO {}", caller.name)).await;
    let calls = async |what: &str| {
        let theirs = connect(&caller.url).await;
        theirs.execute_unprepared("BEGIN").await.expect("begin");
        client.call().on(&theirs).await.expect(what);
        theirs.execute_unprepared("COMMIT").await.expect("commit");
    };
    calls("as it was made").await;
    client.shop.outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect("once more");
    calls("after the same was made once more").await;
    client.run("DROP PROCEDURE claimstream_enqueue").await;
    client.run(EARLIER).await;
    let grant = format!("GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE claimstream_enqueue TO {}", caller.name);
    client.run(&format!("{grant} WITH GRANT OPTION")).await;
    client.shop.outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect("a newer one");
    calls("after an earlier one was replaced").await;
    let theirs = connect(&caller.url).await;
    let onward = format!("GRANT EXECUTE ON PROCEDURE claimstream_enqueue TO {}", caller.name);
    theirs.execute_unprepared(&onward).await.expect("the right to grant");
    client.run(&format!("DROP USER {}", caller.name)).await;
}

async fn is_left_alone(backend: &SeaOrmBackend) {
    let client = Client::of(backend).await;
    let operator = User::in_database(&client).await;
    client.run(&format!("GRANT ALL ON `{}`.* TO {}", operator.database, operator.name)).await;
    client.run("DROP PROCEDURE claimstream_enqueue").await;
    // Only those who may do anything take away what such a user has made.
    connect(&operator.url).await.execute_unprepared(EARLIER).await.expect("an earlier form");
    // A server looks at what a user may in a database when a connection is opened.
    let outbox = async || SeaOrmOutbox::open(&operator.url, OpenOptions::default()).await.expect("open");
    let apply = async || {
        let refused = outbox().await.make_extra(SchemaExtra::EnqueueRoutine).await.expect_err("no right");
        client.run("CALL claimstream_enqueue()").await;
        refused.to_string()
    };
    let why = apply().await;
    assert!(why.contains("mysql.procs_priv") && why.contains("claimstream schema routines"), "{why}");
    client.run(&format!("GRANT SELECT ON mysql.procs_priv TO {}", operator.name)).await;
    let caller = User::in_database(&client).await;
    client.run(&format!("GRANT EXECUTE ON PROCEDURE claimstream_enqueue TO {}", caller.name)).await;
    let why = apply().await;
    assert!(why.contains("GRANT OPTION"), "{why}");
    client.run(&format!("GRANT GRANT OPTION ON `{}`.* TO {}", operator.database, operator.name)).await;
    outbox().await.make_extra(SchemaExtra::EnqueueRoutine).await.expect("a newer one");
    let theirs = connect(&caller.url).await;
    theirs.execute_unprepared("BEGIN").await.expect("begin");
    client.call().on(&theirs).await.expect("the right to call");
    for user in [operator, caller] {
        client.run(&format!("DROP USER {}", user.name)).await;
    }
}

/// A user of the server, without any right at first.
struct User {
    name: String,
    url: String,
    database: String,
}

impl User {
    async fn in_database(client: &Client) -> Self {
        let name = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
        client.run(&format!("CREATE USER '{name}'@'%'")).await;
        let (address, parameters) = client.shop.url.split_once('?').expect("parameters");
        let (server, database) = address.rsplit_once('/').expect("a database");
        let (_, host) = server.split_once('@').expect("a user");
        Self {
            url: format!("mysql://{name}@{host}/{database}?{parameters}"),
            name: format!("'{name}'@'%'"),
            database: database.to_owned(),
        }
    }
}
