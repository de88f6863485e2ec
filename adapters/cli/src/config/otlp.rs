use url::Url;

use super::{contradiction::Contradiction, setting::Setting};
use crate::not_built::not_built;

/// Where the process sends spans and metrics by OTLP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Otlp {
    /// The address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; nothing is sent by default.
    pub endpoint: Option<String>,
    /// How many of a hundred traces that begin here are sent; all by default. A trace that begins elsewhere is sent if its beginner says so.
    pub sample_percent: u32,
    /// The name of this service in traces; `claimstream` by default.
    pub service_name: String,
}

impl Otlp {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("otlp.endpoint", &mut self.endpoint);
        visit("otlp.sample_percent", &mut self.sample_percent);
        visit("otlp.service_name", &mut self.service_name);
    }

    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        if self.endpoint.is_some() && !cfg!(feature = "otlp") {
            found.push(("otlp.endpoint".into(), not_built("OpenTelemetry", "otlp")));
        }
        if self.endpoint.as_ref().is_some_and(|endpoint| !is_plain(endpoint)) {
            let why = "name a collector as http://host:port, such as http://127.0.0.1:4318; one that needs TLS or a token is \
                       reached through a collector next to this process";
            found.push(("otlp.endpoint".into(), why.into()));
        }
        if self.sample_percent > 100 {
            found.push(("otlp.sample_percent".into(), "set it to a number from 0 to 100".into()));
        }
        if self.service_name.trim().is_empty() {
            found.push(("otlp.service_name".into(), "set it to a name such as \"claimstream\"".into()));
        }
        found
    }
}

impl Default for Otlp {
    fn default() -> Self {
        Self { endpoint: None, sample_percent: 100, service_name: "claimstream".into() }
    }
}

/// Whether it is a URL without TLS, user, password, query and fragment.
fn is_plain(endpoint: &str) -> bool {
    Url::parse(endpoint).is_ok_and(|url| {
        let has_more = url.query().is_some() || url.fragment().is_some() || url.password().is_some();
        url.scheme() == "http" && url.has_host() && url.username().is_empty() && !has_more
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_plain_address() {
        for good in ["http://127.0.0.1:4318", "http://collector:4318/", "http://collector/otlp"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in [
            "",
            "collector:4318",
            "https://collector:4318",
            "http://a:b@collector",
            "http://c/?x=1",
            "grpc://c",
        ] {
            let otlp = Otlp { endpoint: Some(bad.into()), ..Otlp::default() };
            assert_eq!(otlp.contradictions().len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_share_is_at_most_all() {
        let of = |sample_percent| Otlp { sample_percent, ..Otlp::default() }.contradictions().len();
        assert_eq!([of(0), of(100), of(101)], [0, 0, 1]);
    }
}
