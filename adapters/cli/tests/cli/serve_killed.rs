//! Promise: clients that repeat their calls end with one notification for each key while servers and relays
//! are killed

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    process::Stdio,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::sleep,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    database_server::{Scratch, servers},
    operator::{Operator, Running},
    server::free_address,
    web_client::WebClient,
};

/// How often processes are killed; a longer run is asked for by this variable.
const KILLS: &str = "CLAIMSTREAM_KILLS";
const USUAL_KILLS: usize = 4;

#[tokio::test]
#[ignore = "long: kills"]
async fn a_client_that_retries_with_its_key_ends_with_one_notification_each() {
    let kills = std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(USUAL_KILLS);
    for (_, url) in servers("a_client_that_retries_with_its_key_ends_with_one_notification_each") {
        let scratch = Scratch::on(url).await;
        let operator = Operator::at(&scratch.url());
        operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        let answered = under_fire(&operator, kills);
        operator.deliver(&["--set", "relay.lease=1s"]).succeeded();
        let keys = answered.len() as i64;
        let distinct: BTreeSet<&String> = answered.values().collect();
        assert_eq!(distinct.len() as i64, keys);
        assert_eq!(scratch.count("SELECT COUNT(*) FROM claimstream_notification_request").await, keys);
        assert_eq!(scratch.count("SELECT COUNT(*) FROM claimstream_notification_message").await, keys);
        let delivered = "SELECT COUNT(*) FROM claimstream_notification_message WHERE status = 'DELIVERED'";
        assert_eq!(scratch.count(delivered).await, keys);
        let lines = operator.lines("out.jsonl");
        let ids: BTreeSet<String> = lines.iter().filter_map(|line| message(line)).collect();
        assert_eq!(ids.len() as i64, keys, "each was handed to its provider");
        println!(
            "{kills} kills: {keys} notifications, {} deliveries of them repeated",
            lines.len() - ids.len()
        );
    }
}

/// The id in a line of the sink; a line that a kill cut off has none.
fn message(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some(line["id"].as_str()?.to_owned())
}

/// Clients hand notifications in while processes are killed in turn, and hand each in again until it is answered. Answers the
/// id of each key.
fn under_fire(operator: &Operator, kills: usize) -> BTreeMap<String, String> {
    let ports = [free_address(), free_address()];
    let (over, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let answered = Mutex::<BTreeMap<String, String>>::default();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (over, next, answered) = (&over, &next, &answered);
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    let key = format!("key-{}", next.fetch_add(1, SeqCst));
                    let id = insist(&ports, n, &key);
                    answered.lock().unwrap().insert(key, id);
                }
            });
        }
        let mut processes = ports.map(|port| Some(serve(operator, port)));
        for kill in 0..kills {
            sleep(Duration::from_secs(2));
            let (place, port) = (&mut processes[kill % 2], ports[kill % 2]);
            // Dropping it is SIGKILL.
            drop(place.take());
            *place = Some(serve(operator, port));
        }
        over.store(true, SeqCst);
        // The clients finish while the servers still run.
        while answered.lock().unwrap().len() < next.load(SeqCst) {
            sleep(Duration::from_millis(50));
        }
    });
    answered.into_inner().unwrap()
}

fn serve(operator: &Operator, address: SocketAddr) -> Running {
    let listen = format!("serve.listen={address}");
    let settings = [
        listen.as_str(),
        "serve.anonymous=true",
        "channels.default.provider=log",
        "channels.default.file=out.jsonl",
        "relay.lease=1s",
        "log.level=off",
    ];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
    let mut command = operator.command(&[&["serve", "--relay"][..], &settings].concat());
    Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Sends a notification to one server after another until one answers that it is in.
fn insist(ports: &[SocketAddr; 2], from: usize, key: &str) -> String {
    let body = json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": format!("{key}@example.com")}],
        "channels": ["email"], "content": {"title": key},
    });
    let body = body.to_string();
    for attempt in from..from + 6_000 {
        let client = WebClient { address: ports[attempt % 2], token: None };
        match client.call("POST", "/v1/notifications", Some(key), &body) {
            Ok(answer) if [200, 201].contains(&answer.status) => {
                return answer.body["id"].as_str().unwrap().into();
            }
            Ok(answer) => assert!([409, 503].contains(&answer.status), "{answer:?}"),
            Err(_) => {}
        }
        sleep(Duration::from_millis(10));
    }
    panic!("no answer for {key}");
}
