//! Every `sslmode` against a real PostgreSQL with and without TLS, for the measured and the control session alike.

#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use preview_cost::backend::postgres::PgError;
use preview_cost::backend::postgres::control::Control;
use preview_cost::backend::postgres::target::{Host, RootCert, SslMode, Target};
use preview_cost::backend::postgres::wire::WireSession;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use support::{DEADLINE, TestServer, postgres, postgres_with};

/// PEM texts of an authority and of a server's certificate for `localhost` that it signed.
struct Certificates {
    authority: String,
    certificate: String,
    key: String,
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn issued() -> Certificates {
    let params = authority_params("test authority");
    let authority_key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    Certificates {
        authority,
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    }
}

/// What `openssl req -x509` makes: a server's certificate that is its own authority.
fn self_signed() -> Certificates {
    let key = KeyPair::generate().unwrap();
    let certificate = authority_params("localhost").self_signed(&key).unwrap().pem();
    Certificates {
        authority: certificate.clone(),
        certificate,
        key: key.serialize_pem(),
    }
}

/// A server that speaks TLS only, and the file with its root certificate.
fn tls_server(certificates: &Certificates) -> (TestServer, PathBuf) {
    let files = [
        ("server.crt", certificates.certificate.as_str()),
        ("server.key", certificates.key.as_str()),
    ];
    let server = postgres_with("hostnossl all nobody 127.0.0.1/32 reject", &["ssl=on"], &files);
    let root = server.directory().join("root.pem");
    std::fs::write(&root, &certificates.authority).unwrap();
    (server, root)
}

fn over_tls(server: &TestServer, host: &str, sslmode: SslMode, root: Option<&Path>) -> Target {
    Target {
        host: Host::Name(host.to_owned()),
        sslmode,
        sslrootcert: root.map(|path| RootCert::File(path.to_owned())),
        ..server.target.clone()
    }
}

/// Connects both kinds of session; they must agree.
fn connect(target: &Target) -> Result<WireSession, String> {
    let measured = WireSession::connect(target, DEADLINE).map_err(|error| error.to_string());
    let control = Control::connect(target).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(measured.as_ref().map(|_| ()).map_err(Clone::clone), control, "{target}");
    measured
}

#[test]
fn each_mode_checks_what_it_says() {
    let (server, root) = tls_server(&issued());
    let stranger = server.directory().join("stranger.pem");
    std::fs::write(&stranger, issued().authority).unwrap();
    let (root, stranger) = (Some(root.as_path()), Some(stranger.as_path()));
    let untrusted = Err("name the root certificate");
    let misnamed = Err("not valid for name");
    for (host, mode, root, expected) in [
        ("127.0.0.1", SslMode::Disable, None, Ok(false)),
        ("127.0.0.1", SslMode::Prefer, None, Ok(true)),
        ("127.0.0.1", SslMode::Require, None, Ok(true)),
        ("127.0.0.1", SslMode::Require, root, Ok(true)),
        ("127.0.0.1", SslMode::Require, stranger, untrusted),
        ("127.0.0.1", SslMode::VerifyCa, root, Ok(true)),
        ("127.0.0.1", SslMode::VerifyCa, stranger, untrusted),
        ("localhost", SslMode::VerifyFull, root, Ok(true)),
        ("localhost", SslMode::VerifyFull, stranger, untrusted),
        ("localhost", SslMode::VerifyFull, None, Err("root certificate")),
        ("127.0.0.1", SslMode::VerifyFull, root, misnamed),
    ] {
        let target = over_tls(&server, host, mode, root);
        match (connect(&target), expected) {
            (Ok(mut session), Ok(encrypted)) => {
                assert_eq!(session.is_encrypted(), encrypted, "{target}");
                session.empty_round_trip().unwrap();
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{target}: {error}"),
            (outcome, expected) => panic!("{target}: expected {expected:?}, got {:?}", outcome.map(|_| ())),
        }
    }
}

#[test]
fn a_server_that_is_its_own_authority_can_be_trusted_by_name() {
    let (server, root) = tls_server(&self_signed());
    let root = Some(root.as_path());
    assert!(connect(&over_tls(&server, "localhost", SslMode::VerifyFull, root)).is_ok());
    let error = connect(&over_tls(&server, "127.0.0.1", SslMode::VerifyFull, root)).unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");
    let (_other, stranger) = tls_server(&self_signed());
    assert!(connect(&over_tls(&server, "localhost", SslMode::VerifyCa, Some(&stranger))).is_err());
}

#[test]
fn a_server_without_tls_serves_prefer_and_says_so_to_require() {
    let server = postgres();
    assert!(
        !connect(&over_tls(&server, "127.0.0.1", SslMode::Prefer, None))
            .unwrap()
            .is_encrypted()
    );
    let error = connect(&over_tls(&server, "127.0.0.1", SslMode::Require, None)).unwrap_err();
    assert!(
        error.contains("the server offers none and sslmode is require"),
        "{error}"
    );
}

#[test]
fn an_unusable_root_certificate_names_its_file() {
    let target = Target {
        sslmode: SslMode::VerifyCa,
        ..Target::loopback(1, "postgres", None, "postgres")
    };
    let directory = tempfile::tempdir().unwrap();
    let garbage = directory.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\nnonsense\n").unwrap();
    for path in [directory.path().join("missing.pem"), garbage] {
        let target = Target {
            sslrootcert: Some(RootCert::File(path.clone())),
            ..target.clone()
        };
        let error = WireSession::connect(&target, DEADLINE).map(|_| ()).unwrap_err();
        assert!(matches!(error, PgError::Tls { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_terminated_session_says_why_under_tls_too() {
    let (server, _root) = tls_server(&issued());
    let mut session = connect(&over_tls(&server, "127.0.0.1", SslMode::Require, None)).unwrap();
    server
        .session()
        .simple(&format!("SELECT pg_terminate_backend({}, 5000)", session.backend_pid()))
        .unwrap();
    let error = session.empty_round_trip().unwrap_err();
    assert!(
        error.is_connection_lost() && error.sqlstate() == Some("57P01"),
        "{error}"
    );
}
