use std::sync::Arc;

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};

use claimstream_ports::within;

use crate::{problem::Problem, state::AppState};

/// The body of a request and its headers; refused if it is too long or too slow.
pub(crate) struct Payload {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl FromRequest<Arc<AppState>> for Payload {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, Problem> {
        Self::read(request, state, state.limits.body).await
    }
}

impl Payload {
    /// Reads a body of at most so many bytes.
    pub(crate) async fn read(request: Request, state: &AppState, most: usize) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse().ok()).is_some_and(|length: usize| length > most) {
            return Err(Problem::too_large(most));
        }
        let read = within(&*state.timer, state.limits.timeout, to_bytes(body, most)).await;
        let bytes = read.ok_or_else(Problem::slow_body)?.map_err(|_| Problem::too_large(most))?;
        Ok(Self { headers: parts.headers, bytes })
    }
}
