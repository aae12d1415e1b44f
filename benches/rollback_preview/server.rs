//! The server that is measured, and what is asked of it outside the timed windows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use postgres::{Client, NoTls};
use preview_cost::backend::postgres::{Control, Target};
use preview_cost::backend::provision::{Order, Provisioned};

use crate::support::{Outcome, PROGRAM};

/// The schema that the model's table is in.
pub const SCHEMA: &str = "preview_cost_bench";

/// A private server with its administrator's session.
pub struct Server {
    admin: Client,
    /// Leads to it as its superuser.
    pub target: Target,
    postmaster: u32,
    log: PathBuf,
    /// Last, so that sessions end before it does.
    _provisioned: Provisioned,
}

impl Server {
    /// PostgreSQL as it comes.
    pub fn start() -> Outcome<Self> {
        let order = Order::Ephemeral { settings: Vec::new() };
        let provisioned = Provisioned::start(Path::new(PROGRAM), &order, &mut |_| ())?;
        let target = Target::loopback(provisioned.port(), provisioned.user(), None, provisioned.dbname());
        let data = provisioned
            .facts()
            .iter()
            .find(|fact| fact.key == "data_directory")
            .and_then(|fact| fact.value.as_deref())
            .ok_or("the server's directory is unknown")?;
        let log = Path::new(data).with_file_name("server.log");
        let status = std::fs::read_to_string(Path::new(data).join("postmaster.pid"))?;
        let postmaster = status.lines().next().unwrap_or_default().trim().parse()?;
        let (host, port) = (provisioned.host(), provisioned.port());
        let url = format!(
            "host={host} port={port} user={} dbname={}",
            provisioned.user(),
            provisioned.dbname()
        );
        let mut admin = Client::connect(&url, NoTls)?;
        let version: String = admin.query_one("SELECT version()", &[])?.get(0);
        println!("  {version}");
        Control::connect(&target)?.create_schema(SCHEMA)?;
        Ok(Self {
            admin,
            target,
            postmaster,
            log,
            _provisioned: provisioned,
        })
    }

    /// The process that starts all others; they inherit its placement.
    pub fn postmaster(&self) -> u32 {
        self.postmaster
    }

    /// A fresh table with these rows.
    pub fn make_table(&self, rows: &[(String, f64)]) -> Outcome {
        Ok(Control::connect(&self.target)?.create_model(SCHEMA, rows)?)
    }

    /// Removes what earlier previews left in the table.
    pub fn vacuum(&mut self) -> Outcome {
        Ok(self.admin.batch_execute(&format!("VACUUM {SCHEMA}.model_field"))?)
    }

    /// Nanoseconds on a processor of the one session that is there beside the administrator's.
    pub fn session_cpu_ns(&mut self) -> Outcome<i64> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' \
                   AND pid <> pg_backend_pid() ORDER BY backend_start DESC LIMIT 1";
        let pid: i32 = self.admin.query_one(sql, &[])?.get(0);
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
        Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
    }

    /// How long the log is.
    pub fn log_end(&self) -> Outcome<u64> {
        Ok(std::fs::metadata(&self.log)?.len())
    }

    /// The durations that were logged from a place on, in nanoseconds.
    pub fn durations_from(&self, place: u64) -> Outcome<Vec<i64>> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(place))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let durations = text.lines().filter_map(|line| {
            let millis = line.split_once("LOG:  duration: ")?.1.strip_suffix(" ms")?;
            let millis: f64 = millis.parse().ok()?;
            Some((millis * 1e6).round() as i64)
        });
        Ok(durations.collect())
    }
}
