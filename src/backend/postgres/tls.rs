//! TLS as a target's `sslmode` demands it, for the measured and for the control connection alike.
//!
//! The provider (ring) is named explicitly, so nothing depends on, or changes, a process-wide default. One difference
//! from libpq: with `prefer`, a handshake that fails is an error and not a reason to go on in the clear.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::PgError;
use super::target::{Host, RootCert, SslMode, Target};

/// What to do about TLS when a connection is made.
#[derive(Debug, Clone)]
pub enum TlsPolicy {
    /// Do not ask for it.
    Never,
    /// Ask for it, and go on without it where the server has none.
    IfOffered(Arc<ClientConfig>),
    /// Ask for it, and fail where the server has none.
    Always(Arc<ClientConfig>),
}

impl TlsPolicy {
    /// The policy that `target` demands. Unix sockets never use TLS.
    ///
    /// # Errors
    ///
    /// [`PgError::Tls`] where the root certificates cannot be read.
    pub fn of(target: &Target) -> Result<Self, PgError> {
        if matches!(target.host, Host::Socket(_)) {
            return Ok(Self::Never);
        }
        let check = match (target.sslmode, &target.sslrootcert) {
            (SslMode::Disable, _) => return Ok(Self::Never),
            (SslMode::Prefer, _) | (SslMode::Require, None) => Check::Nothing,
            (SslMode::Require, Some(_)) | (SslMode::VerifyCa, _) => Check::Chain,
            (SslMode::VerifyFull, _) => Check::ChainAndName,
        };
        let config = client_config(check, target)
            .map(Arc::new)
            .map_err(|reason| PgError::Tls {
                address: target.address(),
                reason,
            })?;
        Ok(if target.sslmode == SslMode::Prefer {
            Self::IfOffered(config)
        } else {
            Self::Always(config)
        })
    }
}

/// What of a server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Nothing,
    Chain,
    ChainAndName,
}

fn client_config(check: Check, target: &Target) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier::new(check, target.sslrootcert.as_ref(), &provider)?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// Checks a server's certificate as far as the target demands. The handshake's signature is always checked.
#[derive(Debug)]
struct Verifier {
    check: Check,
    roots: RootCertStore,
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(check: Check, root: Option<&RootCert>, provider: &CryptoProvider) -> Result<Self, String> {
        let trusted = match (check, root) {
            (Check::Nothing, _) => Vec::new(),
            (_, Some(RootCert::File(path))) => certificates_in(path)?,
            (_, Some(RootCert::System) | None) => system_certificates()?,
        };
        let mut roots = RootCertStore::empty();
        let (usable, _) = roots.add_parsable_certificates(trusted.iter().cloned());
        if check != Check::Nothing && usable == 0 {
            return Err("none of the root certificates can be used; name a PEM file with sslrootcert".to_owned());
        }
        Ok(Self {
            check,
            roots,
            trusted,
            algorithms: provider.signature_verification_algorithms,
        })
    }

    fn verify_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        match verify_server_cert_signed_by_trust_anchor(parsed, &self.roots, intermediates, now, self.algorithms.all) {
            // A self-signed certificate with the CA flag, as `openssl req -x509` makes it, is refused as a server's
            // even where it is itself the trusted root. libpq takes it. Its dates have been checked at this point.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if self.trusted.iter().any(|root| root == end_entity) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.check != Check::Nothing {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            self.verify_chain(end_entity, &parsed, intermediates, now)?;
            if self.check == Check::ChainAndName {
                verify_server_name(&parsed, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn certificates_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |error| format!("cannot read the root certificates in {}: {error}", path.display());
    CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)
}

fn system_certificates() -> Result<Vec<CertificateDer<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    match found.errors.first() {
        Some(error) if found.certs.is_empty() => Err(format!("cannot read the system's root certificates: {error}")),
        _ => Ok(found.certs),
    }
}

/// A failed handshake in words, with advice.
pub(super) fn explain(error: &Error) -> String {
    let advice = match error {
        // A bad signature means a root of the right name with another key, e.g. that of another cluster.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "; name the root certificate of the server's issuer with sslrootcert"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "; connect by a name that the certificate carries, or use sslmode=verify-ca",
        _ => "",
    };
    format!("{error}{advice}")
}

/// What is said where a server has no TLS and the target demands it.
pub(super) fn not_offered(target: &Target) -> PgError {
    let mode = target.sslmode.as_str();
    PgError::Tls {
        address: target.address(),
        reason: format!("the server offers none and sslmode is {mode}; turn ssl on there, or use sslmode=prefer"),
    }
}
