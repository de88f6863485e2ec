/// A file as its server sent it.
#[derive(Debug)]
pub(crate) struct FetchedFile {
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// Of what kind its server says it is.
    pub(crate) content_type: Option<String>,
}
