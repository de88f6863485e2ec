//! Promise: a participant behind HTTP has done what it says it has done; a server that is not the participant neither does nor refuses

use std::time::Duration;

use claimstream_channels::{HttpParticipant, WebhookConfig};
use claimstream_domain::tcc::{Branch, BranchCall, GlobalId, Operation};
use claimstream_ports::tcc::{Participant, ParticipantError};
use serde_json::{Value, json};

use crate::message::LONG;
use crate::web_server::{Answer, WebServer};

fn participant(server: &WebServer) -> HttpParticipant {
    judging(server, "", None)
}

/// A participant whose answers mean what these rows say.
fn judging(server: &WebServer, rows: &str, code: Option<&str>) -> HttpParticipant {
    let (answers, answer_code) = (rows.parse().unwrap(), code.map(str::to_owned));
    let gateway = Some(server.url("/tcc?token=query-key").parse().unwrap());
    let (connect_timeout, timeout) = (LONG, LONG);
    let config = WebhookConfig { gateway, connect_timeout, timeout, ..WebhookConfig::default() };
    let config = WebhookConfig { environment_proxies: false, answers, answer_code, ..config };
    HttpParticipant::new(config).unwrap()
}

fn call(operation: Operation) -> BranchCall {
    let branch = Branch::new("stock", json!({"pieces": 3})).unwrap();
    BranchCall::new(&GlobalId::new("order-7").unwrap(), &branch, operation)
}

async fn answered(answer: Answer) -> Result<(), ParticipantError> {
    let server = WebServer::start([answer]).await;
    participant(&server).carry_out(&call(Operation::Try)).await
}

#[tokio::test]
async fn a_call_is_posted_under_its_key_and_says_what_is_to_be_done() {
    let server = WebServer::start([]).await;
    for operation in Operation::ALL {
        participant(&server).carry_out(&call(operation)).await.unwrap();
    }
    let received = server.received();
    assert_eq!(received.len(), 3);
    for (request, operation) in received.iter().zip(Operation::ALL) {
        assert_eq!(request.line, "POST /tcc?token=query-key HTTP/1.1");
        let key = format!("order-7/stock/{operation}");
        assert_eq!(request.header("idempotency-key"), Some(key.as_str()));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let expected = json!({
            "gid": "order-7", "branch": "stock", "operation": operation.name(), "payload": {"pieces": 3},
        });
        assert_eq!(body, expected);
    }
}

#[tokio::test]
async fn client_errors_are_refusals() {
    for code in [400, 402, 409, 410, 422] {
        let error = answered(Answer::Status(code, &[])).await.unwrap_err();
        assert!(matches!(&error, ParticipantError::Refused { .. }), "{code}: {error}");
        assert!(error.to_string().contains(&format!("HTTP {code} from http://127.0.0.1:")), "{error}");
        assert!(!error.to_string().contains("query-key"), "{error}");
    }
}

/// Guard: a server that is not the participant refuses nothing | domain/src/notification/answer/participant.txt: no 404
#[tokio::test]
async fn a_participant_that_is_away_for_a_deployment_is_asked_again() {
    for operation in Operation::ALL {
        for code in [302, 401, 403, 404, 405, 407] {
            let server = WebServer::start([Answer::Status(code, &["retry-after: 7"])]).await;
            let error = participant(&server).carry_out(&call(operation)).await.unwrap_err();
            let ParticipantError::Failed { reason, retry_after } = error else { panic!("{code}: {error}") };
            assert_eq!(retry_after, Some(Duration::from_secs(7)), "{code}");
            assert!(reason.as_str().contains(&format!("HTTP {code} from http://127.0.0.1:")), "{reason}");
        }
    }
}

/// A login page that answers 200 for a Confirm would be half of a transaction.
///
/// Guard: the settings say what a participant's answer means | src/webhook/participant.rs `carry_out`: by the status alone
#[tokio::test]
async fn a_2xx_whose_body_says_no_is_not_done() {
    const ROWS: &str = "2xx:ok = delivered, 2xx:short = permanent, 2xx = transient, 404 = permanent";
    let confirm = |reply: Answer| async {
        let server = WebServer::start([reply]).await;
        judging(&server, ROWS, Some("/status")).carry_out(&call(Operation::Confirm)).await
    };
    confirm(Answer::Refusal(200, r#"{"status": "ok"}"#)).await.unwrap();
    for reply in [Answer::Refusal(200, "<html>Please log in</html>"), Answer::Status(204, &[])] {
        let error = confirm(reply).await.unwrap_err();
        assert!(matches!(&error, ParticipantError::Failed { .. }), "{error}");
        assert!(error.to_string().contains("\"transient\" by `answers`"), "{error}");
    }
    let short = confirm(Answer::Refusal(200, r#"{"status": "short"}"#)).await.unwrap_err();
    assert!(matches!(&short, ParticipantError::Refused { .. }), "{short}");
    let unknown = confirm(Answer::Status(404, &[])).await.unwrap_err();
    assert!(matches!(&unknown, ParticipantError::Refused { .. }), "{unknown}");
}

#[tokio::test]
async fn servers_in_trouble_and_broken_connections_may_have_done_it() {
    for answer in [Answer::Status(503, &[]), Answer::Status(408, &[]), Answer::Close, Answer::Reset] {
        let error = answered(answer).await.unwrap_err();
        assert!(matches!(error, ParticipantError::Failed { retry_after: None, .. }), "{error}");
    }
    let asked = answered(Answer::Status(429, &["retry-after: 7"])).await.unwrap_err();
    let ParticipantError::Failed { retry_after, .. } = asked else { panic!("{asked}") };
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
}

#[test]
fn without_a_gateway_there_is_nowhere_to_post() {
    let refused = HttpParticipant::new(WebhookConfig::default()).unwrap_err().to_string();
    assert!(refused.contains("gateway"), "{refused}");
}
