//! What the strategies of a run need of the place where they run, checked before anything is measured.

use super::stand::StandError;
use crate::backend::BackendError;
use crate::backend::postgres::{CloneBy, Control};
use crate::backend::provision;
use crate::strategy::{Need, StrategyName};

/// Checks what can be seen before a server is there.
pub(super) fn of_machine(strategies: &[StrategyName]) -> Result<(), StandError> {
    for strategy in needing(strategies, Need::Reflink) {
        provision::require_reflink().map_err(|error| unfit(strategy, error.to_string()))?;
    }
    Ok(())
}

/// Checks what only the server knows.
pub(super) fn of_server(strategies: &[StrategyName], control: &mut Control) -> Result<(), StandError> {
    for strategy in needing(strategies, Need::ClonesThroughLog) {
        let can: Result<(), BackendError> = CloneBy::WalLog.require(control.major_version()?);
        can.map_err(|error| unfit(strategy, error.to_string()))?;
    }
    for strategy in needing(strategies, Need::Databases) {
        if let Some(role) = control.role_without_createdb()? {
            let reason = format!("role {role} may make no database (ALTER ROLE … CREATEDB would allow it)");
            return Err(unfit(strategy, reason));
        }
    }
    Ok(())
}

fn needing(strategies: &[StrategyName], need: Need) -> impl Iterator<Item = StrategyName> {
    let needs = move |name: &StrategyName| name.facts().needs.contains(&need);
    strategies.iter().copied().filter(needs)
}

fn unfit(strategy: StrategyName, reason: String) -> StandError {
    StandError::Unfit { strategy, reason }
}
