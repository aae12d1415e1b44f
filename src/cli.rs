//! The command line: what can be typed, with examples.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::publication::Licence;
use crate::report::Part;

/// Prices ways to compute a what-if preview from a database, and archives every raw pair.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Examples:\n  preview-cost run experiments/sqlite-memory.toml\n  preview-cost analyze results/<run>\n\n\
                  Exit codes: 0 all went well, 2 wrong command line or manifest, 3 no backend, 4 run cut short,\n\
                  5 archive unreadable, 6 previews failed or answers differed, 7 cannot write, 8 warnings under --strict,\n\
                  9 to 12 what verify found (see its help),\n\
                  130 interrupted, 1 other."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure an experiment, archive every pair, and print the figures.
    Run(RunArgs),
    /// Seal what is whole of a run that broke off, as an incomplete run.
    Recover(RecoverArgs),
    /// Print what would be measured, in which order and for about how long; touches nothing.
    Plan(PlanArgs),
    /// Fix an experiment and its claims in the ledger, before anything is measured.
    Register(RegisterArgs),
    /// Print a run's figures from its archive alone; several runs stand side by side.
    Analyze(AnalyzeArgs),
    /// Hold runs against each other: what differs around them, then cell by cell.
    Compare(CompareArgs),
    /// Write two scripts, for DuckDB and for Python, that compute a run's figures without this program.
    Recompute(RecomputeArgs),
    /// Write a run's figures and plots as one page that opens from disk.
    Report(ReportArgs),
    /// List the strategies: what each does, where it can be done, its round trips and writes, and what it gives up.
    Strategies(StrategiesArgs),
    /// Say what killed runs have left on servers and disks, and remove it when asked to.
    Clean(CleanArgs),
    /// Stand between a PostgreSQL client and its server: count round trips, and hold what passes for a set time.
    Proxy(ProxyArgs),
    /// Hold runs against themselves and the ledger: every byte, link, row, answer, median and claim.
    Verify(VerifyArgs),
    /// Write runs as a flat directory to publish: data, scripts, report, metadata, sums.
    Pack(PackArgs),
    /// Print how a run and its software are cited, or check a citation file.
    Cite(CiteArgs),
    /// Write shell completions, manual pages, or the JSON Schema of the figures.
    Generate(GenerateArgs),
    /// Say what this machine offers: PostgreSQL server binaries, a container engine, and H2.
    Doctor(DoctorArgs),
    /// For preview-cost itself: measures one fork.
    #[command(hide = true)]
    Worker,
    /// For preview-cost itself: serves SQLite to one fork.
    #[command(hide = true, name = crate::backend::sqlite::served::SUBCOMMAND)]
    SqliteServer,
    /// For preview-cost itself: stands in the path of one fork.
    #[command(hide = true, name = crate::path::child::SUBCOMMAND)]
    PathProxy,
    /// For preview-cost itself: keeps a server for as long as a run lives.
    #[command(hide = true)]
    Warden,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost run experiments/pg-local.toml\n  \
                        preview-cost run experiments/pg-local.toml --url '${DATABASE_URL}'\n  \
                        preview-cost run --resume results/<run>\n\n\
                        The work happens in a schema that the run creates, owns and removes. Nothing else is touched.")]
pub struct RunArgs {
    /// The experiment's manifest.
    #[arg(required_unless_present = "resume")]
    pub manifest: Option<PathBuf>,
    /// Measure the forks that this run lacks, because it broke off. It brings its manifest; a --url is to be given again.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["manifest", "results", "exploratory"])]
    pub resume: Option<PathBuf>,
    /// Measure the PostgreSQL server at this URL instead of the manifest's. `${NAME}` stands for an environment
    /// variable: in single quotes, so that no password stands in the process list.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Measure without a registration, or beside one that has other words: every figure is then marked as exploratory.
    #[arg(long)]
    pub exploratory: bool,
    /// Where runs are stored.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
}

/// Arguments of `recover`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost recover results/<run>\n\n\
                        Sealed is final. To measure what is missing instead: preview-cost run --resume results/<run>")]
pub struct RecoverArgs {
    /// Directories of runs that broke off; one that is sealed already stays as it is.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
}

/// Arguments of `register`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost register experiments/pg-local.toml\n\n\
                        The manifest needs a table [registration] and at least one [[claims]]. Values and margins of claims \
                        are in the unit that their figure has in JSON and CSV: ns for times.\n\
                        Evidence of time may lie beside the manifest: FILE.ots (OpenTimestamps) or FILE.tsr (RFC 3161). That \
                        it is about this manifest is checked; its signature or attestation is not.\n\
                        Exit codes: 2 nothing to register or evidence of something else, 5 the ledger was altered, 7 cannot \
                        write.")]
