//! Receipts that providers send to `claimstream serve`, by the worked files of docs/providers.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use serde_json::{Value, json};

use crate::{
    operator::{Operator, eventually},
    serve::{LOG, OPEN, Served, on_every_store, path, start},
    server::Server,
    web_client::WebClient,
};

fn worked_file(name: &str) -> String {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers").join(format!("{name}.toml"));
    std::fs::read_to_string(file).unwrap()
}

/// A worked file whose provider is this server.
fn configured(operator: &Operator, name: &str, url: &str, server: &Server) {
    let text = worked_file(name);
    assert!(text.contains(url), "{name}");
    let text = text.replace(url, &format!("http://{}", server.address()));
    operator.write("claimstream.toml", format!("{text}proxy = false\n"));
}

fn served(operator: &Operator) -> Served {
    start(operator, &[&["--relay"][..], &OPEN].concat())
}

const POSTMARK: &str = "https://api.postmarkapp.com";
/// The user `postmark` and the password `hunter2hunter2`.
const BASIC: &str = "Basic cG9zdG1hcms6aHVudGVyMmh1bnRlcjI=";

fn event(kind: &str, reference: &str) -> Value {
    json!({"RecordType": kind, "MessageID": reference, "Email": "Ann@example.com", "Type": "HardBounce",
        "BouncedAt": "2026-11-23T10:00:00Z", "Description": "no such user"})
}

fn receive(client: &WebClient, events: &Value) -> Value {
    let headers = [("content-type", "application/json"), ("authorization", BASIC)];
    let answer = client.exchange("POST", "/v1/receipts/postmark", &headers, &events.to_string()).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn mail() -> Value {
    json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
        "channels": ["email"], "content": {"title": "Paid", "body": "Thank you."},
    })
}

