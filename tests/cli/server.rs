//! One real PostgreSQL for all tests of this binary, started through the program's own warden, which ends it with the
//! test process; and a database of its own for each test.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use postgres::{Client, NoTls};
use preview_cost::backend::provision::{Order, Provisioned};

use crate::support::{SMALL, edited, soon};

struct Server {
    port: u16,
    data: PathBuf,
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let exe = PathBuf::from(env!("CARGO_BIN_EXE_preview-cost"));
        let order = Order::Ephemeral { settings: Vec::new() };
        let provisioned = Provisioned::start(&exe, &order, &mut |_| {}).expect("a server");
        let data = provisioned
            .facts()
            .iter()
            .find(|fact| fact.key == "data_directory")
            .unwrap();
        let server = Server {
            port: provisioned.port(),
            data: data.value.clone().unwrap().into(),
        };
        // The pipe to the warden stays open until this process ends.
        std::mem::forget(provisioned);
        server
    })
}

/// The server's port.
pub fn port() -> u16 {
    server().port
}

/// A database that only one test uses.
pub struct Database {
    name: String,
}

impl Database {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        connect("postgres")
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .unwrap();
        Self { name }
    }

    /// Its name, which no role has yet: roles of this test may be named after it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A session as the superuser.
    pub fn client(&self) -> Client {
        connect(&self.name)
    }

    /// Runs statements as the superuser.
    pub fn run(&self, sql: &str) {
        self.client().batch_execute(sql).unwrap();
    }

    /// A URL for a role, which may hold a password.
    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{}?sslmode=disable", port(), self.name)
    }

    /// A URL for the superuser by another way to the server.
    pub fn url_through(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{}?sslmode=disable", self.name)
    }

    /// The small experiment, on this database as this role.
    pub fn manifest(&self, role: &str) -> String {
        at(&self.url(role))
    }

    /// Every schema that is not the system's, with what is in it.
    pub fn contents(&self) -> Vec<String> {
        let sql = "SELECT concat_ws('.', nspname, relname) FROM pg_namespace n LEFT JOIN pg_class c ON relnamespace = n.oid \
                   WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1";
        self.client()
            .query(sql, &[])
            .unwrap()
            .iter()
            .map(|row| row.get(0))
            .collect()
    }
}

/// The small experiment on a URL.
pub fn at(url: &str) -> String {
    edited(
        SMALL,
        &[(
            "engine = \"sqlite\"\nstorage = \"memory\"",
            &format!("engine = \"postgres\"\nurl = \"{url}\""),
        )],
    )
}

/// The same without end.
pub fn endless(manifest: &str) -> String {
    edited(
        manifest,
        &[("previews = 21", "previews = 200"), ("forks = 2", "forks = 1000")],
    )
}

fn connect(database: &str) -> Client {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(port()).user("postgres").dbname(database);
    config.connect_timeout(Duration::from_secs(10)).connect(NoTls).unwrap()
}

/// Makes a role whose password the server asks for.
pub fn role_with_password(role: &str, password: &str) {
    connect("postgres")
        .batch_execute(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{password}'"))
        .unwrap();
    let rules = server().data.join("pg_hba.conf");
    // Rewritten in place, so that it stays the server's own; the first rule that fits is the one that counts.
    let file = File::open(&rules).unwrap();
    file.lock().unwrap();
    let text = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, format!("host all {role} 127.0.0.1/32 scram-sha-256\n{text}")).unwrap();
    drop(file);
    connect("postgres").batch_execute("SELECT pg_reload_conf()").unwrap();
    soon("the server asks for the password", || {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(port()).user(role).dbname("postgres");
        config.connect(NoTls).err()
    });
}
