use sea_orm::{ConnectOptions, ConnectionTrait, Database, DbBackend, Statement, TransactionTrait};

use crate::{Server, backend::SeaOrmBackend, fixture::Cut};

const BITES: usize = 2_000;

/// On a plain pool, a dropped `begin` leaves a transaction open, and a later write is acknowledged and lost.
pub(super) async fn bite(server: Server, url: &str) {
    let backend = SeaOrmBackend::server(server.name, url, "auto");
    let url = backend.database().await.expect("a database");
    let mut options = ConnectOptions::new(url.clone());
    options.max_connections(1).sqlx_logging(false);
    let plain = Database::connect(options).await.expect("a plain pool");
    let other = Database::connect(&url).await.expect("another pool");
    plain.execute_unprepared("CREATE TABLE written (n INT PRIMARY KEY)").await.expect("a table");
    for n in 1..=BITES {
        let cut = Cut { polls: 1 + n % 4, late: n % 8 < 4 };
        drop(cut.short(plain.begin()).await);
        let write = format!("INSERT INTO written VALUES ({n})");
        plain.execute_unprepared(&write).await.expect("an acknowledged write");
        let read = format!("SELECT n FROM written WHERE n = {n}");
        let read = Statement::from_string(DbBackend::MySql, read);
        if other.query_one_raw(read).await.expect("a read").is_none() {
            println!(
                "cancellation: {}: a plain pool lost an acknowledged write after {n} drops",
                server.name
            );
            return;
        }
    }
    panic!("{BITES} drops of begin on a plain pool lost nothing: the drops show nothing");
}
