//! Inboxes inside the application: delivered by one process, read and listened to at others.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use crate::{
    operator::{Operator, STUCK, eventually},
    serve::{Served, on_every_store, path, start},
};

const FILE: &str = "[notifications]\ndirectory = \"directory.json\"\n[channels.in_app]\nprovider = \"in_app\"\n\
                    [relay]\nidle_max = \"200ms\"\n[serve]\n\
                    inbox_key = \"a-key-of-at-least-thirty-two-bytes\"\n";
const TOKEN: &str = "a-token-of-the-application";
/// Its SHA-256.
const HASH: &str = "231f01d4b5c6b831bc47d4781a50f78c32371eea3e697c2e229452c576d08e70";

fn configured(operator: &Operator) {
    operator.write("claimstream.toml", FILE);
    let directory = json!({"users": [{"user": "ann", "email": "ann@example.com"}], "segments": {}});
    operator.write("directory.json", directory.to_string());
}

fn served(operator: &Operator, arguments: &[&str]) -> Served {
    let mut served = start(operator, arguments);
    served.client.token = Some(TOKEN.into());
    served
}

fn note(title: &str) -> Value {
    json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"user": "ann"}], "channels": ["in_app"],
        "content": {"title": title},
    })
}

/// A browser that listens: the titles of entries and the ids of their events, until the connection ends.
struct Browser(BufReader<TcpStream>);

impl Browser {
    fn listen(served: &Served, pass: &str, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(served.client.address).unwrap();
        stream.set_read_timeout(Some(STUCK)).unwrap();
        let last = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        let path = format!("/v1/recipients/ann/inbox/events?token={pass}");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n{last}\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        Self(reader)
    }

    fn entry(&mut self) -> Option<(String, String)> {
        let (mut id, mut line) = (None, String::new());
        loop {
            line.clear();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(given) = line.strip_prefix("id: ") {
                id = Some(given.trim().to_owned());
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data).ok()?;
                return Some((data["title"].as_str()?.to_owned(), id?));
            }
        }
    }
}

#[tokio::test]
async fn entries_are_delivered_read_and_listened_to_across_processes() {
    on_every_store("in_app", |operator| {
        configured(operator);
        let set = ["--set", "serve.tokens_file=tokens"];
        operator.write("tokens", format!("app send,read,inbox sha256:{}\n", HASH));
        let reading = served(operator, &set);
        let mut delivering = served(operator, &[&["--relay"][..], &set].concat());
        let inbox = "/v1/recipients/ann/inbox";
        let made = reading.client.call("POST", &format!("{inbox}/pass"), None, "").unwrap();
        assert_eq!(made.status, 200, "{made:?}");
        let pass = made.body["token"].as_str().unwrap().to_owned();
        let mut browser = Browser::listen(&reading, &pass, None);

        let first = delivering.client.send("1", &note("one"));
        let (title, cursor) = browser.entry().unwrap();
        assert_eq!(title, "one");
        eventually("it is delivered", || delivering.client.get(&path(&first)).body["delivered"] == 1);
        drop(browser);
        delivering.client.send("2", &note("two"));
        eventually("the second is there", || reading.client.get(inbox).body["unread"] == 2);
        let mut browser = Browser::listen(&reading, &pass, Some(&cursor));
        assert_eq!(browser.entry().unwrap().0, "two", "neither lost nor the first once more");

        let shown = reading.client.get(inbox).body;
        assert_eq!((&shown["entries"][0]["title"], &shown["unread"]), (&json!("two"), &json!(2)));
        let entry = shown["entries"][0]["id"].as_str().unwrap();
        let read = reading.client.call("POST", &format!("{inbox}/{entry}/read"), None, "").unwrap();
        assert_eq!((&read.body["marked"], &read.body["unread"]), (&json!(1), &json!(1)));
        let all = reading.client.call("POST", &format!("{inbox}/read-all"), None, "").unwrap();
        assert_eq!(all.body, json!({"marked": 1, "unread": 0}));

        // A server that gets the signal ends its listeners, and so ends itself.
        let mut other = Browser::listen(&delivering, &pass, None);
        delivering.running.signal("TERM");
        assert!(other.entry().is_none());
        assert_eq!(delivering.running.end().code(), Some(0));
    })
    .await;
}
