//! Whom this service trusts where it is the one who calls.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::SetupError;

/// TLS with those for whom some authorities vouch, or those whom the machine trusts.
pub(crate) fn tls_connector(authorities: Option<&[u8]>) -> Result<TlsConnector, SetupError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(SetupError::TrustsNobody);
            }
        }
        Some(text) => {
            for certificate in CertificateDer::pem_slice_iter(text) {
                let certificate = certificate.map_err(|error| SetupError::Authority(error.to_string()))?;
                let added = roots.add(certificate);
                added.map_err(|error| SetupError::Authority(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(SetupError::NoAuthority);
            }
        }
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
