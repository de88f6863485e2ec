use std::{fs, path::PathBuf};

use claimstream_domain::Invalid;
use claimstream_ports::notification::DeliveryError;
use reqwest::{RequestBuilder, header::HeaderValue};

use crate::Secret;

/// How a gateway knows who calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GatewayAuth {
    /// The gateway needs no credentials, or the templates write them.
    #[default]
    None,
    /// A user and a password.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token, as `Authorization: Bearer`.
    Bearer(Secret),
    /// A token that is read from its file for each request, because another program renews it.
    BearerFile(PathBuf),
    /// A header of the gateway's own.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
}

impl GatewayAuth {
    /// Refuses a token that no header can hold, such as one with a line break.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let secret = match self {
            Self::Bearer(secret) | Self::Header { value: secret, .. } => secret,
            Self::None | Self::Basic { .. } | Self::BearerFile(_) => return Ok(()),
        };
        match is_header_value(secret.reveal()) {
            true => Ok(()),
            false => Err(Invalid::Malformed {
                what: "secret of a gateway",
                why: "it has a line break, or another character that no header can hold".into(),
            }),
        }
    }

    /// Adds it to a request. While the token's file cannot be read, the provider is as good as down.
    pub(super) fn apply(&self, request: RequestBuilder) -> Result<RequestBuilder, DeliveryError> {
        Ok(match self {
            Self::None => request,
            Self::Basic { user, password } => request.basic_auth(user, Some(password.reveal())),
            Self::Bearer(token) => request.bearer_auth(token.reveal()),
            Self::BearerFile(path) => match fs::read_to_string(path) {
                Ok(token) if is_header_value(token.trim()) => request.bearer_auth(token.trim()),
                Ok(_) => {
                    let why = format!("the token file {} holds more than a token", path.display());
                    return Err(DeliveryError::down(why));
                }
                Err(e) => {
                    let why = format!("the token file {} cannot be read: {e}", path.display());
                    return Err(DeliveryError::down(why));
                }
            },
            Self::Header { name, value } => request.header(name, value.reveal()),
        })
    }
}

fn is_header_value(text: &str) -> bool {
    HeaderValue::from_str(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::GatewayConfig;

    #[test]
    fn a_token_that_no_header_can_hold_is_refused_before_any_message() {
        let with = |auth| GatewayConfig { auth, ..GatewayConfig::post_json("http://localhost/", "{}") };
        let value = || Secret::new("two\nlines");
        let header = GatewayAuth::Header { name: "x-key".into(), value: value() };
        for auth in [GatewayAuth::Bearer(value()), header] {
            let refused = with(auth).check().unwrap_err().to_string();
            assert!(refused.contains("line break") && !refused.contains("two"), "{refused}");
        }
        assert_eq!(with(GatewayAuth::Bearer(Secret::new("t0ken"))).check(), Ok(()));
    }
}