pub struct RegisterArgs {
    /// The experiment's manifest.
    pub manifest: PathBuf,
    /// Where the ledger lies.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost plan experiments/sqlite-memory.toml\n  \
                        preview-cost plan experiments/sqlite-memory.toml --from results/<run>")]
pub struct PlanArgs {
    /// The experiment's manifest; with --from, the run's own where none is named.
    #[arg(required_unless_present = "from")]
    pub manifest: Option<PathBuf>,
    /// Say from this run's own spread and times how many forks would be enough, and how long the plan takes.
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,
}

/// Arguments of `analyze`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost analyze results/<run>\n  \
                        preview-cost analyze results/<run> --format json\n  \
                        preview-cost analyze results/<run> results/<another>\n  \
                        preview-cost analyze results/<run> --explain 'cell[plans=40].difference.median'\n  \
                        preview-cost analyze results/<run> --only ranking\n  \
                        preview-cost analyze --splice README.md")]
pub struct AnalyzeArgs {
    /// Directories of runs.
    #[arg(required_unless_present_any = ["splice", "check"], value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// How the figures are told.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Tell only this of each run, in tables for people.
    #[arg(long, value_enum, value_name = "PART", conflicts_with_all = ["explain", "splice", "check"])]
    pub only: Option<Only>,
    /// Compute the pooled bootstrap as the study did, with the manifest's number of resamples, instead of its limit.
    #[arg(long)]
    pub resample: bool,
    /// End with exit code 8 when a warning stands beside the figures.
    #[arg(long, conflicts_with_all = ["explain", "splice", "check"])]
    pub strict: bool,
    /// Tell one figure whole: what it is, where it comes from, and the DuckDB query that gives it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["splice", "check"])]
    pub explain: Option<String>,
    /// Rewrite the tables between the markers of this file, `<!-- preview-cost analyze … -->` and
    /// `<!-- /preview-cost -->`, and the single numbers between `<!-- fig:RUN ID -->` and `<!-- /fig -->`; paths are
    /// relative to the file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "check"])]
    pub splice: Option<PathBuf>,
    /// Fail when a table or a number between the markers of this file is not what its archive gives.
    #[arg(long, value_name = "FILE", conflicts_with = "runs")]
    pub check: Option<PathBuf>,
}

/// Parts of a run's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// What was claimed, and what came of it.
    Claims,
    /// The comparisons, the cheapest first, with what each strategy gives up.
    Ranking,
    /// Where the time of previews goes, step by step.
    Steps,
    /// What the distance adds, and what passed the proxy.
    Distance,
}

impl From<Only> for Part {
    fn from(only: Only) -> Self {
        match only {
            Only::Claims => Self::Claims,
            Only::Ranking => Self::Ranking,
            Only::Steps => Self::Steps,
            Only::Distance => Self::Distance,
        }
    }
}

/// Formats of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Table,
    /// For a README or an issue.
    Markdown,
    /// Every figure, unrounded, with unit and estimator.
    Json,
    /// The same, a line a figure.
    Csv,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost compare results/<run> results/<another>")]
pub struct CompareArgs {
    /// Directories of runs; the others are held against the first.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// How the comparison is told.
    #[arg(long, value_enum, default_value_t = CompareFormat::Table)]
    pub format: CompareFormat,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a terminal.
    Table,
    /// For a README or an issue.
    Markdown,
}

/// Arguments of `recompute`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost recompute results/<run> --out /tmp/check\n  \
                        python /tmp/check/recompute.py results/<run>\n\n\
                        A subcommand of its own: analyze prints figures, this writes files.")]
