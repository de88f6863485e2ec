//! Which rights a database user needs: those that the page about them grants, and the users of these tests have no others.
//! Promise: the rights of `docs/rights.md` are enough for everything

use std::{collections::BTreeSet, time::Duration};

use claimstream::Compose;
use claimstream_domain::{
    AuditAction, AuditEntry, DeadLetterFilter, DedupKey, Disposition,
    Enqueued::New,
    Lease, MessageId, NewMessage, Settled,
    notification::{Channel, DeliveryStatus, FanOutEnd, NotificationRecord, NotificationRequest, message_id},
    saga::{NewSaga, SagaId},
    step::{NewStep, StepChange, StepKey},
};
use claimstream_ports::{
    AuditLog, DistributedLock, Enqueue, FindMessages, ListInstances, LockingStrategy, Observe,
    StoreErrorKind, Transactions,
    notification::{
        EraseRecipient, FanOutStep, MessageOutcome, MessageRepository, NotificationReports, RequestRepository,
    },
    saga::{NoteSagas, SagaReports},
    step::{LockWait, PurgeSteps, StepLedger},
};
use claimstream_sea_orm::{OpenOptions, SchemaExtra, SeaOrmOutbox, Severity};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use uuid::Uuid;

use crate::{Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds it for every server that is here, with each strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let backend = {
                let url = url.clone();
                move || SeaOrmBackend::server(server.name, &url, strategy.name())
            };
            let name = format!(
                "{}::{strategy}::rights::a_user_with_those_of_the_page_can_do_everything",
                server.name
            );
            suite.add_async_test(&name, async move { can_do_everything(&backend()).await });
        }
        let backend = move || SeaOrmBackend::server(server.name, &url, "preemptive_update");
        let (makes, examined, asked, alone) =
            (backend.clone(), backend.clone(), backend.clone(), backend.clone());
        // Guard: a user without rights on leases that are not there reads none |
        // adapters/sea-orm/src/database/capability.rs `rows_of`: the error
        suite.add_async_test(
            &format!("{}::rights::an_outbox_alone_needs_the_rights_of_its_own_tables", server.name),
            async move {
                is_enough_for_an_outbox(&alone()).await;
            },
        );
        // Guard: a question of doctor that fails keeps no other from its answer |
        // adapters/sea-orm/src/doctor/finding.rs `examined`: nothing in place of the failure
        suite.add_async_test(
            &format!("{}::rights::doctor_asks_on_where_a_question_fails", server.name),
            async move {
                is_asked_on(&asked()).await;
            },
        );
        // Guard: rights to settle are examined | adapters/sea-orm/src/doctor/checks.rs: no `examine_rights`
        suite.add_async_test(
            &format!("{}::rights::doctor_fails_without_a_right_that_settlements_need", server.name),
            async move {
                is_examined(&examined()).await;
            },
        );
        suite.add_async_test(
            &format!("{}::rights::a_user_with_those_of_the_page_makes_the_tables", server.name),
            async move {
                makes_the_tables(&makes()).await;
            },
        );
        // Guard: a missing right or table comes with advice | adapters/sea-orm/src/database/classify.rs
        // `advice`: none
        suite.add_async_test(
            &format!("{}::rights::a_right_that_is_missing_is_named", server.name),
            async move {
                is_named(&backend()).await;
            },
        );
    }
}

const PAGE: &str = include_str!("../../../../docs/rights.md");

/// A user of a database with the rights that the page grants to `role` on the tables that are there, and the connection that made it.
struct User {
    admin: DatabaseConnection,
    name: String,
    database: String,
    url: String,
}

