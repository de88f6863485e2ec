use std::{fmt, time::SystemTime};

use claimstream_domain::notification::Answer;
use claimstream_ports::notification::DeliveryError;
use reqwest::Response;

use super::retry_after::retry_after;

/// What an answer means that is not a delivery.
pub(crate) fn failure(from: &dyn fmt::Display, response: &Response, answer: Answer) -> DeliveryError {
    let reason = format!("HTTP {} from {from}", response.status().as_u16());
    DeliveryError::of(answer, reason, retry_after(response.headers(), SystemTime::now()))
}
