use claimstream_cli::config::DatabaseUrl;
use sea_orm::{ConnectionTrait, Database};

use crate::operator::{Operator, id, request};

/// The variables that hold the URL of a server to test with; what no server is set for is not tested.
const SERVERS: [&str; 4] = [
    "CLAIMSTREAM_MARIADB_10_5_URL",
    "CLAIMSTREAM_MARIADB_10_11_URL",
    "CLAIMSTREAM_MARIADB_11_8_URL",
    "CLAIMSTREAM_MYSQL_9_7_URL",
];

/// A database of its own on a server, as long as it is held.
struct Scratch {
    server: String,
    name: String,
}

impl Scratch {
    async fn on(server: String, number: usize) -> Self {
        let name = format!("claimstream_cli_{}_{number}", std::process::id());
        run(&server, &format!("CREATE DATABASE {name}")).await;
        Self { server, name }
    }

    fn url(&self) -> String {
        let (address, parameters) = self.server.split_once('?').unwrap_or((&self.server, "charset=utf8mb4"));
        let host = address.rsplit_once('/').map_or(address, |(host, _)| host);
        format!("{host}/{}?{parameters}", self.name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (server, drop) = (self.server.clone(), format!("DROP DATABASE {}", self.name));
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // On a thread of its own, because a runtime is running here.
        let _ = std::thread::spawn(move || runtime().block_on(run(&server, &drop))).join();
    }
}

async fn run(url: &str, script: &str) {
    let database = Database::connect(url).await.unwrap();
    database.execute_unprepared(script).await.unwrap();
    database.close().await.unwrap();
}

#[tokio::test]
async fn is_operated_like_a_file() {
    for (number, variable) in SERVERS.into_iter().enumerate() {
        match std::env::var(variable) {
            Ok(server) if !server.is_empty() => operate(&Scratch::on(server, number).await).await,
            _ => println!("{variable} is not set; nothing was tested there"),
        }
    }
}

async fn operate(scratch: &Scratch) {
    let url = scratch.url();
    // The names of both servers mean the same.
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url.replace("mysql://", "mariadb://"));
    let script = operator.run(&["schema", "print", "--shards", "5"]).succeeded();
    run(&url, &script).await;
    assert!(operator.run(&["schema", "apply", "--shards", "5"]).succeeded().contains("into 5 shards"));
    let doctor = operator.run(&["doctor"]).succeeded();
    assert!(doctor.contains("ok    isolation") && doctor.contains("ok    release"), "{doctor}");
    let lines: String = (0..120).map(|number| request(number, "\"email\",\"sms\"") + "\n").collect();
    let taken = operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    assert_eq!(taken, "taken 120, duplicates 0, refused 0\n");
    operator.deliver(&["--set", "channels.sms.provider=none"]).succeeded();
    assert_eq!(operator.lines("out.jsonl").len(), 120);
    assert!(operator.run(&["show", &id(5)]).succeeded().contains("PARTIALLY_FAILED"));
    assert_eq!(operator.run(&["dead", "purge", "--limit", "20", "--yes"]).succeeded(), "purged 20\n");
    assert_eq!(operator.run(&["dead", "revive", "--all"]).succeeded(), "revived 100\n");
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("\"due\":100") && status.contains("\"dead\":0"), "{status}");
    let shown = DatabaseUrl::new(&url).unwrap().to_string();
    let refused = operator.run(&["status", "--set", "database.password=wrong-hunter2"]).failed(1);
    assert!(!refused.contains("hunter2") && !shown.contains("hunter2"), "{refused}");
}