impl User {
    async fn make(url: &str, role: &str) -> Self {
        let admin = Database::connect(url).await.expect("connect");
        let (address, parameters) = url.split_once('?').expect("parameters");
        let (place, database) = address.rsplit_once('/').expect("a database");
        let (_, host) = place.split_once('@').expect("a user");
        let name = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
        let user = Self {
            url: format!("mysql://{name}@{host}/{database}?{parameters}"),
            admin,
            name,
            database: database.to_owned(),
        };
        user.run(&format!("CREATE USER '{}'@'%'", user.name)).await;
        let there = tables(&user.admin).await;
        let is_there = |line: &&str| {
            let table =
                line.split("shop.").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            !table.starts_with("claimstream_") || there.contains(table)
        };
        let granted: Vec<_> = PAGE
            .lines()
            .filter(|line| line.starts_with("GRANT") && line.contains(&format!("'{role}'@")))
            .filter(is_there)
            .collect();
        assert!(!granted.is_empty(), "the page grants nothing to {role}");
        for grant in granted {
            let grant = grant
                .replace("shop.", &format!("{}.", user.database))
                .replace(&format!("'{role}'@"), &format!("'{}'@", user.name));
            user.run(grant.trim_end_matches(';')).await;
        }
        user
    }

    async fn run(&self, sql: &str) {
        self.admin.execute_unprepared(sql).await.expect(sql);
    }

    async fn drop(self) {
        self.run(&format!("DROP USER '{}'@'%'", self.name)).await;
    }
}

async fn tables(admin: &DatabaseConnection) -> BTreeSet<String> {
    let query =
        "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    let found = admin.query_all_raw(Statement::from_string(DbBackend::MySql, query)).await.expect("tables");
    found.iter().map(|row| row.try_get_by_index(0).expect("a name")).collect()
}

/// A server refuses a user without rights on a table that is missing as it does on one that is there.
async fn is_enough_for_an_outbox(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let alone = || OpenOptions { capabilities: BTreeSet::new(), ..backend.options() };
    let _tables = SeaOrmOutbox::open(&url, alone()).await.expect("tables");
    let user = User::make(&url, "service").await;
    let options = OpenOptions { create_schema: false, ..alone() };
    let outbox = SeaOrmOutbox::open(&user.url, options).await.expect("open");
    works_alone(&outbox).await;
    SeaOrmOutbox::open(&url, backend.options()).await.expect("tables for more");
    works_alone(&outbox).await;
    user.drop().await;
}

async fn works_alone(outbox: &SeaOrmOutbox) {
    messages(outbox).await;
    audit(outbox).await;
    outbox.observe().await.expect("observe");
    outbox.leases(None, 10).await.expect("leases");
    FindMessages::find(outbox, &[MessageId::new(Uuid::nil())]).await.expect("find");
    let findings = outbox.doctor().await.expect("findings");
    let failures: Vec<_> = findings.into_iter().filter(|one| one.severity == Severity::Failure).collect();
    assert!(failures.is_empty(), "{failures:?}");
    outbox.sweep().await.expect("sweep");
}

async fn makes_the_tables(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let user = User::make(&url, "schema").await;
    let made = SeaOrmOutbox::open(&user.url, backend.options()).await.expect("tables");
    assert_eq!(made.shards(), backend.options().shards);
    // Tables that are not noted are made again, and the view is replaced.
    user.run("DELETE FROM claimstream_schema WHERE capability = 'outbox'").await;
    SeaOrmOutbox::open(&user.url, backend.options()).await.expect("the last version");
    user.drop().await;
}

async fn is_named(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let _tables = backend.open(&url, None).await.expect("tables");
    let user = User::make(&url, "service").await;
    let outbox = open(backend, &user).await;
    user.run(&format!("REVOKE INSERT ON {}.claimstream_queue FROM '{}'@'%'", user.database, user.name)).await;
    let message = NewMessage::json(Fixture::fresh_queue(), &7).expect("a message");
    let error = outbox.enqueue_now(&[message]).await.expect_err("no right");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
    assert!(error.to_string().contains("claimstream_queue"), "{error}");
    assert!(error.to_string().contains("rights on this database's tables that docs/rights.md"), "{error}");
    let error = outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect_err("no right to make routines");
    assert!(error.to_string().contains("rights on this database that docs/rights.md"), "{error}");
    user.run("DELETE FROM claimstream_schema WHERE capability = 'steps'").await;
    let error = SeaOrmOutbox::open(&user.url, backend.options()).await.expect_err("no right to make tables");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
    for way_out in ["docs/rights.md", "create_schema = false", "claimstream schema apply"] {
        assert!(error.to_string().contains(way_out), "{way_out} is not in: {error}");
    }
    user.drop().await;
}

