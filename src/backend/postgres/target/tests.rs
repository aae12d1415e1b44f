//! Targets as users write them, good and bad.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::*;

fn surroundings() -> Surroundings {
    Surroundings {
        user: Some("ann".to_owned()),
        ..Surroundings::default()
    }
}

fn parse(text: &str) -> Result<Target, TargetError> {
    Target::parse(text, &surroundings())
}

fn name(host: &str) -> Host {
    Host::Name(host.to_owned())
}

/// A home directory whose `.pgpass` has the given text and mode.
fn home_with_passfile(text: &str, mode: u32) -> (tempfile::TempDir, Surroundings) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".pgpass");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    let surroundings = Surroundings {
        home: Some(home.path().to_owned()),
        ..surroundings()
    };
    (home, surroundings)
}

#[test]
fn both_syntaxes_name_the_same_target() {
    let url = parse("postgresql://bob:s%40fe@db.example:5433/shop?sslmode=require&connect_timeout=3").unwrap();
    let pairs =
        parse("host=db.example port=5433 user = bob password='s@fe' dbname=shop sslmode=require connect_timeout=3");
    assert_eq!(url, pairs.unwrap());
    assert_eq!(url.host, name("db.example"));
    assert_eq!(
        (url.port, url.user.as_str(), url.dbname.as_str()),
        (5433, "bob", "shop")
    );
    assert_eq!(url.password, Some(Secret::new("s@fe")));
    assert_eq!(
        (url.sslmode, url.connect_timeout),
        (SslMode::Require, Duration::from_secs(3))
    );
}

#[test]
fn what_is_not_said_has_libpqs_default() {
    let target = parse("postgres://localhost").unwrap();
    assert_eq!(
        (target.port, target.user.as_str(), target.dbname.as_str()),
        (5432, "ann", "ann")
    );
    assert_eq!(
        (target.sslmode, target.connect_timeout),
        (SslMode::Prefer, Duration::from_secs(10))
    );
    assert_eq!(
        (target.password, target.sslrootcert, target.options),
        (None, None, None)
    );
}

#[test]
fn hosts_come_in_every_shape() {
    for (text, host, address) in [
        ("postgres://[::1]:5433/x", name("::1"), "[::1]:5433"),
        ("postgres://[::1]", name("::1"), "[::1]:5432"),
        ("postgres://127.0.0.1:/x", name("127.0.0.1"), "127.0.0.1:5432"),
        (
            "postgres:///x?host=/run/pg&port=7",
            Host::Socket("/run/pg".into()),
            "/run/pg/.s.PGSQL.7",
        ),
        (
            "postgres://%2Frun%2Fpg/x",
            Host::Socket("/run/pg".into()),
            "/run/pg/.s.PGSQL.5432",
        ),
        ("host=/tmp", Host::Socket("/tmp".into()), "/tmp/.s.PGSQL.5432"),
        (r"host='a\'b\\c'", name(r"a'b\c"), r"a'b\c:5432"),
        (r"host=a\ b", name("a b"), "a b:5432"),
    ] {
        let target = parse(text).unwrap();
        assert_eq!(
            (target.host.clone(), target.address().as_str()),
            (host, address),
            "{text}"
        );
    }
}

#[test]
fn tls_follows_libpq() {
    let file = |path: &str| Some(RootCert::File(path.into()));
    for (query, mode, root) in [
        ("sslmode=disable", SslMode::Disable, None),
        ("ssl=true", SslMode::Require, None),
        ("sslmode=require&sslrootcert=/r.pem", SslMode::Require, file("/r.pem")),
        (
            "sslmode=verify-ca&sslrootcert=%2Fr.pem",
            SslMode::VerifyCa,
            file("/r.pem"),
        ),
        ("sslrootcert=system", SslMode::VerifyFull, Some(RootCert::System)),
        (
            "sslmode=verify-full&sslrootcert=system",
            SslMode::VerifyFull,
            Some(RootCert::System),
        ),
        ("sslmode=require&channel_binding=prefer", SslMode::Require, None),
    ] {
        let target = parse(&format!("postgres://h/d?{query}")).unwrap();
        assert_eq!((target.sslmode, target.sslrootcert), (mode, root), "{query}");
    }
}

