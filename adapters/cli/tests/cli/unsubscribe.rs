//! The pages behind links to unsubscribe, served by `claimstream serve`.

use claimstream_domain::notification::{
    Channel,
    consent::{Category, Unsubscribe, UnsubscribeKeys},
};
use serde_json::json;

use crate::{
    operator::eventually,
    serve::{OPEN, on_every_store, path, start},
};

const KEY: &str = "a-key-of-at-least-thirty-two-bytes";

#[tokio::test]
async fn a_link_scanner_changes_nothing_and_one_click_opts_out() {
    on_every_store("unsubscribe", |operator| {
        let file = format!(
            "[notifications]\nunsubscribe_url = \"https://shop.example/unsubscribe/\"\nunsubscribe_key = \"{KEY}\"\n\
             [channels.default]\nprovider = \"log\"\nfile = \"out.jsonl\"\n"
        );
        operator.write("claimstream.toml", file);
        let served = start(operator, &[&["--relay"][..], &OPEN].concat());
        let asked = Unsubscribe {
            recipient: "email:ann@example.com".into(),
            channel: Channel::Email,
            category: Category::new("marketing").unwrap(),
        };
        let link = format!("/unsubscribe/{}", UnsubscribeKeys::new([KEY.as_bytes()]).unwrap().sign(&asked));
        let wants = || operator.run(&["recipient", "preferences", &asked.recipient]).succeeded();
        let looked = served.client.exchange("GET", &link, &[], "").unwrap();
        assert_eq!(looked.status, 200);
        assert!(looked.text.contains("<form method=\"post\">"), "{looked:?}");
        assert_eq!(wants(), "nothing is set\n");

        let form = [("content-type", "application/x-www-form-urlencoded")];
        let clicked = served.client.exchange("POST", &link, &form, "List-Unsubscribe=One-Click").unwrap();
        assert_eq!(clicked.status, 200, "{clicked:?}");
        assert_eq!(wants(), "email/marketing=off\n");
        let other = served.client.exchange("POST", &format!("{link}x"), &form, "").unwrap();
        assert_eq!(other.status, 404);

        let body = json!({
            "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "Ann@example.com"}],
            "channels": ["email"], "content": {"title": "Spring"}, "category": "marketing",
        });
        let sent = served.client.send("1", &body);
        eventually("it is skipped", || served.client.get(&path(&sent)).body["skipped"] == 1);
    })
    .await;
}

#[test]
fn without_a_key_no_link_is_ours() {
    let operator = crate::operator::Operator::with_database();
    let served = start(&operator, &OPEN);
    assert_eq!(served.client.exchange("GET", "/unsubscribe/x.y", &[], "").unwrap().status, 404);
}
