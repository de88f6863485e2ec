use claimstream_domain::{Headers, Payload};

use crate::shown::count;

/// What a message carries, as pages show it.
pub(crate) struct Carried {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) payload: String,
}

impl Carried {
    /// The most of a payload that is shown, in characters.
    const SHOWN: usize = 64 * 1024;

    pub(crate) fn of(headers: &Headers, payload: &Payload) -> Self {
        let headers = headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { headers: headers.collect(), payload: Self::text(payload) }
    }

    fn text(payload: &Payload) -> String {
        let Ok(text) = std::str::from_utf8(payload.bytes()) else {
            return format!("{} bytes that are not text", count(payload.bytes().len() as u64));
        };
        match text.char_indices().nth(Self::SHOWN) {
            None => text.to_owned(),
            Some((end, _)) => {
                format!("{}\n… and {} bytes more", &text[..end], count((text.len() - end) as u64))
            }
        }
    }
}
