use std::{fmt, str::FromStr};

use claimstream_domain::Invalid;
use reqwest::Url;

/// An `http` or `https` URL to post to.
///
/// It is shown as its scheme, host and port alone: the rest of a webhook's URL is often its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Refuses `https` in a build that cannot speak it.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if self.0.scheme() == "https" && !cfg!(feature = "tls") {
            return Err(Invalid::Contradiction(format!(
                "{self} needs the feature tls of claimstream-channels"
            )));
        }
        Ok(())
    }
}

impl FromStr for Endpoint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed = |why: String| Invalid::Malformed { what: "webhook URL", why };
        let url: Url = text.trim().parse().map_err(|e| malformed(format!("{e}")))?;
        match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            other => Err(malformed(format!("its scheme is {other:?}, use http or https"))),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        self.0.port().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self}/***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_its_host_and_nothing_secret() {
        let endpoint: Endpoint = "https://user:pass@hooks.example.com:8443/T0/key?token=1#x".parse().unwrap();
        assert_eq!(endpoint.to_string(), "https://hooks.example.com:8443");
        assert_eq!(format!("{endpoint:?}"), "Endpoint(https://hooks.example.com:8443/***)");
    }

    #[test]
    fn refuses_what_cannot_be_posted_to() {
        let refused = |text: &str| text.parse::<Endpoint>().unwrap_err().to_string();
        assert!(refused("ftp://example.com/secret").contains("use http or https"));
        for text in ["", "example.com/x", "http://", "http://:80/"] {
            assert!(refused(text).starts_with("webhook URL is not valid"), "{text}");
        }
    }
}