#[test]
fn a_root_certificate_at_home_counts_where_certificates_are_checked() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".postgresql")).unwrap();
    let root = home.path().join(".postgresql/root.crt");
    fs::write(&root, "").unwrap();
    let surroundings = Surroundings {
        home: Some(home.path().to_owned()),
        ..surroundings()
    };
    let root_of = |text: &str| Target::parse(text, &surroundings).unwrap().sslrootcert;
    assert_eq!(root_of("host=h sslmode=require"), Some(RootCert::File(root)));
    assert_eq!(root_of("host=h sslmode=prefer"), None);
    assert_eq!(root_of("host=h sslrootcert=system"), Some(RootCert::System));
}

#[test]
fn bad_input_names_the_parameter_and_repeats_no_value() {
    for (text, part) in [
        ("", "no host"),
        ("postgres://", "no host"),
        ("user=ann", "no host"),
        ("mysql://h/hunter2", "must start with"),
        ("hunter2", "neither"),
        ("host=h hunter2", "neither"),
        ("host=h password='hunter2", "closing quote"),
        ("host=h password=x hunter2 y=z", "a parameter's name holds"),
        ("host=h application_name=hunter2", "application_name is not supported"),
        (
            "postgres://h/d?target_session_attrs=hunter2",
            "target_session_attrs is not supported",
        ),
        ("postgres://h/d?ssl=hunter2", "ssl is not supported"),
        ("postgres://h/d?hunter2", "lacks its ="),
        ("postgres://h/d?a%20hunter2=1", "name holds"),
        ("postgres://u:hunter2@h:0/d", "port must be"),
        ("postgres://u:hunter2@h:65536/d", "port must be"),
        ("postgres://u:hunter2/x@h/d", "%2F"),
        ("postgres://u:hunter2?x=@h/d", "%3F"),
        ("postgres://u:hunter2", "port must be"),
        ("postgres://u@h,hunter2/d", "lists of hosts"),
        ("postgres://[::1/hunter2", "lacks its ]"),
        ("postgres://[::1]hunter2/", "after ]"),
        ("postgres://u:hunter2%4@h", "hexadecimal"),
        ("postgres://u:hunter2%00@h", "hexadecimal"),
        ("postgres://u:hunter2%FF@h", "UTF-8"),
        ("host=h password=hunter2\0", "zero byte"),
        ("host=a@hunter2", "host must be"),
        ("host=relative/hunter2", "host must be"),
        ("host=h port=hunter2", "port must be"),
        ("host=h sslmode=hunter2", "sslmode must be"),
        ("host=h sslmode=allow", "sslmode must be"),
        (
            "host=h sslmode=require sslrootcert=system",
            "sslmode must be verify-full",
        ),
        ("host=h connect_timeout=0", "connect_timeout must be"),
        ("host=h connect_timeout=-1", "connect_timeout must be"),
        ("host=h channel_binding=require", "channel_binding must be"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}: {error}");
    }
}

#[test]
fn without_a_user_anywhere_it_says_so() {
    let error = Target::parse("host=h", &Surroundings::default()).unwrap_err();
    assert!(error.to_string().contains("names no user"), "{error}");
}

#[test]
fn nothing_that_can_be_printed_holds_the_password() {
    let target = parse("postgres://bob:hunter2@h/d?sslmode=disable").unwrap();
    let secret = target.password.clone().unwrap();
    let printed = format!(
        "{target} {target:?} {target:#?} {} {secret} {secret:?}",
        target.address()
    );
    assert!(!printed.contains("hunter2"), "{printed}");
    assert_eq!(target.to_string(), "postgres://bob@h:5432/d?sslmode=disable");
    let surroundings = Surroundings {
        password: Some(secret),
        ..surroundings()
    };
    assert!(!format!("{surroundings:?}").contains("hunter2"));
}

