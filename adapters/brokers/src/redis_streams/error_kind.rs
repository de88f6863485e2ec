use redis::RedisError;

/// What an error says of a message that was sent alone.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum EntryErrorKind {
    /// The server will never take this message.
    Never(String),
    /// The key of the stream takes no message as long as it is what it is.
    Unavailable(String),
    /// The server does not take this message now, and may take others.
    NotNow(String),
    /// The server takes no message now.
    NoneNow(String),
    /// The connection is gone, or nothing came.
    Lost(String),
}

impl EntryErrorKind {
    /// What the server answered to a message for the stream `place`.
    pub(super) fn of(place: &str, error: &RedisError) -> Self {
        let said = error.to_string();
        match error.code() {
            None => Self::Lost(said),
            Some("WRONGTYPE") => {
                Self::Unavailable(format!("the key {place:?} holds something else than a stream"))
            }
            // The connection ends after this answer.
            Some("ERR") if said.contains(PROTOCOL) => {
                Self::Never(format!("the server takes no message that is so large: {said}"))
            }
            Some(code) if TAKES_NONE.contains(&code) => Self::NoneNow(said),
            Some(_) => Self::NotNow(said),
        }
    }
}

/// What the server says before it ends a connection over a value that is too large.
pub(super) const PROTOCOL: &str = "Protocol error";

/// Codes of errors that no message of its own is the cause of.
const TAKES_NONE: [&str; 9] =
    ["BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "OOM", "READONLY"];

#[cfg(test)]
mod tests {
    use redis::{ErrorKind, Value};

    use super::*;

    fn meaning(answer: &str) -> EntryErrorKind {
        let value = redis::parse_redis_value(answer.as_bytes()).unwrap();
        let error = value.extract_error().map(|_: Value| ()).unwrap_err();
        EntryErrorKind::of("orders", &error)
    }

    #[test]
    fn an_error_is_of_one_message_or_of_all() {
        assert!(
            matches!(meaning("-WRONGTYPE no\r\n"), EntryErrorKind::Unavailable(why) if why.contains("\"orders\" holds"))
        );
        let large = meaning("-ERR Protocol error: invalid bulk length\r\n");
        assert!(matches!(large, EntryErrorKind::Never(why) if why.contains("so large")));
        assert!(matches!(meaning("-NOPERM this user may not\r\n"), EntryErrorKind::NotNow(_)));
        assert!(matches!(meaning("-ERR the stream has no ids left\r\n"), EntryErrorKind::NotNow(_)));
        for code in TAKES_NONE {
            assert!(matches!(meaning(&format!("-{code} no\r\n")), EntryErrorKind::NoneNow(_)), "{code}");
        }
        let lost = RedisError::from((ErrorKind::Io, "broken pipe"));
        assert!(matches!(EntryErrorKind::of("orders", &lost), EntryErrorKind::Lost(_)));
    }
}
