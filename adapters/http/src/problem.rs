use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use claimstream_domain::Invalid;
use claimstream_ports::{StoreError, notification::UnreadableRequest};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{group_commit::IntakeError, token::Scope};

/// An answer that says why a request was not carried out (RFC 9457).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem, for programs; `urn:claimstream:problem:` and a name.
    #[serde(rename = "type", serialize_with = "urn")]
    #[schema(value_type = String, example = "urn:claimstream:problem:invalid-request")]
    kind: &'static str,
    /// The kind of problem, for people.
    title: &'static str,
    /// The status of the answer.
    #[schema(value_type = u16, example = 400)]
    #[serde(serialize_with = "number")]
    status: StatusCode,
    /// This occurrence, for people.
    detail: Box<str>,
    /// Each fault, and where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Fault>,
    #[serde(skip)]
    retry_after: Option<u32>,
    #[serde(skip)]
    challenge: Option<String>,
}

/// One fault of a request, and the place of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct Fault {
    /// Its place in the body: a JSON pointer as a URI fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "#/recipients/0")]
    pub(crate) pointer: Option<String>,
    /// The parameter of the path or the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameter: Option<&'static str>,
    /// The header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<&'static str>,
    /// What is wrong with it, and what would be right.
    pub(crate) detail: String,
}

