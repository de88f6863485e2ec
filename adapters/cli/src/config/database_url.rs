use std::{fmt, path::PathBuf};

use claimstream_sea_orm::ServerAddresses;
use percent_encoding::percent_decode_str;
use url::{Position, Url, form_urlencoded};

use super::{
    secret::Secret,
    setting::{ConfigValue, quoted},
};

/// Where the database is; its password is shown as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Location);

#[derive(Clone, PartialEq, Eq)]
enum Location {
    /// SQLite, as it was written; such a URL bears no secret.
    File(String),
    /// MySQL or MariaDB.
    Server(Box<Servers>),
}

/// The first server, and the addresses of the others.
#[derive(Clone, PartialEq, Eq)]
struct Servers {
    first: Url,
    /// All addresses, if there are several.
    several: Vec<String>,
    /// The URL with all of them.
    whole: String,
}

impl DatabaseUrl {
    /// Takes a URL; the sentence that refuses one does not repeat it, because it may bear a password.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let server = text.strip_prefix("mysql://").or_else(|| text.strip_prefix("mariadb://"));
        match server {
            Some(rest) => Servers::read(rest).map(|servers| Self(Location::Server(Box::new(servers)))),
            None if text.starts_with("sqlite:") => Ok(Self(Location::File(text.to_owned()))),
            None => Err(format!("{}; {FORMS}", scheme(text))),
        }
    }

    /// Whether it is an SQLite database.
    pub fn is_sqlite(&self) -> bool {
        matches!(self.0, Location::File(_))
    }

    /// Whether it names several servers.
    pub(crate) fn has_several_servers(&self) -> bool {
        matches!(&self.0, Location::Server(servers) if !servers.several.is_empty())
    }

    /// The same place with another password.
    pub fn with_password(self, password: &Secret) -> Result<Self, String> {
        match self.0 {
            Location::File(_) => Err("an SQLite database has no password".into()),
            Location::Server(servers) => match servers.with_password(password) {
                Ok(servers) => Ok(Self(Location::Server(Box::new(servers)))),
                Err(()) => Err("a URL without a host takes no password".into()),
            },
        }
    }

    /// The file of an SQLite database that is kept in one, by the name that the driver understands.
    pub fn file(&self) -> Option<PathBuf> {
        let Location::File(text) = &self.0 else { return None };
        let place = text.trim_start_matches("sqlite://").trim_start_matches("sqlite:");
        let (path, parameters) = place.split_once('?').unwrap_or((place, ""));
        if path.is_empty() || path == ":memory:" || parameters.contains("mode=memory") {
            return None;
        }
        // The driver refuses a name that is not UTF-8.
        let path = percent_decode_str(path).decode_utf8().ok()?;
        Some(path.into_owned().into())
    }

    /// Which database it is, whatever user and parameters the URL has.
    pub(crate) fn place(&self) -> String {
        match &self.0 {
            Location::File(text) => {
                self.file().map_or_else(|| text.clone(), |path| path.display().to_string())
            }
            Location::Server(servers) => servers.place(),
        }
    }

    /// The database's name on its server, whatever addresses and user the URL has.
    pub(crate) fn database(&self) -> Option<String> {
        let Location::Server(servers) = &self.0 else { return None };
        let name = percent_decode_str(servers.first.path().trim_start_matches('/'));
        Some(name.decode_utf8_lossy().into_owned())
    }

    /// The whole URL, password included.
    pub(crate) fn reveal(&self) -> &str {
        match &self.0 {
            Location::File(text) => text,
            Location::Server(servers) => &servers.whole,
        }
    }
}

