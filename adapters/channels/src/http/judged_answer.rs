use std::{
    fmt,
    time::{Duration, SystemTime},
};

use claimstream_domain::notification::{AnswerTable, Judgement, ProviderAnswer};
use claimstream_ports::notification::DeliveryError;
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use super::{HttpAnswer, retry_after::retry_after};

/// An answer and what it means. Its body is read only if a row of the table asks for it, or its caller does.
pub(crate) struct JudgedAnswer {
    pub(crate) judgement: Judgement,
    /// The body, if it was read and is JSON.
    pub(crate) body: Option<Value>,
    /// The headers.
    pub(crate) headers: HeaderMap,
    status: StatusCode,
}

impl JudgedAnswer {
    /// The longest body that is read, in bytes.
    pub(crate) const MAX_BYTES: usize = 64 * 1024;

    /// Judges an answer by these rows, else by the usual ones. A body that decides and does not come leaves open what was decided.
    pub(crate) async fn of(
        answer: HttpAnswer,
        rows: &AnswerTable,
        usual: &AnswerTable,
        code_at: Option<&str>,
        wants_body: bool,
    ) -> Self {
        let (status, headers) = (answer.response.status(), answer.response.headers().clone());
        let mut judged = Self { judgement: Judgement::Unknown, body: None, headers, status };
        let decides = rows.reads_body(status.as_u16());
        let read = match decides || wants_body && status.is_success() {
            true => answer.read(Self::MAX_BYTES).await.ok(),
            false => None,
        };
        if decides && read.is_none() {
            return judged;
        }
        let bytes = read.unwrap_or_default();
        judged.body = serde_json::from_slice(&bytes).ok();
        let detail = judged.body.as_ref().zip(code_at).and_then(|(body, pointer)| text_at(body, pointer));
        let text = if decides { String::from_utf8_lossy(&bytes) } else { Default::default() };
        let provider_answer = ProviderAnswer {
            detail: detail.as_deref(),
            text: &text,
            ..ProviderAnswer::of_http(status.as_u16())
        };
        judged.judgement = rows.judge_or(usual, &provider_answer);
        judged
    }

    /// What an answer means that is not a delivery.
    pub(crate) fn failure(&self, from: &dyn fmt::Display) -> DeliveryError {
        DeliveryError::judged(self.judgement, self.reason(from), self.retry_after())
    }

    /// What was answered, for a person.
    pub(crate) fn reason(&self, from: &dyn fmt::Display) -> String {
        let status = self.status.as_u16();
        match self.status.is_success() {
            true => format!("HTTP {status} from {from} means {:?} by `answers`", self.judgement.name()),
            false => format!("HTTP {status} from {from}"),
        }
    }

    /// How long the other side asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers, SystemTime::now())
    }
}

/// The text or the number at a JSON pointer.
pub(crate) fn text_at(body: &Value, pointer: &str) -> Option<String> {
    match body.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
