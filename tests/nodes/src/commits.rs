//! Commits of two nodes against each other: whatever is answered as a success is there, and nothing else is.
//! Promise: on Galera and in a group of several primaries, a transaction of the outbox is there as a whole if
//! its commit succeeded, and not at all otherwise; a lost one may be begun again although no caller can ask
//! for its outcome

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, QueueName};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, SqlxMySql};
use claimstream_testbed::Nodes;
use futures::future::join_all;
use sea_orm::{
    ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, QueryResult, Statement, Value,
};

use crate::{
    Fixture, Suite,
    backend::SeaOrmBackend,
    fixture::{Command, Wire},
};

/// Adds both kinds of transactions on the nodes of a cluster.
pub(super) fn add_on(suite: &mut Suite, name: &'static str, url: &str) {
    let kinds = [
        // Guard: in a group a commit releases its first savepoint | adapters/sea-orm/src/database/servers.rs
        // `peers`: a group is no peer; fails in a group of several primaries
        (Kind::OfDriver, "transactions_of_the_driver_are_there_if_and_only_if_they_were_answered_as_done"),
        (Kind::Own, "transactions_of_the_outbox_are_there_if_and_only_if_they_were_answered_as_done"),
        (
            Kind::Implied,
            "transactions_as_the_outbox_has_for_itself_are_there_if_and_only_if_they_were_answered_as_done",
        ),
    ];
    for (kind, what) in kinds {
        let url = url.to_owned();
        suite.add_async_test(&format!("{name}::commits::{what}"), async move {
            let place = &Place::at(name, &url).await;
            let rows = (0..Place::ROWS).map(|row| async move {
                futures::join!(place.writer(0, row, kind), place.writer(1, row, kind))
            });
            let answers = join_all(rows).await;
            place.holds(kind, &answers).await;
        });
    }
    let asked = url.to_owned();
    // Guard: a transaction that is lost where nodes certify is begun again without a question |
    // adapters/sea-orm/src/caller_transactions/ended.rs `certifies`: asks each time
    suite.add_async_test(
        &format!("{name}::commits::a_transaction_that_is_gone_is_begun_again_without_a_question"),
        async move { is_begun_again(name, &asked).await },
    );
    if name.starts_with("galera") {
        let url = url.to_owned();
        // Guard: on a node of Galera the `COMMIT` is a packet of its own |
        // adapters/sea-orm/src/caller_transactions/commit.rs `Last`: the packet of other servers; fails at
        // two nodes of Galera
        // Guard: on Galera a renewed savepoint is proven to be in the transaction |
        // adapters/sea-orm/src/caller_transactions/savepoint.rs `renew`: the text of other servers; fails at
        // two nodes of Galera
        // Guard: a session remembers only what it has proven | adapters/sea-orm/src/database/identity.rs
        // `proof_to_remember`: no `undo` at the end
        suite.add_async_test(
            &format!("{name}::commits::no_packet_ends_with_a_statement_that_needs_no_transaction"),
            async move {
                is_refused_without_a_transaction(name, &url).await;
            },
        );
    }
}

