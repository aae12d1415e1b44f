//! A function in the server that writes, reads, raises and catches: the exception's block undoes the writes, and what
//! was read outlives it in a variable.
//!
//! The function lives in the session's temporary schema, so that nothing of it is left whatever becomes of the run. The
//! call stands in a transaction that is **rolled back** in the same flight: the undone block has taken a transaction
//! id, so a commit would have to flush the log.

use super::facts::{Facts, POSTGRES, WRITTEN};
use super::{PreviewError, Strategy};
use crate::backend::BackendError;
use crate::backend::postgres::{ModelTable, PostgresSession, Statement, land_model};
use crate::step::{Step, Steps};
use crate::workload::{Answer, COLUMNS, Overrides, Shape, Workload};

pub(super) const FACTS: Facts = Facts {
    sentence: "Call a PL/pgSQL function that writes, reads, raises and catches; roll back around it.",
    stands_for: "server-side what-if",
    on: POSTGRES,
    why_not: "sqlite has no stored functions",
    round_trips: Some(1),
    writes: "4 dead rows, about 1.2 kB of log, a subtransaction",
    honours: WRITTEN,
    caveat: "needs the right to make temporary objects",
    needs: &[],
    nominal_ms: 0.4,
};

pub(super) struct OnPostgres {
    workload: Workload,
    begin: Statement,
    call: Statement,
    rollback: Statement,
}

impl OnPostgres {
    pub(super) fn open(session: &mut PostgresSession, workload: &Workload) -> Result<Self, BackendError> {
        let table = session.table().clone();
        session.simple(&function(&table))?;
        let parameters: Vec<String> = (1..=table.array_types().len())
            .map(|place| format!("${place}"))
            .collect();
        let call = format!("SELECT * FROM pg_temp.preview_undo({})", parameters.join(", "));
        Ok(Self {
            workload: workload.clone(),
            begin: session.prepare("BEGIN", &[])?,
            call: session.prepare(&call, table.array_types())?,
            rollback: session.prepare("ROLLBACK", &[])?,
        })
    }
}

impl Strategy<PostgresSession> for OnPostgres {
    fn preview(
        &mut self,
        session: &mut PostgresSession,
        overrides: &Overrides,
        steps: &mut Steps,
    ) -> Result<Answer, PreviewError> {
        steps.enter(Step::Exchange);
        let mut flight = session.flight();
        flight.execute(self.begin, &[])?;
        flight.execute_overrides(self.call, overrides, self.workload.shape())?;
        flight.execute(self.rollback, &[])?;
        let (_, inputs) = land_model(flight, &self.workload)?;
        steps.enter(Step::Compute);
        Ok(self.workload.project(&inputs))
    }
}

/// The code that the function raises for itself alone.
const UNDO: &str = "PC001";

fn function(table: &ModelTable) -> String {
    let (name, update) = (table.name(), table.update_from(table.arrays()));
    // The table's own row type in the signature would keep the table from being dropped while the session lives.
    let (parameters, returned, list) = match table.shape() {
        Shape::Wide => {
            let returned: Vec<String> = COLUMNS.iter().map(|column| format!("its_{column} float8")).collect();
            let list: Vec<String> = COLUMNS.iter().map(|column| format!("u.{column}")).collect();
            (
                "int8[], text[], float8[]",
                format!("its_plan int8, {}", returned.join(", ")),
                format!("u.plan, {}", list.join(", ")),
            )
        }
        _ => (
            "text[], float8[]",
            "its_name text, its_value float8".to_owned(),
            "u.name::text, u.field_value::float8".to_owned(),
        ),
    };
    format!(
        "CREATE OR REPLACE FUNCTION pg_temp.preview_undo({parameters}) RETURNS TABLE ({returned}) LANGUAGE plpgsql AS $body$
DECLARE
    kept {name}[];
    touched bigint;
BEGIN
    BEGIN
        {update};
        GET DIAGNOSTICS touched = ROW_COUNT;
        IF touched <> cardinality($1) THEN
            RAISE EXCEPTION 'the write touched % rows where it overrides %', touched, cardinality($1);
        END IF;
        kept := ARRAY(SELECT m FROM {name} AS m);
        RAISE EXCEPTION 'undo' USING ERRCODE = '{UNDO}';
    EXCEPTION WHEN SQLSTATE '{UNDO}' THEN
        NULL;
    END;
    RETURN QUERY SELECT {list} FROM unnest(kept) AS u;
END $body$"
    )
}
