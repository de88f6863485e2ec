//! Promise: opening a link to unsubscribe changes nothing; the button and the one click of RFC 8058 opt out

use axum::http::StatusCode;
use claimstream_domain::notification::{
    Channel,
    consent::{Category, Preferences, Unsubscribe, UnsubscribeKeys},
};
use claimstream_http::Limits;
use claimstream_ports::StoreErrorKind;

use crate::api::{Api, Ports, trouble};

pub(crate) fn keys() -> UnsubscribeKeys {
    UnsubscribeKeys::new([&[7; 32][..]]).unwrap()
}

pub(crate) fn link(recipient: &str) -> String {
    let category = Category::new("marketing").unwrap();
    let asked = Unsubscribe { recipient: recipient.into(), channel: Channel::Email, category };
    format!("/unsubscribe/{}", keys().sign(&asked))
}

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

#[tokio::test]
async fn a_look_at_a_link_changes_nothing_and_one_click_does() {
    let mut ports = Ports::default();
    ports.preferences.expect_change().times(2).returning(|recipient, changes| {
        assert_eq!((recipient, changes.len()), ("user:<ann>", 1));
        Ok(changes[0].apply(Preferences::default()).unwrap())
    });
    let api = Api::with(ports, Limits::default());
    let link = link("user:<ann>");
    for method in ["GET", "HEAD", "GET"] {
        let (status, page) = api.page(method, &link, "").await;
        assert_eq!(status, StatusCode::OK);
        if method == "GET" {
            assert!(page.contains("marketing") && page.contains("<form method=\"post\">"), "{page}");
            assert!(!page.contains("ann"), "{page}");
        }
    }
    // The second is the button of a recipient whose mail program has clicked already.
    for body in [ONE_CLICK, ""] {
        let (status, page) = api.page("POST", &link, body).await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("There will be no more messages") && !page.contains("<form"), "{page}");
    }
}

#[tokio::test]
async fn a_link_that_was_touched_is_none() {
    let api = Api::new();
    for path in [format!("{}x", link("user:a")), "/unsubscribe/x".into(), "/unsubscribe/%00.%00".into()] {
        for method in ["GET", "POST"] {
            let (status, page) = api.page(method, &path, ONE_CLICK).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}");
            assert!(page.contains("the link of the message"), "{page}");
        }
    }
}

#[tokio::test]
async fn while_the_database_is_away_a_click_is_to_be_repeated() {
    let mut ports = Ports::default();
    ports.preferences.expect_change().returning(|_, _| Err(trouble(StoreErrorKind::Unavailable)));
    let api = Api::with(ports, Limits::default());
    let answer = api.call("POST", &link("user:a"), &[], ONE_CLICK).await;
    assert_eq!((answer.status, answer.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("60")));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self'") && policy.contains("default-src 'none'"), "{policy}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}
