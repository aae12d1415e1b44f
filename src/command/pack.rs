//! `pack`: runs to a flat directory that a data record takes as it is.

use std::fs;
use std::path::Path;

use super::cite::{citation_of, published};
use super::load::sources_of;
use super::report::{Drawn, draw, failed, is_within};
use super::{CommandError, tell};
use crate::cli::PackArgs;
use crate::exit::Exit;
use crate::publication::{Content, DataSet, Material, Package, Piece, PublishedRun, Told, package};
use crate::report::recompute;

/// Writes everything that is published of the runs into a directory.
///
/// # Errors
/// What is wrong with the archives or the citation, and what can't be written.
pub fn execute(args: &PackArgs) -> Result<Exit, CommandError> {
    let citation = citation_of(&args.citation)?;
    for run in &args.runs {
        let within = is_within(&args.out.join("README.md"), run).map_err(|source| failed("read", run, source))?;
        if within {
            return Err(CommandError::WithinRun { path: args.out.clone() });
        }
    }
    let drawn = args.runs.iter().map(|run| draw(run)).collect::<Result<Vec<_>, _>>()?;
    let runs = args.runs.iter().zip(&drawn);
    let runs = runs.map(|(run, drawn)| published(run, &drawn.archive, &drawn.analysis));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let data = DataSet {
        runs: &runs,
        citation: &citation,
        licence: args.license,
    };
    let told = args.runs.iter().zip(&runs).zip(drawn);
    let told = told.map(|((directory, run), drawn)| tell_run(&data, run, directory, drawn));
    let packed = package(&Material {
        data,
        told: told.collect(),
    })?;
    write(&args.out, &packed, args.force)?;
    tell(format_args!(
        "wrote {} files into {}",
        packed.pieces.len(),
        args.out.display()
    ));
    Ok(Exit::Ok)
}

fn tell_run(data: &DataSet<'_>, run: &PublishedRun, directory: &Path, drawn: Drawn) -> Told {
    let mut sources = sources_of(directory, &drawn.archive, &drawn.analysis);
    sources.prefix = data.prefix(run);
    let files = &mut sources.files;
    let of_forks = [&mut files.pairs, &mut files.forks, &mut files.steps, &mut files.wire];
    for name in of_forks.into_iter().flatten() {
        name.insert_str(0, &sources.prefix);
    }
    Told {
        directory: directory.to_owned(),
        sql: recompute::sql(&drawn.analysis.facts, &sources),
        python: recompute::python(&drawn.analysis.facts, &sources),
        page: drawn.page,
    }
}

/// Writes all files, the sums last; nothing else may lie in the directory.
fn write(out: &Path, packed: &Package, force: bool) -> Result<(), CommandError> {
    fs::create_dir_all(out).map_err(|source| failed("write", out, source))?;
    let entries = fs::read_dir(out).map_err(|source| failed("read", out, source))?;
    for entry in entries {
        let name = entry.map_err(|source| failed("read", out, source))?.file_name();
        let name = name.to_string_lossy();
        if !force {
            return Err(CommandError::NotEmpty {
                path: out.to_owned(),
                found: name.into_owned(),
            });
        }
        if packed.pieces.iter().all(|piece| piece.name != name) {
            return Err(CommandError::Foreign { path: out.join(&*name) });
        }
    }
    packed.pieces.iter().try_for_each(|piece| write_one(out, piece))
}

/// A file that is replaced stays whole until the new one is.
fn write_one(out: &Path, piece: &Piece) -> Result<(), CommandError> {
    let path = out.join(&piece.name);
    let temporary = out.join(format!("{}.tmp", piece.name));
    let written = match &piece.content {
        Content::Text(text) => fs::write(&temporary, text),
        Content::File(source) => fs::copy(source, &temporary).map(|_| ()),
    };
    written
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|source| failed("write", &path, source))
}
