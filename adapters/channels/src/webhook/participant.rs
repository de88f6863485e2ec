use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{
    Invalid, Reason,
    notification::{AnswerClass, AnswerTable},
    tcc::BranchCall,
};
use claimstream_ports::{
    notification::DeliveryError,
    tcc::{Participant, ParticipantError},
};
use serde::Serialize;
use serde_json::Value;

use super::{config::WebhookConfig, endpoint::Endpoint, poster::Poster};
use crate::http::JudgedAnswer;

/// A participant of TCC transactions behind HTTP: it posts each call to one URL.
///
/// The body is `{gid, branch, operation, payload}`, and the header `Idempotency-Key` is `gid/branch/operation`, as in
/// `order-7/stock/try`. Signature and timestamp are those of [`WebhookChannel`](super::WebhookChannel).
///
/// | answer | outcome |
/// |---|---|
/// | 2xx | done |
/// | 408, 425, 429, 5xx, no answer in time, no or a broken connection | failed: it is asked again, no earlier than `Retry-After` says |
/// | 3xx, 401, 403, 404, 405, 407: what is there is not the participant, as during a deployment | the same |
/// | any other status | refused |
///
/// That is [`AnswerTable::participant`]; rows of [`WebhookConfig::answers`] come before its own. A row whose meaning is a delivery means
/// done, one whose meaning is a refusal for good means refused, and all others mean failed.
///
/// The other side owes what [`Participant`] says: it answers a repeated call as it did the first time, takes a Cancel for
/// a Try that has never reached it, and refuses, with 409 say, a Try that comes after it.
pub struct HttpParticipant {
    poster: Poster,
    to: Endpoint,
    traceparent: Option<Box<dyn Fn() -> Option<String> + Send + Sync>>,
}

/// The body of a call.
#[derive(Serialize)]
struct CallBody<'a> {
    gid: &'a str,
    branch: &'a str,
    operation: &'static str,
    payload: &'a Value,
}

impl HttpParticipant {
    /// A participant at the gateway of `config`, with connections of its own; refuses a configuration without one, and
    /// what [`WebhookConfig::check`] refuses.
    pub fn new(config: WebhookConfig) -> Result<Self, Invalid> {
        let Some(to) = config.gateway.clone() else {
            return Err(Invalid::Contradiction("an HTTP participant needs a gateway to post to".into()));
        };
        Ok(Self { poster: Poster::new(&config)?, to, traceparent: None })
    }

    /// The same whose calls have a header `traceparent` with what `current` answers at each call, so that the other side continues the trace; such as
    /// `claimstream_opentelemetry::current_traceparent`.
    pub fn traced_by(self, current: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { traceparent: Some(Box::new(current)), ..self }
    }

    fn outcome(&self, judged: &JudgedAnswer) -> Result<(), ParticipantError> {
        let reason = Reason::new(judged.reason(&self.to));
        match judged.judgement.answer().class {
            AnswerClass::Delivered => Ok(()),
            AnswerClass::Permanent => Err(ParticipantError::Refused { reason }),
            AnswerClass::Transient | AnswerClass::Throttled | AnswerClass::ProviderDown => {
                Err(ParticipantError::Failed { reason, retry_after: judged.retry_after() })
            }
        }
    }
}

#[async_trait]
impl Participant for HttpParticipant {
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        let body = CallBody {
            gid: call.key.gid.as_str(),
            branch: call.key.branch.as_str(),
            operation: call.key.operation.name(),
            payload: &call.payload,
        };
        let body = serde_json::to_vec(&body).map_err(ParticipantError::refused)?;
        let traceparent = self.traceparent.as_ref().and_then(|current| current());
        let key = call.key.to_string();
        let usual = AnswerTable::participant();
        let posted = self.poster.post(&self.to, &key, traceparent.as_deref(), body, usual).await;
        self.outcome(&posted.map_err(unanswered)?)
    }
}

impl fmt::Debug for HttpParticipant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpParticipant").field("to", &self.to).finish_non_exhaustive()
    }
}

fn unanswered(error: DeliveryError) -> ParticipantError {
    match error {
        DeliveryError::Permanent { reason } => ParticipantError::refused(reason),
        passing => {
            ParticipantError::Failed { reason: Reason::new(&passing), retry_after: passing.retry_after() }
        }
    }
}