#[tokio::test]
async fn a_receipt_before_our_note_of_the_delivery_and_a_bounce_after_it() {
    on_every_store("receipts", |operator| {
        // The provider sends its receipt first and answers then.
        let client = Arc::<OnceLock<WebClient>>::default();
        let caller = Arc::clone(&client);
        let server = Server::telling(move |_| {
            let taken = receive(caller.get().unwrap(), &event("Delivery", "m-1"));
            assert_eq!(taken["waiting"], 1, "{taken}");
            Some((200, r#"{"MessageID": "m-1"}"#.into()))
        });
        configured(operator, "postmark", POSTMARK, &server);
        let served = start_with_secrets(operator);
        client.set(served.client.clone()).ok().unwrap();
        let sent = served.client.send("1", &mail());
        let messages = || served.client.get(&format!("{}/messages", path(&sent))).body["messages"].clone();
        eventually("the receipt is with its message", || messages()[0]["receipt"] == "delivered");
        assert_eq!(messages()[0]["reference"], "m-1");

        let bounce = json!([event("Bounce", "m-1"), event("Click", "m-1")]);
        let taken = receive(&served.client, &bounce);
        assert_eq!((&taken["new"], &taken["ignored"]), (&json!(1), &json!(1)));
        assert_eq!(receive(&served.client, &bounce)["known"], 1);
        let shown = &messages()[0];
        assert_eq!((&shown["status"], &shown["receipt"]), (&json!("DELIVERED"), &json!("bounced")));
        let listed = operator.run(&["suppressions", "list"]).succeeded();
        assert!(listed.contains("ann@example.com") && listed.contains("bounced"), "{listed}");
        let id = sent.body["id"].as_str().unwrap();
        let table = operator.run(&["show", id]).succeeded();
        assert!(
            table.contains("RECEIPT") && table.contains("\nreceipts  1 delivered, 1 bounced\n"),
            "{table}"
        );
        let shown: Value = serde_json::from_str(&operator.run(&["show", id, "--json"]).succeeded()).unwrap();
        assert_eq!(shown["messages"][0]["receipts"][0]["kind"], "delivered");
        let counted = &served.client.get(&path(&sent)).body["receipts"];
        assert_eq!((&shown["receipts"], &counted["bounced"]), (counted, &json!(1)));

        let next = served.client.send("2", &mail());
        eventually("nothing is sent there any more", || served.client.get(&path(&next)).body["skipped"] == 1);

        let of_a_swept_message =
            json!({"RecordType": "SpamComplaint", "MessageID": "m-0", "Email": "bea@example.com"});
        assert_eq!(receive(&served.client, &of_a_swept_message)["waiting"], 1);
        let mut to_bea = mail();
        to_bea["recipients"][0]["email"] = json!("bea@example.com");
        let next = served.client.send("3", &to_bea);
        eventually("nothing is sent to bea", || served.client.get(&path(&next)).body["skipped"] == 1);
        let log = operator.lines(LOG).join("\n");
        assert!(!log.contains("hunter2") && !log.contains("Ann@example.com"), "{log}");
    })
    .await;
}

fn start_with_secrets(operator: &Operator) -> Served {
    operator.write("secret", BASIC);
    operator.write("token", "a-token");
    let file = std::fs::read_to_string(operator.path("claimstream.toml")).unwrap();
    let file =
        file.replace("receipts_secret_env = \"POSTMARK_RECEIPTS\"", "receipts_secret_file = \"secret\"");
    operator.write(
        "claimstream.toml",
        file.replace("secret_env = \"POSTMARK_TOKEN\"", "secret_file = \"token\""),
    );
    served(operator)
}

#[test]
fn a_form_is_read_and_a_stranger_is_refused() {
    let server = Server::telling(|_| Some((201, r#"{"sid": "SM1"}"#.into())));
    let operator = Operator::with_database();
    let operator = operator.set("TWILIO_TOKEN", "a-token").set("TWILIO_RECEIPTS", "a-secret-of-twilio");
    configured(&operator, "twilio", "https://api.twilio.com", &server);
    let served = served(&operator);
    let sms = json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"phone": "+491"}], "channels": ["sms"],
        "content": {"body": "Hello"},
    });
    let sent = served.client.send("1", &sms);
    eventually("it is delivered", || served.client.get(&path(&sent)).body["delivered"] == 1);
    let body = "MessageSid=SM1&MessageStatus=undelivered&ErrorCode=30005&To=%2B491";
    let post = |secret: &str, body: &str| {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let headers = [form, ("authorization", secret)];
        served.client.exchange("POST", "/v1/receipts/twilio", &headers, body).unwrap()
    };
    assert_eq!(post("Bearer another-secret", body).status, 401);
    assert_eq!(served.client.exchange("POST", "/v1/receipts/postmark", &[], body).unwrap().status, 404);
    let taken = post("a-secret-of-twilio", body);
    // The outcome is noted before the attempt, so the receipt may have to wait.
    let count = |what: &str| taken.body[what].as_u64().unwrap();
    assert_eq!((taken.status, count("new") + count("waiting")), (200, 1), "{taken:?}");
    let listed = || operator.run(&["suppressions", "list", "--json"]).succeeded();
    eventually("the number is suppressed", || listed().contains("+491"));
    let listed = listed();
    assert!(listed.contains("\"+491\"") && listed.contains("\"note\":\"30005\""), "{listed}");
}

#[test]
fn a_bounce_of_ses_comes_as_a_text_by_a_subscription_that_a_person_confirms() {
    let operator = Operator::with_database();
    let operator = operator.set("SES_PASSWORD", "a-password").set("SES_RECEIPTS", "a-secret-of-ses");
    operator.write("claimstream.toml", worked_file("ses"));
    let served = start(&operator, &OPEN);
    let post = |kind: &str, body: &Value| {
        let headers = [
            ("content-type", "text/plain; charset=UTF-8"),
            ("authorization", "a-secret-of-ses"),
            ("x-amz-sns-message-type", kind),
        ];
        served.client.exchange("POST", "/v1/receipts/ses", &headers, &body.to_string()).unwrap()
    };
    let url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37";
    let confirmation =
        json!({"Type": "SubscriptionConfirmation", "Message": "You have chosen", "SubscribeURL": url});
    assert_eq!(post("SubscriptionConfirmation", &confirmation).status, 200);
    let shown = || operator.lines(LOG).into_iter().find(|line| line.contains("asks to confirm"));
    eventually("the URL is in the log", || shown().is_some());
    let shown = shown().unwrap();
    assert!(shown.contains("WARN") && shown.contains(url), "{shown}");

    // In the shape of the examples of SES, whose message was not sent here.
    let id = "<01900000-0000-7000-8000-000000000001@shop.example>";
    let bounce = json!({
        "notificationType": "Bounce",
        "bounce": {"bounceType": "Permanent", "timestamp": "2026-11-23T10:00:00Z",
            "bouncedRecipients": [{"emailAddress": "ann@example.com", "diagnosticCode": "smtp; 550 5.1.1 user unknown"}]},
        "mail": {"messageId": "0102018f-000000", "destination": ["ann@example.com"], "commonHeaders": {"messageId": id}},
    });
    let notification = json!({"Type": "Notification", "Message": bounce.to_string()});
    let taken = post("Notification", &notification);
    let counts = |what: &str| taken.body[what].as_u64().unwrap();
    assert_eq!((taken.status, counts("unknown"), counts("faulty")), (200, 1, 0), "{taken:?}");
    let test = json!({"Type": "Notification", "Message": "Successfully validated SNS topic."});
    assert_eq!(post("Notification", &test).body["faulty"], 1);
}

#[test]
fn settings_of_receipts_that_cannot_work_are_refused_with_their_key() {
    let operator = Operator::with_database();
    let server = Server::answering(200);
    configured(&operator, "twilio", "https://api.twilio.com", &server);
    let serve = |set: &str| operator.run(&[&["serve", "--set", set][..], &OPEN].concat()).failed(2);
    let refused = serve("log.format=text");
    assert!(
        refused.contains("`providers.twilio.receipts_secret`: the variable TWILIO_RECEIPTS"),
        "{refused}"
    );
    let refused = serve("providers.twilio.receipts_kinds=delivered");
    assert!(
        refused.contains("`providers.twilio.receipts_kinds`")
            && refused.contains("Bounce/HardBounce=bounced")
    );
    let refused = serve("providers.twilio.receipts_check=hmac");
    assert!(refused.contains("`providers.twilio.receipts_header`"), "{refused}");
}
