use std::{fmt, str::FromStr};

use claimstream_domain::Invalid;
use url::{Host, Url};

/// An SMTP server and how it is spoken to.
///
/// | URL | port unless given | |
/// |---|---|---|
/// | `smtp://host` | 25 | in the clear |
/// | `smtp://host?tls=required` | 587 | in the clear until STARTTLS, and not at all without it |
/// | `smtps://host` | 465 | encrypted from the start |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SmtpServer {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
}

/// How a connection is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Security {
    Plain,
    StartTls,
    Tls,
}

impl SmtpServer {
    /// Refuses encryption in a build that cannot speak it.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.security != Security::Plain && !cfg!(feature = "tls") {
            return Err(Invalid::Contradiction(format!(
                "{self} needs the feature tls of claimstream-channels"
            )));
        }
        Ok(())
    }

    /// Whether a password sent there could be read on the way.
    pub(super) fn exposes_passwords(&self) -> bool {
        let nearby =
            self.host == "localhost" || self.host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        self.security == Security::Plain && !nearby
    }
}

impl FromStr for SmtpServer {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let url: Url = text.trim().parse().map_err(|e| malformed(format!("{e}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(malformed("it bears a user; name user and password in the credentials".into()));
        }
        let security = security(&url)?;
        let usual = match security {
            Security::Plain => 25,
            Security::StartTls => 587,
            Security::Tls => 465,
        };
        Ok(Self { host: host(&url)?, port: url.port().unwrap_or(usual), security })
    }
}

impl fmt::Display for SmtpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.security == Security::Tls { "smtps" } else { "smtp" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

fn security(url: &Url) -> Result<Security, Invalid> {
    match (url.scheme(), url.query()) {
        ("smtp", None) => Ok(Security::Plain),
        ("smtp", Some("tls=required")) => Ok(Security::StartTls),
        ("smtps", None) => Ok(Security::Tls),
        _ => Err(malformed("write smtp://host, smtp://host?tls=required or smtps://host".into())),
    }
}

fn host(url: &Url) -> Result<String, Invalid> {
    match url.host() {
        Some(Host::Ipv6(ip)) => Ok(ip.to_string()),
        Some(host) => Ok(host.to_string()),
        None => Err(malformed("it names no host".into())),
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "SMTP URL", why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_says_how_the_server_is_spoken_to() {
        let read = |text: &str| text.parse::<SmtpServer>().map(|s| (s.host, s.port, s.security)).unwrap();
        assert_eq!(read("smtp://mail.example.com"), ("mail.example.com".into(), 25, Security::Plain));
        assert_eq!(read("smtp://mail:2525?tls=required"), ("mail".into(), 2525, Security::StartTls));
        assert_eq!(read("smtp://mail?tls=required").1, 587);
        assert_eq!(read("smtps://[::1]"), ("::1".into(), 465, Security::Tls));
    }

    #[test]
    fn refuses_what_it_would_misunderstand_and_never_repeats_a_password() {
        for text in [
            "mail.example.com",
            "http://mail",
            "smtp://",
            "smtp://mail?tls=opportunistic",
            "smtps://mail?tls=no",
        ] {
            assert!(text.parse::<SmtpServer>().is_err(), "{text}");
        }
        let refused = "smtp://ann:hunter2@mail".parse::<SmtpServer>().unwrap_err().to_string();
        assert!(refused.contains("credentials") && !refused.contains("hunter2"), "{refused}");
    }

    #[test]
    fn a_password_may_travel_in_the_clear_on_the_same_machine_only() {
        let exposes = |text: &str| text.parse::<SmtpServer>().unwrap().exposes_passwords();
        assert!(exposes("smtp://mail") && exposes("smtp://10.0.0.1"));
        assert!(!exposes("smtp://localhost") && !exposes("smtp://127.0.0.1") && !exposes("smtp://[::1]"));
        assert!(!exposes("smtp://mail?tls=required") && !exposes("smtps://mail"));
    }
}
