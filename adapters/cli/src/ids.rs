use uuid::Uuid;

/// Reads an id as an argument; the parser of the crate speaks of lengths and groups.
pub(crate) fn uuid(text: &str) -> Result<Uuid, String> {
    text.parse().map_err(|_| "an id is a UUID, such as 01900000-0000-7000-8000-000000000001".to_owned())
}