async fn is_examined(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let _tables = backend.open(&url, None).await.expect("tables");
    for (right, table) in
        [("DELETE", "claimstream_queue"), ("INSERT", "claimstream_dead"), ("UPDATE", "claimstream_step")]
    {
        let user = User::make(&url, "service").await;
        let outbox = open(backend, &user).await;
        user.run(&format!("REVOKE {right} ON {}.{table} FROM '{}'@'%'", user.database, user.name)).await;
        let findings = outbox.doctor().await.expect("findings");
        let failures: Vec<_> = findings.iter().filter(|one| one.severity == Severity::Failure).collect();
        let [only] = &failures[..] else { panic!("{right} on {table}: {failures:?}") };
        let names_it =
            only.detail.contains(&format!("{right} command denied")) && only.detail.contains(table);
        assert!(names_it && only.detail.contains("docs/rights.md"), "{only:?}");
        user.drop().await;
    }
}

/// Queues cannot be counted without the dead letters; all else is answered.
async fn is_asked_on(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let _tables = backend.open(&url, None).await.expect("tables");
    let user = User::make(&url, "service").await;
    let outbox = open(backend, &user).await;
    let all: BTreeSet<_> =
        outbox.doctor().await.expect("findings").into_iter().map(|one| one.check).collect();
    user.run(&format!("REVOKE SELECT ON {}.claimstream_dead FROM '{}'@'%'", user.database, user.name)).await;
    let findings = outbox.doctor().await.expect("findings");
    let unexamined: Vec<_> = findings
        .iter()
        .filter(|one| one.detail.contains("could not be examined"))
        .map(|one| one.check)
        .collect();
    assert_eq!(unexamined, ["queues"], "{findings:?}");
    assert_eq!(findings.iter().map(|one| one.check).collect::<BTreeSet<_>>(), all);
    user.drop().await;
}

async fn open(backend: &SeaOrmBackend, user: &User) -> SeaOrmOutbox {
    let options = OpenOptions { create_schema: false, ..backend.options() };
    SeaOrmOutbox::open(&user.url, options).await.expect("open")
}

/// Operators read and write the log of what they do; the sweep that follows deletes from it.
async fn audit(outbox: &SeaOrmOutbox) {
    let entry = AuditEntry::new("ann", AuditAction::Pause, "queue orders").expect("an entry");
    let before = outbox.entries(None, 9).await.expect("entries").len();
    outbox.note_action(&entry).await.expect("noted");
    assert_eq!(outbox.entries(None, 9).await.expect("entries").len(), before + 1);
}

async fn can_do_everything(backend: &SeaOrmBackend) {
    let url = backend.fresh_database().await.expect("a database");
    let _tables = backend.open(&url, None).await.expect("tables");
    let user = User::make(&url, "service").await;
    let outbox = open(backend, &user).await;
    messages(&outbox).await;
    steps(&outbox).await;
    locks(&outbox).await;
    notifications(&outbox).await;
    audit(&outbox).await;
    let findings = outbox.doctor().await.expect("findings");
    let failures: Vec<_> = findings.into_iter().filter(|one| one.severity == Severity::Failure).collect();
    assert!(failures.is_empty(), "{failures:?}");
    outbox.sweep().await.expect("sweep");
    outbox.purge_steps().await.expect("purge");
    outbox.observe().await.expect("observe");
    outbox.connection().execute_unprepared("SELECT * FROM claimstream_outbox").await.expect("the view");
    user.drop().await;
}

