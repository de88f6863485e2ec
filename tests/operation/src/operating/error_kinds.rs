//! What users do wrong most often, and what they read then: the kind, the setting that would help, and the cause once.
//! Promise: every kind of error has advice on what to do

use std::{error::Error, iter, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind, notification::NotificationReports};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Database, DatabaseTransaction};
use uuid::Uuid;

use crate::{Server, Suite, backend::SeaOrmBackend};

/// Adds it for every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::error_kinds::{what}", server.name);
        let (mistaken, closed, expired, busy) = (url.clone(), url.clone(), url.clone(), url);
        // Guard: a password that has expired is no pool in use | adapters/sea-orm/src/database/connecting.rs
        // `no_connection`: `options.connect()`; fails on MariaDB
        suite.add_async_test(&name("an_expired_password_is_reported_as_one"), async move {
            expired_password(&expired).await;
        });
        suite.add_async_test(&name("a_mistake_in_the_url_is_reported_with_what_would_help"), async move {
            mistakes(&mistaken, server.name).await;
        });
        suite.add_async_test(&name("a_refused_connection_is_reported_as_one"), async move {
            refused_connection(&closed).await;
        });
        suite.add_async_test(&name("a_pool_in_use_is_reported_as_one"), async move {
            pool_in_use(&SeaOrmBackend::server(server.name, &busy, "preemptive_update")).await;
        });
    }
}

async fn mistakes(url: &str, name: &str) {
    let (address, parameters) = url.split_once('?').unwrap_or((url, "ssl-mode=disabled"));
    let (server, _) = address.rsplit_once('/').expect("a database");
    let (_, place) = server.split_once('@').expect("a user");
    // In the clear MySQL does not even look at a password.
    let reported = match name.starts_with("mysql") {
        true => ["over TLS only", "ssl-mode=required"],
        false => ["1045", "user and the password"],
    };
    let wrong = [
        (format!("mysql://root:secret@{place}/claimstream?{parameters}"), reported),
        (format!("{server}/claimstream_nowhere?{parameters}"), ["1049", "name another one"]),
        (format!("{server}?{parameters}"), ["names no database", "write it like mysql://"]),
        ("postgres://me:secret@host/db".to_owned(), ["postgres", "mysql://"]),
        ("mysql://me:secret@host:port/db".to_owned(), ["cannot be read", "mysql://"]),
    ];
    for (url, words) in wrong {
        let error = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect_err(words[0]);
        assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
        for word in words {
            assert_eq!(printed(&error).matches(word).count(), 1, "{word:?} in {:?}", printed(&error));
        }
        assert!(!printed(&error).contains("secret"), "{error}");
    }
}

/// MariaDB lets such a user in, and refuses its statements.
async fn expired_password(url: &str) {
    let admin = Database::connect(url).await.expect("a connection");
    let user = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
    let run = async |sql: String| admin.execute_unprepared(&sql).await.expect("a statement");
    run(format!("CREATE USER '{user}'@'%' PASSWORD EXPIRE")).await;
    run(format!("GRANT ALL ON claimstream.* TO '{user}'@'%'")).await;
    let (_, place) = url.split_once('@').expect("a user");
    let options = OpenOptions { acquire_timeout: Duration::from_millis(300), ..OpenOptions::default() };
    let error = SeaOrmOutbox::open(&format!("mysql://{user}@{place}"), options).await.expect_err("a refusal");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured, "{error}");
    let text = printed(&error);
    assert!(
        text.contains("has expired") && text.contains("ALTER USER") && !text.contains("in use"),
        "{text}"
    );
    run(format!("DROP USER '{user}'@'%'")).await;
}

/// The port has no listener.
async fn refused_connection(url: &str) {
    let (_, place) = url.split_once('@').expect("a user");
    let (place, _) = place.split_once('/').expect("a database");
    let port = tokio::net::TcpSocket::new_v4().expect("a socket");
    port.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let closed = port.local_addr().expect("an address").to_string();
    let options = OpenOptions { acquire_timeout: Duration::from_millis(300), ..OpenOptions::default() };
    let error = SeaOrmOutbox::open(&url.replace(place, &closed), options).await.expect_err("a refusal");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    let text = printed(&error).to_lowercase();
    assert!(text.contains(&closed) && text.contains("refused") && !text.contains("pool"), "{text}");
}

/// All connections are in open transactions.
async fn pool_in_use(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let options =
        OpenOptions { max_connections: 2, acquire_timeout: Duration::from_millis(300), ..backend.options() };
    // What is opened and begun has no longer to wait, and a busy machine may miss that.
    let mut tried = in_use(&url, &options).await;
    for _ in 0..10 {
        if tried.is_err() {
            tried = in_use(&url, &options).await;
        }
    }
    let (outbox, taken) = tried.expect("all connections");
    let error = outbox.progress(Uuid::nil()).await.expect_err("no connection");
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("raise max_connections"), "{error}");
    for transaction in taken {
        transaction.rollback().await.expect("roll back");
    }
}

/// An outbox whose two connections are in transactions.
async fn in_use(
    url: &str,
    options: &OpenOptions,
) -> Result<(SeaOrmOutbox, [DatabaseTransaction; 2]), StoreError> {
    let outbox = SeaOrmOutbox::open(url, options.clone()).await?;
    let taken = [outbox.begin().await?, outbox.begin().await?];
    Ok((outbox, taken))
}

/// An error and its causes, as programs print them.
fn printed(error: &StoreError) -> String {
    let chain = iter::successors(Some(error as &dyn Error), |&error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
