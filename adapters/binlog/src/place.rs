use std::{fmt, str::FromStr, time::Duration};

use claimstream_domain::Invalid;
use mysql_async::OptsBuilder;
use percent_encoding::percent_decode_str;
use url::Url;
use uuid::Uuid;

use crate::encryption::Encryption;

/// Which server's binary log is read, for which database, and under which server id; the password is never shown.
///
/// The URL is that of the outbox, `mysql://user:password@host:3306/database`, with the parameters that its driver knows: `ssl-mode`, `ssl-ca`,
/// `ssl-cert`, `ssl-key` and `socket`. Others are left alone.
#[derive(Clone, PartialEq, Eq)]
pub struct BinlogPlace {
    url: Url,
    database: String,
    encryption: Encryption,
    server_id: u32,
    refused_for: Duration,
}

impl BinlogPlace {
    /// How long after a refusal the log is asked for again, unless [`retry_refused_after`](Self::retry_refused_after) says something else.
    pub const REFUSED_FOR: Duration = Duration::from_secs(300);

    /// Takes a URL, or says what would have been right; the sentence does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let rest = text.trim().strip_prefix("mysql://").or_else(|| text.trim().strip_prefix("mariadb://"));
        let rest = rest.ok_or_else(|| refused("a URL of something else"))?;
        let url: Url =
            format!("mysql://{rest}").parse().map_err(|_| refused("a URL that cannot be understood"))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(refused("a URL without a host"));
        }
        let database = decoded(url.path().trim_start_matches('/'))?;
        if database.is_empty() {
            return Err(refused("a URL without a database"));
        }
        let encryption = Encryption::of(&url).map_err(refused)?;
        Ok(Self { database, encryption, url, server_id: drawn_server_id(), refused_for: Self::REFUSED_FOR })
    }

    /// The same under this server id, which no server and no other reader of the same cluster may have; it must not be 0.
    ///
    /// Unless one is set it is drawn at random from the upper half of all ids, which people seldom give to servers.
    pub fn with_server_id(self, server_id: u32) -> Result<Self, Invalid> {
        match server_id {
            0 => Err(Invalid::OutOfRange {
                what: "server id",
                given: "0".into(),
                allowed: "from 1 to 4294967295, and unique among servers and readers".into(),
            }),
            server_id => Ok(Self { server_id, ..self }),
        }
    }

    /// The same, asking for the log again so long after a refusal, such as a missing right; 5 minutes by default.
    pub fn retry_refused_after(self, refused_for: Duration) -> Self {
        Self { refused_for, ..self }
    }

    pub(crate) fn database(&self) -> &str {
        &self.database
    }

    pub(crate) fn server_id(&self) -> u32 {
        self.server_id
    }

    pub(crate) fn refused_for(&self) -> Duration {
        self.refused_for
    }

    pub(crate) fn encryption(&self) -> &Encryption {
        &self.encryption
    }

    /// The user as the server knows it.
    pub(crate) fn user(&self) -> String {
        decoded(self.url.username()).unwrap_or_default()
    }

    /// The driver's settings, without encryption.
    pub(crate) fn options(&self) -> OptsBuilder {
        let password = self.url.password().and_then(|password| decoded(password).ok());
        let socket = self.url.query_pairs().find(|(name, _)| name == "socket");
        OptsBuilder::default()
            .ip_or_hostname(self.url.host_str().unwrap_or_default().trim_matches(['[', ']']))
            .tcp_port(self.url.port().unwrap_or(3306))
            .user(Some(self.user()))
            .pass(password)
            .socket(socket.map(|(_, path)| path.into_owned()))
            // The driver's own: it would ask for the path of the socket and connect again by it.
            .prefer_socket(false)
            // Without these two it asks the server, and takes no event that is larger than what clients may send.
            .max_allowed_packet(Some(1 << 30))
            .wait_timeout(Some(28_800))
    }
}

const FORMS: &str = "like mysql://user:password@host:3306/database, special characters percent-encoded";

fn refused(given: &str) -> Invalid {
    Invalid::OutOfRange { what: "binlog", given: given.into(), allowed: FORMS.into() }
}

fn decoded(text: &str) -> Result<String, Invalid> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| refused("a URL with a part that is not UTF-8"))
}

/// Random as the ids of instances are, from 2^31 on.
fn drawn_server_id() -> u32 {
    let [a, b, c, d, ..] = *Uuid::new_v4().as_bytes();
    u32::from_le_bytes([a, b, c, d]) | 1 << 31
}

impl FromStr for BinlogPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for BinlogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.url.port().unwrap_or(3306);
        write!(f, "mysql://{}:{port}/{}", self.url.host_str().unwrap_or_default(), self.database)
    }
}

impl fmt::Debug for BinlogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BinlogPlace({self}, server id {})", self.server_id)
    }
}

#[cfg(test)]
mod tests {
    use mysql_async::Opts;

    use super::*;

    #[test]
    fn takes_the_url_of_the_outbox_and_shows_no_password() {
        let place = BinlogPlace::new(
            "mariadb://sh%40p:hunter%2F2@db:3307/my%20shop?ssl-mode=disabled&charset=utf8mb4",
        );
        let place = place.unwrap();
        assert_eq!(place.to_string(), "mysql://db:3307/my shop");
        assert!(!format!("{place:?}").contains("hunter"), "{place:?}");
        let options = Opts::from(place.options());
        assert_eq!((options.user(), options.pass()), (Some("sh@p"), Some("hunter/2")));
        assert_eq!((options.ip_or_hostname(), options.tcp_port()), ("db", 3307));
        assert_eq!((place.database(), place.user().as_str()), ("my shop", "sh@p"));
        assert_eq!(
            Opts::from(BinlogPlace::new("mysql://a@[::1]/b").unwrap().options()).ip_or_hostname(),
            "::1"
        );
    }

    #[test]
    fn what_is_refused_is_not_repeated() {
        for bad in [
            "hunter2",
            "redis://hunter2@db/0",
            "mysql://app:hunter2@db",
            "mysql://app:hunter2@db:x/shop",
            "sqlite://hunter2.db",
            "mysql://db/shop?ssl-mode=hunter2",
        ] {
            let why = BinlogPlace::new(bad).unwrap_err().to_string();
            assert!(!why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn server_ids_are_drawn_from_the_upper_half_and_may_be_set() {
        let place = BinlogPlace::new("mysql://a@b/c").unwrap();
        let other = BinlogPlace::new("mysql://a@b/c").unwrap();
        assert!(place.server_id() >= 1 << 31 && place.server_id() != other.server_id());
        assert_eq!(place.clone().with_server_id(7).unwrap().server_id(), 7);
        assert!(place.with_server_id(0).is_err());
    }
}
