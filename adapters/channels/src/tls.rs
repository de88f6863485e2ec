use std::sync::Arc;

use rustls::{ClientConfig, Error, RootCertStore, crypto::ring};
use rustls_platform_verifier::Verifier;

/// TLS on ring, with the certificates that the system trusts.
///
/// The provider is named here rather than installed for the whole process, which belongs to the application. A system
/// without any certificate, as in a bare container, refuses every encrypted connection and serves all others.
pub(crate) fn client_config() -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match Verifier::new(provider) {
        Ok(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)),
        Err(error) => {
            tracing::warn!(%error, "channels.tls.untrusting");
            builder.with_root_certificates(RootCertStore::empty())
        }
    };
    Ok(builder.with_no_client_auth())
}
