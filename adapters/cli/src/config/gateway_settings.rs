use super::setting::{ConfigValue, Setting, quoted, word};

/// What the provider `gateway` sends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GatewaySettings {
    /// The method; POST by default.
    pub method: Option<String>,
    /// The template of the URL.
    pub url: Option<String>,
    /// The headers, a line each, `Name: template`; `Content-Type: application/json` by default.
    pub headers: Option<String>,
    /// The template of the body.
    pub body: Option<String>,
    /// How the gateway knows who calls; it does not by default.
    pub auth: Option<AuthChoice>,
    /// The header that bears the secret if `auth` says so.
    pub auth_header: Option<String>,
    /// The JSON pointer to the provider's name for a delivery.
    pub reference: Option<String>,
}

/// How a gateway knows who calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthChoice {
    /// By `user` and `password`.
    Basic,
    /// By `secret`, as a bearer token; a file is read for each request.
    Bearer,
    /// By `secret`, in the header that `auth_header` names.
    Header,
}

impl GatewaySettings {
    pub(super) fn over(self, other: Self) -> Self {
        Self {
            method: self.method.or(other.method),
            url: self.url.or(other.url),
            headers: self.headers.or(other.headers),
            body: self.body.or(other.body),
            auth: self.auth.or(other.auth),
            auth_header: self.auth_header.or(other.auth_header),
            reference: self.reference.or(other.reference),
        }
    }

    pub(super) fn each(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let key = |name: &str| format!("{section}.{name}");
        visit(&key("request_method"), &mut self.method);
        visit(&key("request_url"), &mut self.url);
        visit(&key("request_headers"), &mut self.headers);
        visit(&key("request_body"), &mut self.body);
        visit(&key("auth"), &mut self.auth);
        visit(&key("auth_header"), &mut self.auth_header);
        visit(&key("reference"), &mut self.reference);
    }

    pub(super) fn contradiction(&self) -> Option<(&'static str, String)> {
        if self.url.is_none() {
            let why = "a gateway needs a URL such as https://api.example.com/messages".into();
            return Some(("request_url", why));
        }
        if self.auth == Some(AuthChoice::Header) && self.auth_header.is_none() {
            return Some(("auth_header", "auth = \"header\" needs the name of the header".into()));
        }
        self.header_lines().err().map(|why| ("request_headers", why))
    }

    /// The headers and the templates of their values. Without a content type the body is JSON, and escaped as such.
    pub(crate) fn header_lines(&self) -> Result<Vec<(String, String)>, String> {
        let lines = self
            .headers
            .as_deref()
            .unwrap_or_default()
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let split = |line: &str| match line.split_once(':') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("{line:?} is no header; write a line like Content-Type: application/json")),
        };
        let mut headers = lines.map(split).collect::<Result<Vec<_>, _>>()?;
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("Content-Type".into(), "application/json".into()));
        }
        Ok(headers)
    }
}

impl ConfigValue for AuthChoice {
    fn read(text: &str) -> Result<Self, String> {
        word(text, &[("basic", Self::Basic), ("bearer", Self::Bearer), ("header", Self::Header)])
    }

    fn write(&self) -> String {
        quoted(match self {
            Self::Basic => "basic",
            Self::Bearer => "bearer",
            Self::Header => "header",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_unless_a_header_says_more() {
        let headers = |text: Option<&str>| {
            let settings = GatewaySettings { headers: text.map(str::to_owned), ..GatewaySettings::default() };
            settings.header_lines().unwrap()
        };
        let json = ("Content-Type".to_owned(), "application/json".to_owned());
        assert_eq!(headers(None), std::slice::from_ref(&json));
        assert_eq!(headers(Some("X-Account: 7")), [("X-Account".to_owned(), "7".to_owned()), json]);
        assert_eq!(headers(Some("content-type: text/plain")).len(), 1);
    }

    #[test]
    fn what_is_no_header_is_refused_with_the_right_form() {
        let url = Some("https://api.example.com".to_owned());
        let why = |settings: GatewaySettings| settings.contradiction().map(|(key, _)| key);
        let with = || GatewaySettings { url: url.clone(), ..GatewaySettings::default() };
        assert_eq!(why(GatewaySettings::default()), Some("request_url"));
        assert_eq!(why(with()), None);
        assert_eq!(
            why(GatewaySettings { headers: Some("nothing".into()), ..with() }),
            Some("request_headers")
        );
        assert_eq!(why(GatewaySettings { auth: Some(AuthChoice::Header), ..with() }), Some("auth_header"));
    }
}