impl Problem {
    /// The media type of a problem.
    pub(crate) const MEDIA_TYPE: &'static str = "application/problem+json";
    /// When to try again, in seconds, what has met a passing trouble.
    const SOON: u32 = 1;

    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Into<Box<str>>) -> Self {
        Self {
            kind,
            title,
            status,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: None,
            challenge: None,
        }
    }

    fn retry(self) -> Self {
        Self { retry_after: Some(Self::SOON), ..self }
    }

    pub(crate) fn invalid(fault: Fault) -> Self {
        let detail = fault.detail.clone();
        let problem =
            Self::new(StatusCode::BAD_REQUEST, "invalid-request", "The request is not valid", detail);
        Self { errors: vec![fault], ..problem }
    }

    /// Several faults, and what to say of all.
    pub(crate) fn invalid_at(detail: String, errors: Vec<Fault>) -> Self {
        let kind = "invalid-request";
        let problem = Self::new(StatusCode::BAD_REQUEST, kind, "The request is not valid", detail);
        Self { errors, ..problem }
    }

    pub(crate) fn unauthorized() -> Self {
        let why = "send a token that this server knows, as `Authorization: Bearer TOKEN`";
        let problem = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "No valid token", why);
        Self { challenge: Some("Bearer".into()), ..problem }
    }

    pub(crate) fn forbidden(scope: Scope) -> Self {
        let scope = scope.name();
        let why = format!("the token needs the scope {scope}");
        let problem = Self::new(StatusCode::FORBIDDEN, "forbidden", "The token does not allow this", why);
        Self { challenge: Some(format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"")), ..problem }
    }

    pub(crate) fn other_host() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "other-host",
            "Without tokens only this machine is answered",
            "name the server in Host by an address or as localhost, or give callers tokens by serve.tokens_file",
        )
    }

    pub(crate) fn unknown_request() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "unknown-notification",
            "There is no such notification",
            "no notification has this id, or its retention is over",
        )
    }

    pub(crate) fn another_inbox() -> Self {
        let why = "the pass is for the inbox of another user";
        Self::new(StatusCode::FORBIDDEN, "another-inbox", "The pass does not allow this", why)
    }

    pub(crate) fn no_passes() -> Self {
        let why = "set serve.inbox_key, which signs passes";
        Self::new(StatusCode::NOT_FOUND, "no-passes", "The server makes no passes", why)
    }

    pub(crate) fn no_receipts() -> Self {
        let why = "no provider of this name has receipts set up; see docs/receipts.md";
        Self::new(StatusCode::NOT_FOUND, "no-receipts", "No receipts are taken here", why)
    }

    pub(crate) fn bad_signature(why: &str) -> Self {
        let title = "The receipt does not prove whose it is";
        let problem = Self::new(StatusCode::UNAUTHORIZED, "bad-signature", title, why);
        // A provider with a user and a password sends them once it is asked to.
        Self { challenge: Some("Basic realm=\"receipts\"".into()), ..problem }
    }

    pub(crate) fn unknown_template(why: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown-template", "There is no such template", why)
    }

    pub(crate) fn templates_elsewhere() -> Self {
        let why = "this server takes its templates from a file or another server, which is where to edit them; set \
                   templates.source to database to keep them here";
        Self::new(StatusCode::CONFLICT, "templates-elsewhere", "Templates are kept elsewhere", why)
    }

    pub(crate) fn directory_elsewhere() -> Self {
        let why = "this server takes its directory from a file or another server, which is where to edit it; set \
                   directory.source to database to keep it here";
        Self::new(StatusCode::CONFLICT, "directory-elsewhere", "The directory is kept elsewhere", why)
    }

    pub(crate) fn unknown_recipient() -> Self {
        let why = "the directory knows no user of this id";
        Self::new(StatusCode::NOT_FOUND, "unknown-recipient", "There is no such recipient", why)
    }

    pub(crate) fn unknown_segment() -> Self {
        let why = "the directory knows no segment of this name";
        Self::new(StatusCode::NOT_FOUND, "unknown-segment", "There is no such segment", why)
    }

    pub(crate) fn published_meanwhile(why: String) -> Self {
        Self::new(StatusCode::CONFLICT, "published-meanwhile", "Another version was published meanwhile", why)
    }

    pub(crate) fn changed_meanwhile() -> Self {
        let why = "If-Match does not have the ETag of what is kept now; read it again, and change that";
        Self::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", "It has changed meanwhile", why)
    }

    pub(crate) fn no_such_route() -> Self {
        let why = "/openapi.json lists the routes of this server";
        Self::new(StatusCode::NOT_FOUND, "no-such-route", "There is no such route", why)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let why = "the header Allow lists the methods of this route";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "The route has no such method", why)
    }

    pub(crate) fn media_type() -> Self {
        let why = "send `Content-Type: application/json`";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body must be JSON", why)
    }

    pub(crate) fn too_large(most: usize) -> Self {
        let why = format!("a body has at most {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too long", why)
    }

    pub(crate) fn slow_body() -> Self {
        let why = "the body did not arrive in time; nothing was done";
        Self::new(StatusCode::REQUEST_TIMEOUT, "slow-body", "The body arrives too slowly", why)
    }

    pub(crate) fn too_late(stands: &str) -> Self {
        let why = format!("the notification is {stands}; nothing is left that could be taken back");
        Self::new(StatusCode::CONFLICT, "too-late", "It is too late", why)
    }

    /// A trouble that passes: busy, stopping, or without its database.
    pub(crate) fn unavailable(detail: impl Into<Box<str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Try again", detail).retry()
    }

    /// The answer for a call of the store that has failed.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        if error.get_ref().is::<UnreadableRequest>() {
            tracing::error!(%error, "a notification cannot be compared with the one that is kept");
            return Self::unavailable(
                "what is kept under this Idempotency-Key cannot be read by this server; a server of a newer version may read it",
            );
        }
        if let Some(Invalid::Changed { .. }) = error.get_ref().downcast_ref() {
            return Self::changed_meanwhile();
        }
        match error.is_about_the_store() {
            // The text stays in the log: it may name hosts and tables.
            true => Self::unavailable(
                "the database does not answer now; the outcome may be unknown until it does",
            ),
            false => Self::invalid(Fault::anywhere(error.get_ref().to_string())),
        }
    }

    /// The answer for a request that was not taken in.
    pub(crate) fn of_refusal(refused: &IntakeError) -> Self {
        match refused {
            IntakeError::Store(error) => Self::of_store(error),
            IntakeError::InProgress => {
                let why = "a call with this Idempotency-Key is under way; its answer can be fetched by the same call";
                Self::new(StatusCode::CONFLICT, "in-progress", "The first call has not ended", why).retry()
            }
            IntakeError::Full | IntakeError::Stopped | IntakeError::Lost => {
                Self::unavailable(refused.to_string())
            }
        }
    }

    pub(crate) fn key_reused() -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency-key-reused",
            "The key stands for another request",
            "this Idempotency-Key came with another body before; send the same body, or a new key",
        )
    }
}

impl Fault {
    pub(crate) fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(format!("#{}", pointer.into())), ..Self::anywhere(detail) }
    }

    pub(crate) fn parameter(name: &'static str, detail: impl Into<String>) -> Self {
        Self { parameter: Some(name), ..Self::anywhere(detail) }
    }

    pub(crate) fn header(name: &'static str, detail: impl Into<String>) -> Self {
        Self { header: Some(name), ..Self::anywhere(detail) }
    }

    fn anywhere(detail: impl Into<String>) -> Self {
        Self { pointer: None, parameter: None, header: None, detail: detail.into() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Self::MEDIA_TYPE));
        headers.extend(self.retry_after.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds))));
        let challenge = self.challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok());
        headers.extend(challenge.map(|challenge| (header::WWW_AUTHENTICATE, challenge)));
        response
    }
}

fn urn<S: serde::Serializer>(kind: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("urn:claimstream:problem:{kind}"))
}

fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}
