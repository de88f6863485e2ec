//! What `serve` says and what the program sends, read by tools that others have written.
//! Promise: a validator of OpenAPI accepts the description of the API, no call that schemathesis makes of it is
//! answered otherwise, and a client generated from it sends a notification and reads its status
//! Promise: the SDK of CloudEvents reads what is published, the library of Standard Webhooks verifies webhooks, and
//! a mail server that refuses a bare CR and a bare LF takes every mail
//! Promise: promtool accepts the metrics of a server

mod api;
mod events;
mod mails;
mod openapi;
mod tools;
mod webhooks;

use claimstream_testbed::known_broker;
use serde_json::{Value, json};

use self::{
    api::{Api, TOKEN},
    events::Published,
    mails::Mails,
    openapi::Calls,
    tools::Tools,
    webhooks::{SECRETS, Webhook},
};
use crate::{
    operator::{Operator, eventually, request},
    probes,
    prometheus::Programs,
};

#[test]
#[ignore = "long: interfaces"]
fn a_validator_of_openapi_accepts_the_description() {
    let Some(tools) = Tools::named("validating the description of the API") else { return };
    let api = Api::open();
    let validate = ["-m", "openapi_spec_validator", "--errors", "all", api.description()];
    assert_eq!(tools.run(&api.folder(), &validate, ""), "openapi.json: OK\n");
}

/// Lengths are bounded in bytes, and a schema counts characters, so calls that the schema allows may be refused here.
#[test]
#[ignore = "long: interfaces"]
fn no_call_with_a_token_is_answered_otherwise_than_described() {
    let Some(tools) = Tools::named("calling the API with a token") else { return };
    let api = Api::with_a_token();
    let authorization = format!("Authorization: Bearer {TOKEN}");
    let arguments = ["--header", &authorization, "--exclude-checks", "positive_data_acceptance"];
    Calls { api: &api, arguments: &arguments }.are_answered_as_described(&tools);
}

#[test]
#[ignore = "long: interfaces"]
fn no_call_that_lacks_its_token_is_answered_otherwise_than_described() {
    let Some(tools) = Tools::named("calling the API without its token") else { return };
    Calls { api: &Api::with_a_token(), arguments: &[] }.are_answered_as_described(&tools);
}

/// In ASCII, where a character is a byte, all that the schema allows is accepted.
#[test]
#[ignore = "long: interfaces"]
fn no_call_to_an_open_server_is_answered_otherwise_than_described() {
    let Some(tools) = Tools::named("calling an open API") else { return };
    let arguments = ["--generation-codec", "ascii"];
    Calls { api: &Api::open(), arguments: &arguments }.are_answered_as_described(&tools);
}

#[test]
#[ignore = "long: interfaces"]
fn a_generated_client_sends_a_notification_and_reads_its_status() {
    let Some(tools) = Tools::named("a generated client of the API") else { return };
    let api = Api::with_a_token();
    let read = openapi::client(&tools, &api);
    let expected = json!({
        "id": read["id"], "same": true, "status": "DISPATCHED", "delivered": 1,
        "recipients": ["direct:ann@example.com||||"],
        "refused": [404, "urn:claimstream:problem:unknown-notification"],
    });
    assert_eq!(read, expected);
    let shown = api.shown(read["id"].as_str().unwrap());
    assert!(shown.contains("DISPATCHED"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: interfaces"]
async fn the_sdk_of_cloudevents_reads_what_is_published_in_both_modes() {
    let what = "reading published events by an SDK";
    let (Some(tools), Some(broker)) = (Tools::named(what), known_broker("nats", what)) else { return };
    let published = Published::to(&broker).await;
    for mode in ["binary", "structured"] {
        published.are_read_in(mode, &tools);
    }
}

#[test]
#[ignore = "long: interfaces"]
fn the_library_of_standard_webhooks_verifies_a_webhook() {
    let Some(tools) = Tools::named("verifying webhooks") else { return };
    let webhook = Webhook::sent();
    let sent: Value = serde_json::from_str(&webhook.body).unwrap();
    assert_eq!(sent["content"]["title"], "Grüße");
    for secret in SECRETS {
        assert_eq!(webhook.verified(&tools, secret, &webhook.body), json!({"read": sent}));
    }
    let refused = json!({"refused": "No matching signature found"});
    let other = SECRETS[0].to_lowercase();
    assert_eq!(webhook.verified(&tools, &other, &webhook.body), refused);
    assert_eq!(webhook.verified(&tools, SECRETS[0], &webhook.body.replace("Grüße", "Gruß")), refused);
}

#[test]
#[ignore = "long: interfaces"]
fn a_server_that_refuses_bare_ends_of_lines_takes_every_mail() {
    let Some(tools) = Tools::named("a strict mail server") else { return };
    let operator = Operator::with_database();
    let mails = Mails::start(&tools, &operator);
    let said = mails.deliver(&operator, &mails::TEXTS);
    let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned();
    let mut taken: Vec<_> = said.iter().filter_map(|said| said["taken"].as_str()).map(lines).collect();
    let mut sent: Vec<_> = mails::TEXTS.iter().flat_map(|text| [lines(text), lines(text)]).collect();
    taken.sort();
    sent.sort();
    assert_eq!(taken, sent, "{said:?}");
    for bare in [&b"EHLO a\nNOOP\r\n"[..], b"EHLO a\rNOOP\r\n"] {
        let (answer, said) = mails.answer(bare);
        assert!(answer.contains("521 5.5.2") && said["refused"].is_string(), "{answer}");
    }
}

#[test]
#[ignore = "long: interfaces"]
fn promtool_accepts_the_metrics_of_a_server() {
    let Some(programs) = Programs::named("the metrics") else { return };
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let serve = ["serve", "--relay", "--set", "serve.listen=127.0.0.1:0", "--set", "serve.anonymous=true"];
    let (_running, client) = probes::start(&operator, &serve);
    let mut metrics = String::new();
    eventually("the notification is delivered and counted", || {
        metrics = client.get("/metrics").text;
        metrics.contains("claimstream_settled_total{queue=\"notification-messages\",outcome=\"done\"} 1")
    });
    assert_eq!(programs.check_metrics(&metrics), "");
}
