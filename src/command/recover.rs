//! `recover`: seals what is whole of runs that broke off.

use std::path::Path;

use super::{CommandError, tell};
use crate::archive::{Completeness, LostFork, Recovered, Recovery, SealState, recover};
use crate::cli::RecoverArgs;
use crate::exit::Exit;

/// Recovers each run, and says what became of it.
///
/// # Errors
/// That of the first run that can't be recovered; those before it are sealed.
pub fn execute(args: &RecoverArgs) -> Result<Exit, CommandError> {
    for run in &args.runs {
        match recover(run)? {
            Recovery::SealedBefore(Completeness::Incomplete) => {
                tell(format_args!(
                    "{} is sealed already, as an incomplete run",
                    run.display()
                ));
            }
            Recovery::SealedBefore(_) => tell(format_args!("{} is sealed already", run.display())),
            Recovery::Withdrawn => tell(format_args!(
                "{} broke off before its first fork was announced; it held nothing and was removed",
                run.display()
            )),
            Recovery::Sealed(recovered) => sealed(run, &recovered),
        }
    }
    Ok(Exit::Ok)
}

fn sealed(run: &Path, recovered: &Recovered) {
    let forks = recovered.forks;
    let state = match recovered.state {
        SealState::Complete => "sealed",
        SealState::Incomplete => "sealed as incomplete",
    };
    let kept = format!("{} of {} forks", forks.kept, forks.planned);
    tell(format_args!("{state}, with {kept}: {}", run.display()));
    if !recovered.lost.is_empty() {
        let name = |LostFork { cell, fork }: &LostFork| format!("fork {fork} of cell {cell}");
        let lost: Vec<String> = recovered.lost.iter().map(name).collect();
        tell(format_args!("measured, and lost: {}", lost.join(", ")));
    }
    if let Some(schema) = &recovered.schema {
        tell(format_args!(
            "the schema {schema} may be left on the server that was measured, where it can be removed by hand"
        ));
    }
}
