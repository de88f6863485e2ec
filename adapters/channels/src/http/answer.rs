use reqwest::Response;

use claimstream_ports::Deadline;

use super::root;

/// An answer whose body is still to come, in what is left of the time of its request.
pub(crate) struct HttpAnswer {
    /// Its head.
    pub(crate) response: Response,
    pub(super) deadline: Deadline,
}

/// Why a body was not read.
pub(crate) enum Unread {
    /// The connection broke, or the time was over.
    Broke(String),
    /// It is longer than it may be.
    TooLong,
}

impl HttpAnswer {
    /// The body, of so many bytes at most.
    pub(crate) async fn read(mut self, most: usize) -> Result<Vec<u8>, Unread> {
        let mut body = Vec::new();
        loop {
            let Some(part) = self.deadline.within(self.response.chunk()).await else {
                return Err(Unread::Broke("the body did not come in time".to_owned()));
            };
            let Some(part) = part.map_err(|e| Unread::Broke(root(&e)))? else { return Ok(body) };
            body.extend_from_slice(&part);
            if body.len() > most {
                return Err(Unread::TooLong);
            }
        }
    }
}