pub struct RecomputeArgs {
    /// Directory of the run; nothing is written there.
    pub run: PathBuf,
    /// Where recompute.sql and recompute.py are written; it is made where it is not there.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost report results/<run>\n  \
                        preview-cost report results/<run> --out report.html --svg plots")]
pub struct ReportArgs {
    /// Directory of the run; nothing is written into it.
    pub run: PathBuf,
    /// The page; `<run>.html` in the current directory if not given.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write each plot as an SVG file into this directory too.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  preview-cost clean\n  preview-cost clean --yes --url '${DATABASE_URL}'\n\n\
                        Only what a run has noted before it made it is ever removed."
)]
pub struct CleanArgs {
    /// Where runs are stored.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// The server that the runs were made on, where their manifests do not name it. `${NAME}` stands for an environment
    /// variable.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Remove it; without this, it is only listed.
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `proxy`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  preview-cost proxy --listen 127.0.0.1:6432 --to 127.0.0.1:5432 --delay 250us\n  \
                        preview-cost proxy --listen /tmp/.s.PGSQL.6432 --to /run/postgresql/.s.PGSQL.5432 --json\n\n\
                        The delay is what one round trip is longer by; half of it is held on either way, from when it \
                        was received. It serves until Ctrl-C, and then says what passed. It must see plaintext: a client \
                        that asks for TLS is told that there is none, and one that insists (sslmode=require) gives up."
)]
pub struct ProxyArgs {
    /// Where clients connect: HOST:PORT, or the path of a Unix socket. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: String,
    /// Where the server is: HOST:PORT, or the path of its Unix socket.
    #[arg(long, value_name = "ADDRESS")]
    pub to: String,
    /// What one round trip is longer by, e.g. 250us, 1ms or 0.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub delay: String,
    /// Say what passed as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `strategies`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost strategies --format json")]
pub struct StrategiesArgs {
    /// How the list is told.
    #[arg(long, value_enum, default_value_t = StrategiesFormat::Table)]
    pub format: StrategiesFormat,
}

/// Formats of the list of strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StrategiesFormat {
    /// For a terminal.
    Table,
    /// For a program.
    Json,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost verify results/<run>\n  \
                        preview-cost verify results/<run> --against README.md\n  \
                        preview-cost verify downloads/\n\n\
                        Needs no network and writes nothing into the run. A directory with the files of several runs, as `pack`\n\
                        lays them out, is verified run by run.\n\n\
                        Exit codes: 0 all holds, 9 a claim fails, 10 altered, 11 incomplete, 12 it can't be told.")]
pub struct VerifyArgs {
    /// Directories of runs.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Hold the tables and numbers of this file against the archives that it names, too.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// How the findings are told.
    #[arg(long, value_enum, default_value_t = VerifyFormat::Table)]
    pub format: VerifyFormat,
}

/// Formats of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VerifyFormat {
    /// For a terminal.
    Table,
    /// For a program.
    Json,
}

/// Arguments of `pack`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost pack results/<run> --out data\n  \
                        preview-cost pack results/<run> results/<another> --out data --license CC0-1.0\n\n\
                        The same runs give the same bytes. A data record takes 100 files at most.")]
pub struct PackArgs {
    /// Directories of sealed runs; nothing is written there.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Where the files are written; it is made where it is not there.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The software's citation; its authors are the data's.
    #[arg(long, value_name = "FILE", default_value = "CITATION.cff")]
    pub citation: PathBuf,
    /// The data's licence: CC-BY-4.0 or CC0-1.0.
    #[arg(long, value_name = "SPDX", default_value = "CC-BY-4.0")]
    pub license: Licence,
    /// Replace what was packed into the directory before.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `cite`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  preview-cost cite results/<run>\n  \
                        preview-cost cite results/<run> --format bibtex\n  \
                        preview-cost cite --check CITATION.cff")]
pub struct CiteArgs {
    /// Directory of a sealed run.
    #[arg(required_unless_present = "check", value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// How it is told; all three if not given.
    #[arg(long, value_enum)]
    pub format: Option<CiteFormat>,
    /// The software's citation; its authors are the data's.
    #[arg(long, value_name = "FILE", default_value = "CITATION.cff")]
    pub citation: PathBuf,
    /// The data's licence: CC-BY-4.0 or CC0-1.0.
    #[arg(long, value_name = "SPDX", default_value = "CC-BY-4.0")]
    pub license: Licence,
    /// Hold a citation file against the format, and against what data repositories make of it.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "CITATION.cff",
          conflicts_with_all = ["run", "format"])]
    pub check: Option<PathBuf>,
}

/// Formats of a citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiteFormat {
    /// For a LaTeX bibliography.
    Bibtex,
    /// A CITATION.cff of the data.
    Cff,
    /// For people.
    Text,
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  preview-cost generate completions bash > preview-cost.bash\n  \
                        preview-cost generate man --out man\n  \
                        preview-cost generate schema > analysis.schema.json"
)]
pub struct GenerateArgs {
    /// What to write.
    #[command(subcommand)]
    pub what: Generated,
}

/// What can be generated.
#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Print the completions of a shell.
    #[command(after_help = "Example:\n  preview-cost generate completions bash > /etc/bash_completion.d/preview-cost")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write a manual page for each subcommand.
    #[command(after_help = "Example:\n  preview-cost generate man --out /usr/local/share/man/man1")]
    Man {
        /// Where; it is made where it is not there.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Print the JSON Schema of `analyze --format json`.
    #[command(after_help = "Example:\n  preview-cost generate schema > analysis.schema.json")]
    Schema,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  preview-cost doctor --require postgres")]
pub struct DoctorArgs {
    /// Fail when this is not there.
    #[arg(long, value_enum)]
    pub require: Option<Requirement>,
}

/// What `doctor` can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Requirement {
    /// PostgreSQL server binaries, for experiments with `provision = "ephemeral"` and for the tests.
    Postgres,
    /// A Java runtime and a jar of H2, for experiments with `engine = "h2"` and for the tests.
    H2,
}
