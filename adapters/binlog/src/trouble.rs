use mysql_async::{DriverError, Error};

use crate::place::BinlogPlace;

/// Why the log is not read at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// The place in the log is not there any more, or cannot be read on from.
    Lost(String),
    /// An event cannot be read, and would not be the next time either.
    Unreadable(String),
    /// An operator has to change something, which the sentence names.
    Refused(String),
    /// It passes by itself.
    Passing(String),
}

impl Trouble {
    /// The one place that says what kind of trouble an error of the driver is.
    pub(crate) fn of(error: &Error, place: &BinlogPlace) -> Self {
        match error {
            Error::Server(answer) => match answer.code {
                // The file was purged, or the position is none; also another reader with the same server id.
                1236 => Self::Lost(answer.message.clone()),
                1227 | 1142 | 1143 => Self::Refused(missing_right(place)),
                1044 | 1045 | 1698 => Self::Refused(format!("{}; check the user", answer.message)),
                _ => Self::Passing(answer.to_string()),
            },
            Error::Driver(error @ DriverError::UnknownAuthPlugin { .. }) => Self::Refused(error.to_string()),
            Error::Driver(DriverError::NoClientSslFlagFromServer) => {
                Self::Refused("the server offers no TLS, and the URL asks for it by ssl-mode".into())
            }
            Error::Driver(error @ DriverError::PacketTooLarge) => Self::Lost(error.to_string()),
            other => Self::Passing(other.to_string()),
        }
    }

    /// The same for an error after the request for the log. A server refuses a user without the right to read the log by the number for a
    /// wrong password.
    pub(crate) fn of_request(error: &Error, place: &BinlogPlace) -> Self {
        match error {
            Error::Server(answer) if answer.code == 1045 => Self::Refused(missing_right(place)),
            other => Self::of(other, place),
        }
    }

    /// The server writes no log.
    pub(crate) fn no_log() -> Self {
        Self::Refused("the server writes no binary log; start it with log_bin".into())
    }
}

fn missing_right(place: &BinlogPlace) -> String {
    let user = place.user();
    format!(
        "the user may not read the binary log; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '{user}'@'%'"
    )
}

#[cfg(test)]
mod tests {
    use mysql_async::ServerError;

    use super::*;

    fn place() -> BinlogPlace {
        BinlogPlace::new("mysql://shop:hunter2@db/shop").unwrap()
    }

    fn answer(code: u16) -> Error {
        Error::Server(ServerError { code, message: "as the server says".into(), state: "HY000".into() })
    }

    fn of(code: u16) -> Trouble {
        Trouble::of(&answer(code), &place())
    }

    #[test]
    fn a_missing_right_is_named_with_the_statement_that_gives_it() {
        let Trouble::Refused(why) = of(1227) else { panic!("not refused") };
        assert!(why.ends_with("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'shop'@'%'"), "{why}");
        assert_eq!(of(1045), Trouble::Refused("as the server says; check the user".into()));
        assert_eq!(Trouble::of_request(&answer(1045), &place()), Trouble::Refused(why));
    }

    #[test]
    fn a_purged_log_is_lost_and_everything_else_passes() {
        assert_eq!(of(1236), Trouble::Lost("as the server says".into()));
        assert!(matches!(of(1040), Trouble::Passing(_)));
    }
}
