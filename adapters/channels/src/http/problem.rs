use serde::Deserialize;

/// Whether a body is a problem (RFC 9457) of this type.
pub(crate) fn is_problem(body: &[u8], kind: &str) -> bool {
    #[derive(Deserialize)]
    struct Problem {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_slice::<Problem>(body).is_ok_and(|problem| problem.kind == kind)
}