impl Servers {
    /// All addresses and the database.
    fn place(&self) -> String {
        let url = &self.first;
        let addresses = match &self.several[..] {
            [] => format!("{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(3306)),
            several => several.join(","),
        };
        format!("{addresses}{}", url.path())
    }

    fn read(rest: &str) -> Result<Self, String> {
        let addresses = ServerAddresses::of_url(&format!("mysql://{rest}"))?;
        let several = addresses.several().to_vec();
        let first = addresses.urls().next().unwrap_or_default();
        let first = server_url(&first)?;
        Ok(Self { whole: whole(&first, &several), several, first })
    }

    fn with_password(mut self, password: &Secret) -> Result<Self, ()> {
        self.first.set_password(Some(password.reveal()))?;
        Ok(Self { whole: whole(&self.first, &self.several), ..self })
    }

    fn redacted(&self) -> String {
        redacted(&self.first, &self.several)
    }
}

/// The URL of the first server with the addresses of all.
fn whole(first: &Url, several: &[String]) -> String {
    match several {
        [] => first.as_str().to_owned(),
        several => {
            let (before, after) = (&first[..Position::BeforeHost], &first[Position::AfterPort..]);
            format!("{before}{}{after}", several.join(","))
        }
    }
}

const FORMS: &str = "write mysql://user:password@host:3306/database, mysql://user@host1,host2/database, mariadb://... or sqlite://file.db";

/// Parameters whose values are no secret; see the driver's documentation.
const OPEN_PARAMETERS: [&str; 8] = [
    "ssl-mode",
    "sslmode",
    "charset",
    "collation",
    "socket",
    "timezone",
    "time-zone",
    "statement-cache-capacity",
];

/// The driver knows the scheme `mysql` only, and speaks to both servers.
fn server_url(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|e| format!("{e}; {FORMS}, and {ESCAPE}"))?;
    let database = url.path().trim_start_matches('/');
    if database.contains(['@', '/']) || url.fragment().is_some() {
        return Err(format!("the URL is ambiguous; {ESCAPE}"));
    }
    if database.is_empty() {
        return Err(format!("the URL names no database; {FORMS}"));
    }
    Ok(url)
}

const ESCAPE: &str =
    "write special characters of the password percent-encoded, or give it as database.password";

/// The scheme of a URL that names no known database, if it can be nothing else.
fn scheme(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, _)) if !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            format!("{scheme}:// is not supported")
        }
        _ => "the URL has no scheme".into(),
    }
}

impl ConfigValue for DatabaseUrl {
    fn read(text: &str) -> Result<Self, String> {
        Self::new(text)
    }

