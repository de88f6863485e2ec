use mysql_async::OptsBuilder;
#[cfg(feature = "tls")]
use mysql_async::{ClientIdentity, SslOpts};
use url::Url;

/// How the connection is encrypted, in the words of the outbox's driver.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Encryption {
    pub(crate) mode: Mode,
    #[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "certificates are not read without TLS"))]
    files: Files,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Never.
    Disabled,
    /// If the server offers it, and it is not checked who the server is.
    Preferred,
    /// Always, and it is not checked who the server is.
    Required,
    /// Always, with a certificate by an authority that is known.
    VerifyCa,
    /// The same, and the certificate bears the server's name.
    VerifyIdentity,
}

/// Paths of files in PEM.
#[derive(Clone, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "certificates are not read without TLS"))]
struct Files {
    authority: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl Encryption {
    /// What a URL says of it, or what it should not say; it is preferred by default.
    pub(crate) fn of(url: &Url) -> Result<Self, &'static str> {
        let (mut mode, mut files) = (Mode::Preferred, Files::default());
        for (name, value) in url.query_pairs() {
            match &*name {
                "ssl-mode" | "sslmode" => mode = Mode::read(&value)?,
                "ssl-ca" | "sslca" => files.authority = Some(value.into_owned()),
                "ssl-cert" | "sslcert" => files.certificate = Some(value.into_owned()),
                "ssl-key" | "sslkey" => files.key = Some(value.into_owned()),
                _ => {}
            }
        }
        match mode {
            Mode::Disabled | Mode::Preferred => Ok(Self { mode, files }),
            _ if cfg!(feature = "tls") => Ok(Self { mode, files }),
            _ => Err("a URL with TLS, which this program is built without"),
        }
    }

    /// The options with encryption, or without it where it is not wanted or not built in.
    #[cfg(feature = "tls")]
    pub(crate) fn encrypted(&self, options: OptsBuilder) -> OptsBuilder {
        if self.mode == Mode::Disabled {
            return options;
        }
        let Files { authority, certificate, key } = self.files.clone();
        let path = |path: String| std::path::PathBuf::from(path).into();
        let identity = certificate.zip(key).map(|(cert, key)| ClientIdentity::new(path(cert), path(key)));
        let checks = matches!(self.mode, Mode::VerifyCa | Mode::VerifyIdentity);
        let tls = SslOpts::default()
            .with_root_certs(authority.into_iter().map(path).collect())
            .with_client_identity(identity)
            .with_danger_accept_invalid_certs(!checks)
            .with_danger_skip_domain_validation(self.mode != Mode::VerifyIdentity);
        options.ssl_opts(tls)
    }

    /// The options as they are: TLS is not built in.
    #[cfg(not(feature = "tls"))]
    pub(crate) fn encrypted(&self, options: OptsBuilder) -> OptsBuilder {
        options
    }
}

impl Mode {
    fn read(text: &str) -> Result<Self, &'static str> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "disabled" => Self::Disabled,
            "preferred" => Self::Preferred,
            "required" => Self::Required,
            "verify_ca" => Self::VerifyCa,
            "verify_identity" => Self::VerifyIdentity,
            _ => {
                return Err(
                    "an ssl-mode other than disabled, preferred, required, verify_ca or verify_identity",
                );
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use mysql_async::Opts;

    use super::*;

    fn of(url: &str) -> Result<Encryption, &'static str> {
        Encryption::of(&url.parse().unwrap())
    }

    #[test]
    fn is_preferred_unless_the_url_says_something_else() {
        assert!(of("mysql://a@b/c").unwrap().mode == Mode::Preferred);
        assert!(of("mysql://a@b/c?ssl-mode=DISABLED").unwrap().mode == Mode::Disabled);
        assert!(of("mysql://a@b/c?sslmode=sometimes").is_err());
        assert_eq!(of("mysql://a@b/c?ssl-mode=required").is_ok(), cfg!(feature = "tls"));
    }

    #[cfg(feature = "tls")]
    #[test]
    fn checks_as_much_as_the_mode_says() {
        let options = |url: &str| Opts::from(of(url).unwrap().encrypted(OptsBuilder::default()));
        assert!(options("mysql://a@b/c?ssl-mode=disabled").ssl_opts().is_none());
        let checks = |url: &str| {
            let options = options(url);
            let tls = options.ssl_opts().unwrap();
            (!tls.accept_invalid_certs(), !tls.skip_domain_validation(), tls.root_certs().len())
        };
        assert_eq!(checks("mysql://a@b/c"), (false, false, 0));
        assert_eq!(checks("mysql://a@b/c?ssl-mode=required"), (false, false, 0));
        assert_eq!(checks("mysql://a@b/c?ssl-mode=verify_ca&ssl-ca=/x.pem"), (true, false, 1));
        assert_eq!(checks("mysql://a@b/c?ssl-mode=verify_identity"), (true, true, 0));
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn without_tls_nothing_is_encrypted() {
        assert!(
            Opts::from(of("mysql://a@b/c").unwrap().encrypted(OptsBuilder::default())).ssl_opts().is_none()
        );
    }
}