async fn messages(outbox: &SeaOrmOutbox) {
    let queue = Fixture::fresh_queue();
    let message = |n: u32| NewMessage::json(queue.clone(), &n).expect("a message");
    let unique = || message(0).unique_by(DedupKey::new("order-7").expect("a key"));
    let tx = outbox.begin().await.expect("begin");
    assert_eq!(outbox.enqueue(&tx, &[unique(), message(1)]).await.expect("enqueue"), [New, New]);
    outbox.commit(tx).await.expect("commit");
    outbox.enqueue_now(&[unique(), message(2), message(3), message(4)]).await.expect("enqueue");
    let instance = Instance::new(1, Ports::of(outbox.clone()), queue.clone(), 50);
    let claimed = instance.take(5).await;
    instance.renew(&claimed[0].receipt, LEASE).await;
    let emit = vec![message(5)];
    assert_eq!(instance.settle(&claimed[0].receipt, Disposition::Done { emit }).await, Settled::Accepted);
    assert_eq!(instance.nack(&claimed[1], Duration::ZERO, "not now").await, Settled::Accepted);
    assert_eq!(instance.bury(&claimed[2], "never").await, Settled::Accepted);
    assert_eq!(instance.bury(&claimed[3], "never").await, Settled::Accepted);
    assert_eq!(instance.release(&claimed[4]).await, Settled::Accepted);
    let one = DeadLetterFilter { ids: vec![claimed[2].message.id], ..instance.own_dead() };
    assert_eq!(instance.revive(&one).await, 1);
    assert_eq!(instance.purge(&instance.own_dead()).await, 1);
    for claimed in instance.take(4).await {
        assert_eq!(instance.ack(&claimed).await, Settled::Accepted);
    }
    outbox.release_read_ahead(&queue).await.expect("released");
}

async fn steps(outbox: &SeaOrmOutbox) {
    let key = StepKey::new("rights", "7", "").expect("a key");
    let tx = outbox.begin().await.expect("begin");
    StepLedger::begin(outbox, &tx, &NewStep::new(key.clone(), 1)).await.expect("a step");
    let found = StepLedger::find(outbox, &tx, &key).await.expect("a look").expect("a step");
    outbox.lock(&tx, &key, LockWait::NoWait).await.expect("a lock");
    assert!(outbox.advance(&tx, &key, &found, &StepChange::to(2)).await.expect("a change").is_some());
    let id = SagaId::new(Uuid::now_v7());
    let (scope, owner, input) = ("saga:rights".into(), "anna".into(), "7".into());
    outbox.note(&tx, &NewSaga { scope, id, owner, input }).await.expect("a note");
    outbox.commit_tx(tx).await.expect("commit");
    assert!(outbox.saga("saga:rights", id).await.expect("a look").is_some());
    assert_eq!(outbox.sagas_of("saga:rights", "anna", None, 10).await.expect("a look").len(), 1);
}

async fn locks(outbox: &SeaOrmOutbox) {
    let lease = Lease::new(LEASE).expect("a lease");
    let lock = outbox.try_acquire("rights", lease).await.expect("an answer").expect("a free lock");
    assert!(DistributedLock::renew(outbox, &lock, lease).await.expect("an answer"));
    assert!(outbox.release(lock).await.expect("an answer"));
}

async fn notifications(outbox: &SeaOrmOutbox) {
    let request: NotificationRequest = serde_json::from_value(serde_json::json!({
        "id": Uuid::now_v7(),
        "requester": {"type": "service", "id": "shop"},
        "recipients": [{"user": "anna"}],
        "channels": ["email"],
        "content": {"title": "Hello", "body": "there"},
    }))
    .expect("a request");
    outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
    assert!(RequestRepository::read(outbox, &[request.id]).await.expect("read")[0].is_some());
    let record = NotificationRecord {
        reference: None,
        id: message_id(request.id, Channel::Email, "anna"),
        request_id: request.id,
        channel: Channel::Email,
        recipient: "anna".into(),
        status: DeliveryStatus::Pending,
        reason: None,
    };
    let records = vec![record.clone()];
    let step = FanOutStep {
        request: request.id,
        end: FanOutEnd::Done,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records,
        items: vec![],
    };
    for _ in 0..2 {
        outbox.note_steps(std::slice::from_ref(&step)).await.expect("a step");
    }
    let outcome =
        MessageOutcome { id: record.id, status: DeliveryStatus::Failed, reason: None, reference: None };
    outbox.conclude(&[outcome]).await.expect("an outcome");
    MessageRepository::reopen(outbox, record.id).await.expect("reopen");
    outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit again");
    outbox.cancel(request.id).await.expect("cancel");
    assert_eq!(outbox.erase("user:anna", &[]).await.expect("erase").requests, 1);
    assert!(outbox.progress(request.id).await.expect("progress").is_some());
    assert_eq!(outbox.messages(request.id, None, 10).await.expect("messages").len(), 1);
}