#[test]
fn what_is_displayed_leads_to_the_same_target() {
    for text in [
        "postgres://h:1/d?sslmode=verify-ca&sslrootcert=/a%20b.pem",
        "host=/run/pg dbname='a b' user='x@y'",
        "host=::1 dbname=d sslrootcert=system",
    ] {
        let target = parse(text).unwrap();
        assert_eq!(parse(&target.to_string()).unwrap(), target, "{text}");
    }
}

#[test]
fn a_worker_gets_the_whole_target_through_its_pipe() {
    let target = parse("postgres://bob:hunter2@h/d?sslmode=require&sslrootcert=/r.pem&options=-c%20jit%3Doff").unwrap();
    let piped = serde_json::to_string(&target).unwrap();
    assert_eq!(serde_json::from_str::<Target>(&piped).unwrap(), target);
}

#[test]
fn the_password_comes_from_the_string_then_the_environment_then_the_file() {
    let (_home, surroundings) = home_with_passfile("*:*:*:*:from-file\n", 0o600);
    let with_variable = Surroundings {
        password: Some(Secret::new("from-env")),
        ..surroundings.clone()
    };
    let password = |text: &str, surroundings: &Surroundings| {
        Target::parse(text, surroundings)
            .unwrap()
            .password
            .map(|secret| secret.reveal().to_owned())
    };
    assert_eq!(
        password("host=h password=said", &with_variable).as_deref(),
        Some("said")
    );
    assert_eq!(password("host=h", &with_variable).as_deref(), Some("from-env"));
    assert_eq!(password("host=h", &surroundings).as_deref(), Some("from-file"));
    assert_eq!(password("host=h passfile=/nowhere", &surroundings), None);
}

#[test]
fn password_file_lines_match_as_with_libpq() {
    let file = "# db:5432:shop:bob:comment\n\
                \n\
                other:5432:shop:bob:no\n\
                db:5432:shop:bob:first\n\
                db:*:shop:bob:second\n\
                d\\:b:*:*:ann:escaped\\:co\\\\lon\n\
                localhost:*:*:*:local:ignored\n\
                ::1:*:*:*:never\n\
                [\\:\\:1]:*:*:*:never\n\
                \\:\\:1:*:*:*:six\n\
                /run/pg:*:*:*:socket\n\
                empty:*:*:*:\n\
                *:5555:*:*:by-port\n\
                short:1\n";
    let (_home, surroundings) = home_with_passfile(file, 0o600);
    for (text, expected) in [
        ("host=db user=bob dbname=shop", Some("first")),
        ("host=db user=bob dbname=shop port=1", Some("second")),
        ("host=db user=bob dbname=shops", None),
        ("host=d:b", Some(r"escaped:co\lon")),
        ("host=localhost", Some("local")),
        ("host=/tmp", Some("local")),
        ("host=/var/run/postgresql", Some("local")),
        ("host=/run/pg", Some("socket")),
        ("host=::1", Some("six")),
        ("host=empty", None),
        ("host=unknown port=5555", Some("by-port")),
        ("host=short port=1", None),
    ] {
        let password = Target::parse(text, &surroundings).unwrap().password;
        assert_eq!(password.as_ref().map(Secret::reveal), expected, "{text}");
    }
}

#[test]
fn a_password_file_that_others_may_read_is_ignored_and_remembered() {
    let (home, surroundings) = home_with_passfile("*:*:*:*:hunter2\n", 0o640);
    let target = Target::parse("host=h", &surroundings).unwrap();
    assert_eq!(
        (target.password, target.ignored_passfile),
        (None, Some(home.path().join(".pgpass")))
    );
}
