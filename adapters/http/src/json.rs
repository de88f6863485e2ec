use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_path_to_error::{Path, Segment};

use crate::problem::{Fault, Problem};

/// A body that is JSON, to be answered.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response<Body> {
        let Ok(body) = serde_json::to_vec(&self.0) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let json = HeaderValue::from_static("application/json");
        ([(header::CONTENT_TYPE, json)], body).into_response()
    }
}

/// Reads a body, or says which field is wrong.
pub(crate) fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &Bytes) -> Result<T, Problem> {
    if !is_json(headers) {
        return Err(Problem::media_type());
    }
    // Serde would read the fields of an object from an array, in their order.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::invalid(Fault::at("", "it must be an object and is an array")));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| Problem::invalid(Fault::at(pointer(error.path()), error.inner().to_string())))?;
    json.end().map_err(|error| Problem::invalid(Fault::at("", error.to_string())))?;
    Ok(value)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// The place of an error as a JSON pointer (RFC 6901), as far as it is known.
fn pointer(path: &Path) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(format!("/{index}")),
        Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(segment).collect()
}