    fn write(&self) -> String {
        quoted(&self.to_string())
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::File(text) => f.write_str(text),
            Location::Server(servers) => f.write_str(&servers.redacted()),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn redacted(url: &Url, several: &[String]) -> String {
    let password = if url.password().is_some() { ":***" } else { "" };
    let user =
        if url.username().is_empty() { String::new() } else { format!("{}{password}@", url.username()) };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let parameters: Vec<String> =
        url.query().unwrap_or_default().split('&').filter(|one| !one.is_empty()).map(shown).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    let host = match several {
        [] => format!("{}{port}", url.host_str().unwrap_or_default()),
        several => several.join(","),
    };
    format!("{}://{user}{host}{}{parameters}", url.scheme(), url.path())
}

/// A parameter of a URL as it was written, without a value that may be secret.
fn shown(parameter: &str) -> String {
    let (name, _) = parameter.split_once('=').unwrap_or((parameter, ""));
    let mut read = form_urlencoded::parse(name.as_bytes());
    match read.next().is_some_and(|(name, _)| OPEN_PARAMETERS.contains(&&*name)) {
        true => parameter.to_owned(),
        false => format!("{name}=***"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_everything_but_the_password() {
        let url = DatabaseUrl::new("mariadb://app:hunter2@db:3307/shop?ssl-mode=REQUIRED&x=hunter2").unwrap();
        assert_eq!(url.to_string(), "mysql://app:***@db:3307/shop?ssl-mode=REQUIRED&x=***");
        assert_eq!(format!("{url:?}"), url.to_string());
        assert!(url.reveal().starts_with("mysql://app:hunter2@"));
        for url in ["mysql://db/shop", "mysql://db/shop?charset=%26x%3D%23&socket=%2Ftmp%2Fs"] {
            assert_eq!(DatabaseUrl::new(url).unwrap().to_string(), url);
        }
    }

    #[test]
    fn a_database_has_one_name_at_all_addresses() {
        let name = |text: &str| DatabaseUrl::new(text).unwrap().database();
        for url in ["mysql://app@one/my%20shop?charset=utf8", "mariadb://one:3307,two/my%20shop"] {
            assert_eq!(name(url).as_deref(), Some("my shop"), "{url}");
        }
        assert_eq!(name("sqlite://x.db"), None);
    }

    #[test]
    fn takes_a_password_with_any_characters() {
        let url = DatabaseUrl::new("mysql://app@db/shop").unwrap();
        let with = url.with_password(&Secret::new("a@b/c#d?e:%")).unwrap();
        let parsed: Url = with.reveal().parse().unwrap();
        assert_eq!((parsed.host_str(), parsed.path(), parsed.fragment()), (Some("db"), "/shop", None));
        assert!(!with.to_string().contains("b/c"));
        let file = DatabaseUrl::new("sqlite://x.db").unwrap();
        assert!(file.with_password(&Secret::new("p")).is_err());
    }

    #[test]
    fn names_several_servers() {
        let url =
            DatabaseUrl::new("mysql://app:hun,ter2@db1:3306,DB2,[::1]:3307/shop?ssl-mode=REQUIRED").unwrap();
        assert_eq!(url.to_string(), "mysql://app:***@db1:3306,DB2,[::1]:3307/shop?ssl-mode=REQUIRED");
        assert_eq!(url.reveal(), "mysql://app:hun,ter2@db1:3306,DB2,[::1]:3307/shop?ssl-mode=REQUIRED");
        let with =
            DatabaseUrl::new("mysql://app@db1,db2/shop").unwrap().with_password(&Secret::new("a@b/c,d"));
        assert_eq!(with.unwrap().reveal(), "mysql://app:a%40b%2Fc,d@db1,db2/shop");
        for url in
            ["mysql://db1,db2/shop", "mysql://app:a@[0::1]:3306,db2/shop", "mysql://app@db1:03306,db2/shop"]
        {
            assert_eq!(DatabaseUrl::new(url).unwrap().reveal(), url);
        }
        let why = DatabaseUrl::new("mysql://app:hunter2@db1,db1/shop").unwrap_err();
        assert!(why.contains("twice") && !why.contains("hunter2"), "{why}");
    }

    #[test]
    fn refuses_what_no_driver_takes_and_repeats_none_of_it() {
        for bad in [
            "mysql://app:hunter2@db",
            "mysql://app:hunter2@db:x/shop",
            "mysql://app:12/hunter2@db/shop",
            "mysql://app:12#hunter2@db/shop",
            "postgres://app:hunter2@db/shop",
            "app:hunter2@db/shop",
            "hunter2",
            "",
        ] {
            let why = DatabaseUrl::new(bad).unwrap_err();
            assert!(!why.contains("hunter2") && why.contains("write "), "{why}");
        }
        let why = DatabaseUrl::new("mysql://app:12/hunter2@db/shop").unwrap_err();
        assert_eq!(why, format!("the URL is ambiguous; {ESCAPE}"));
        assert!(why.contains("ambiguous; write special characters"), "{why}");
    }

    #[test]
    fn knows_the_file_of_an_sqlite_database() {
        let file = |text| DatabaseUrl::new(text).unwrap().file();
        assert_eq!(file("sqlite://data/x.db?mode=rwc"), Some("data/x.db".into()));
        assert_eq!(file("sqlite:///var/x.db"), Some("/var/x.db".into()));
        assert_eq!(file("sqlite:x.db"), Some("x.db".into()));
        assert_eq!(file("sqlite://my%20shop/100%25%3F.db?mode=rwc"), Some("my shop/100%?.db".into()));
        assert_eq!(file("sqlite://mode=memory.db"), Some("mode=memory.db".into()));
        assert_eq!(file("sqlite::memory:"), None);
        assert_eq!(file("sqlite://x?mode=memory"), None);
        assert_eq!(file("mysql://db/shop"), None);
    }
}