/// The pool has no connection to spare for a question: what the connections reported when they were made decides.
async fn is_begun_again(name: &'static str, url: &str) {
    const FEW: u32 = 2;
    let backend = SeaOrmBackend::server(name, url, "auto");
    let url = backend.fresh_database().await.expect("a database");
    let options =
        OpenOptions { relay_connections: FEW, acquire_timeout: Duration::from_secs(10), ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    let pool = outbox.relay_connection().get_mysql_connection_pool();
    let _taken = join_all((0..FEW).map(|_| async { pool.acquire().await.expect("a connection") })).await;
    let message = [NewMessage::json(Fixture::fresh_queue(), &1).expect("a message")];
    let tx = outbox.begin().await.expect("begin");
    tx.execute_unprepared("ROLLBACK").await.expect("an end");
    let enqueued = outbox.enqueue(&tx, &message).await.expect_err("it has ended");
    let committed = outbox.commit(tx).await.expect_err("it has ended");
    let tx = outbox.begin_own().await.expect("begin");
    tx.execute_unprepared("ROLLBACK").await.expect("an end");
    let own = tx.commit().await.expect_err("it has ended");
    for error in [enqueued, committed, own] {
        assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    }
}

/// Another node's commit may end a transaction between two statements of a packet, and the server says so only to a statement that
/// comes by itself. The races above meet that once in some thousand commits.
async fn is_refused_without_a_transaction(name: &'static str, url: &str) {
    let backend = SeaOrmBackend::server(name, url, "auto");
    let wire = Wire::to(&backend.fresh_database().await.expect("a database")).await.expect("a port");
    let (outbox, queue) = (backend.open(&wire.url, None).await.expect("open"), Fixture::fresh_queue());
    let message = || [NewMessage::json(queue.clone(), &1).expect("a message")];
    wire.commands.take();
    // The first proof on a connection is another one than those that follow.
    for _ in 0..2 {
        let tx = outbox.begin().await.expect("begin");
        for _ in 0..2 {
            outbox.enqueue(&tx, &message()).await.expect("enqueue");
        }
        outbox.commit(tx).await.expect("commit");
        let tx = outbox.begin_own().await.expect("begin");
        for _ in 0..2 {
            outbox.enqueue(&tx, &message()).await.expect("enqueue");
        }
        tx.commit().await.expect("commit");
    }
    let sent = wire.commands.take();
    let texts = sent.iter().filter_map(|command| match command {
        Command::Query(text) => Some(text.as_str()),
        _ => None,
    });
    // What begins a transaction has nothing to lose.
    let is_in_one =
        |text: &&str| !text.starts_with("BEGIN") && (text.contains("SAVEPOINT") || text.ends_with("COMMIT"));
    let (alone, packets): (Vec<&str>, Vec<&str>) =
        texts.filter(is_in_one).partition(|text| !text.contains("; "));
    assert_eq!(alone.iter().filter(|text| **text == "COMMIT").count(), 4, "{sent:#?}");
    assert!(packets.len() >= 8, "{sent:#?}");
    for packet in packets {
        let last = packet.rsplit("; ").next().unwrap_or_default();
        assert!(
            ["ROLLBACK TO SAVEPOINT claimstream", "RELEASE SAVEPOINT claimstream"].contains(&last),
            "{packet}"
        );
    }
}

#[derive(Clone, Copy)]
enum Kind {
    OfDriver,
    Own,
    /// As the outbox works for itself: prepared statements on a connection that commits only at `COMMIT`.
    Implied,
}

/// A database of which two nodes write the same row, each its own column.
struct Place {
    /// The database is dropped with it.
    _backend: SeaOrmBackend,
    outboxes: Vec<SeaOrmOutbox>,
    nodes: Nodes,
    plain: DatabaseConnection,
    queue: QueueName,
    /// How often any writer was refused.
    refusals: AtomicUsize,
}

/// What a writer was answered.
#[derive(Default)]
struct Answers {
    done: BTreeSet<MessageId>,
    refused: usize,
}

impl Place {
    /// Long enough for a dozen commits to be lost where the proof and the `COMMIT` travel in one packet.
    const FOR: Duration = Duration::from_secs(4);
    /// A cluster that is slow takes longer until the writers have been in each other's way.
    const AT_MOST: Duration = Duration::from_secs(60);
    const ENOUGH: usize = 20;
    const ROWS: usize = 3;
    const COLUMNS: [&str; 2] = ["here", "there"];

    async fn at(name: &'static str, url: &str) -> Self {
        let backend = SeaOrmBackend::server(name, url, "auto");
        let database = backend.fresh_database().await.expect("a database");
        let nodes = Nodes::of(url).await.expect("nodes");
        let places = nodes.of_database(&database);
        let mut outboxes = vec![backend.open(&database, None).await.expect("open")];
        let plain = Database::connect(&database).await.expect("connect");
        let table = "CREATE TABLE tally (id INT PRIMARY KEY, here BIGINT NOT NULL, there BIGINT NOT NULL) ENGINE = InnoDB";
        let noted = "CREATE TABLE noted (id BINARY(16) PRIMARY KEY) ENGINE = InnoDB";
        for sql in [table, noted, "INSERT INTO tally VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0)"] {
            plain.execute_unprepared(sql).await.expect("a table");
        }
        nodes.catch_up().await;
        outboxes.push(backend.open(&places[places.len() - 1], None).await.expect("open"));
        let (queue, refusals) = (Fixture::fresh_queue(), AtomicUsize::new(0));
        Self { _backend: backend, outboxes, nodes, plain, queue, refusals }
    }

    async fn writer(&self, which: usize, row: usize, kind: Kind) -> Answers {
        let (mut answers, began) = (Answers::default(), Instant::now());
        let have_met = || self.refusals.load(Ordering::Relaxed) > Self::ENOUGH;
        while began.elapsed() < Self::FOR || !have_met() && began.elapsed() < Self::AT_MOST {
            let message = NewMessage::json(self.queue.clone(), &which).expect("a message");
            let id = message.id;
            match self.write(which, row, kind, message).await {
                Ok(()) => assert!(answers.done.insert(id)),
                Err(error) => {
                    assert_eq!(error.kind(), StoreErrorKind::Transient, "it may be repeated: {error}");
                    answers.refused += 1;
                    self.refusals.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        answers
    }

    async fn write(
        &self,
        which: usize,
        row: usize,
        kind: Kind,
        message: NewMessage,
    ) -> Result<(), StoreError> {
        let (outbox, messages) = (&self.outboxes[which], [message]);
        let column = Self::COLUMNS[which];
        let count = format!("UPDATE tally SET {column} = {column} + 1 WHERE id = {row}");
        match kind {
            Kind::OfDriver => {
                let tx = outbox.begin().await?;
                tx.execute_unprepared(&count).await.map_err(of_driver)?;
                outbox.enqueue(&tx, &messages).await?;
                outbox.commit(tx).await
            }
            Kind::Own => {
                let tx = outbox.begin_own().await?;
                tx.execute_unprepared(&count).await.map_err(of_driver)?;
                outbox.enqueue(&tx, &messages).await?;
                tx.commit().await
            }
            Kind::Implied => self.write_implied(which, &count, messages[0].id).await,
        }
    }

    async fn write_implied(&self, which: usize, count: &str, id: MessageId) -> Result<(), StoreError> {
        let pool = self.outboxes[which].connection().get_mysql_connection_pool();
        let mut connection = pool.acquire().await.expect("a connection");
        let on = SqlxMySql::new(&mut connection);
        on.execute_unprepared("SET autocommit = 0").await.expect("a setting");
        let prepared =
            |text: &str, values: Vec<Value>| Statement::from_sql_and_values(DbBackend::MySql, text, values);
        on.execute_raw(prepared(count, vec![])).await.map_err(of_driver)?;
        let note = prepared("INSERT INTO noted VALUES (?)", vec![id.uuid().as_bytes().to_vec().into()]);
        on.execute_raw(note).await.map_err(of_driver)?;
        on.execute_unprepared("COMMIT").await.map(drop).map_err(of_driver)
    }

    async fn holds(&self, kind: Kind, answers: &[(Answers, Answers)]) {
        self.nodes.catch_up().await;
        let found = match kind {
            Kind::Implied => "SELECT id FROM noted".to_owned(),
            Kind::OfDriver | Kind::Own => {
                format!("SELECT id FROM claimstream_queue WHERE queue = '{}'", self.queue)
            }
        };
        let id = |row: &QueryResult| row.try_get_by_index(0).map(MessageId::new).expect("an id");
        let found: BTreeSet<MessageId> = self.rows(found).await.iter().map(id).collect();
        let count = |row: &QueryResult| row.try_get_many_by_index().expect("two counts");
        let counted = self.rows("SELECT here, there FROM tally ORDER BY id".to_owned()).await;
        let counted: Vec<(usize, usize)> = counted
            .iter()
            .map(count)
            .map(|(here, there): (i64, i64)| (here as usize, there as usize))
            .collect();
        let answered: Vec<_> =
            answers.iter().map(|(here, there)| (here.done.len(), there.done.len())).collect();
        let both = || answers.iter().flat_map(|(here, there)| [here, there]);
        let done: BTreeSet<MessageId> = both().flat_map(|answers| answers.done.clone()).collect();
        let refused: usize = both().map(|answers| answers.refused).sum();
        println!("commits: {} done, {refused} refused", done.len());
        assert!(refused > Self::ENOUGH, "they were never in each other's way");
        assert_eq!(counted, answered, "a commit that was answered as done is not there");
        assert_eq!(
            found.difference(&done).count(),
            0,
            "a message of a transaction that was not committed is there"
        );
        assert_eq!(done.difference(&found).count(), 0, "a message is not there");
    }

    async fn rows(&self, sql: String) -> Vec<QueryResult> {
        let statement = Statement::from_string(DbBackend::MySql, sql);
        self.plain.query_all_raw(statement).await.expect("rows")
    }
}

fn of_driver(error: DbErr) -> StoreError {
    claimstream_sea_orm::store_error("tally", error)
}
