//! Whose certificates are believed, by every client that goes out.

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_rustls::TlsConnector;

/// Whose certificates are believed.
#[derive(Clone)]
pub struct TlsTrust(Arc<ClientConfig>);

impl fmt::Debug for TlsTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl TlsTrust {
    /// Those that browsers believe too, or only those that some file in PEM names.
    pub fn new(pem: Option<&[u8]>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match pem {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let certificate = certificate.map_err(|_| "not certificates in PEM".to_owned())?;
                    roots.add(certificate).map_err(|_| "has a certificate that is none".to_owned())?;
                }
                if roots.is_empty() {
                    return Err("has no certificate".to_owned());
                }
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }

    pub(crate) fn connector(&self) -> TlsConnector {
        TlsConnector::from(self.0.clone())
    }

    /// For a client that has to agree on what is spoken within TLS.
    pub(crate) fn connector_for(&self, protocols: &[&[u8]]) -> TlsConnector {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read() {
        assert!(TlsTrust::new(Some(b"")).is_err_and(|why| why == "has no certificate"));
        assert!(
            TlsTrust::new(Some(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")).is_err()
        );
    }
}
