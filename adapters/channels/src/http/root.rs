use std::error::Error;

/// The innermost cause of an error: what the system said, without the URL that outer ones repeat.
pub(crate) fn root(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
