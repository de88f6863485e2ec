use std::{fs, path::PathBuf};

use claimstream_ports::notification::DeliveryError;
use reqwest::RequestBuilder;

use crate::Secret;

/// How a gateway knows who calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GatewayAuth {
    /// It asks nobody, or the templates say it.
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
    /// Adds it to a request. While the token's file cannot be read, the provider is as good as down.
    pub(super) fn apply(&self, request: RequestBuilder) -> Result<RequestBuilder, DeliveryError> {
        Ok(match self {
            Self::None => request,
            Self::Basic { user, password } => request.basic_auth(user, Some(password.reveal())),
            Self::Bearer(token) => request.bearer_auth(token.reveal()),
            Self::BearerFile(path) => match fs::read_to_string(path) {
                Ok(token) => request.bearer_auth(token.trim()),
                Err(e) => {
                    let why = format!("the token file {} cannot be read: {e}", path.display());
                    return Err(DeliveryError::down(why));
                }
            },
            Self::Header { name, value } => request.header(name, value.reveal()),
        })
    }
}
