//! Each figure as a SELECT over the steps, and the query that gives a single one.

use super::view::{Directory, needed, quoted, student_t};
use super::{NOT_IN_SQL, Part, Sources, left_out};

/// A figure in SQL: the steps that it reads, and a SELECT of `cell` (or, over the sizes, `id`), `value`, `low`, `high`.
pub(super) struct Said {
    pub needs: Vec<&'static str>,
    pub select: String,
    pub over_sizes: bool,
}

fn said(needs: &[&'static str], select: &str) -> Said {
    Said {
        needs: needs.to_vec(),
        select: select.to_owned(),
        over_sizes: false,
    }
}

/// How SQL says the figure with this key; `None` where it can't.
pub(super) fn say(key: &str) -> Option<Said> {
    if left_out(NOT_IN_SQL, key).is_some_and(|(_, part, _)| *part == Part::Whole) {
        return None;
    }
    let parts = key.split_once('.');
    match parts {
        Some((side @ ("subject" | "baseline"), rest)) => of_side(side, rest),
        Some(("pairs" | "distance", _)) => of_rows(key),
        Some(("difference", rest)) => of_difference(rest),
        Some(("steps", rest)) => of_steps(rest),
        _ => of_rows(key).or_else(|| of_noise(key)).or_else(|| of_sizes(key)),
    }
}

fn of_rows(key: &str) -> Option<Said> {
    Some(match key {
        "forks" => said(
            &["cells", "forks"],
            "SELECT cell, count(fork) AS value, NULL AS low, NULL AS high\n\
             FROM cells LEFT JOIN forks USING (cell)\nGROUP BY cell",
        ),
        "pairs.ok" => said(
            &["cells", "measured"],
            "SELECT cell, count(*) FILTER (status = 'ok') AS value, NULL AS low, NULL AS high\n\
             FROM cells LEFT JOIN measured USING (cell)\nGROUP BY cell",
        ),
        "pairs.uncounted" => said(
            &["cells", "measured"],
            "SELECT cell, count(*) FILTER (status <> 'ok') AS value, NULL AS low, NULL AS high\n\
             FROM cells LEFT JOIN measured USING (cell)\nGROUP BY cell",
        ),
        "pairs.effective" => said(
            &["medians", "autocorrelation"],
            "SELECT cell, n * (1 - greatest(r, 0)) / (1 + greatest(r, 0)) AS value, NULL AS low, NULL AS high\n\
             FROM medians JOIN autocorrelation USING (cell)",
        ),
        "distance.median" => said(
            &["distances"],
            "SELECT cell, distance_ns AS value, NULL AS low, NULL AS high\nFROM distances",
        ),
        _ => return None,
    })
}

fn of_side(side: &str, key: &str) -> Option<Said> {
    let column = format!("{side}_ns");
    if let Some(end) = key.strip_prefix("fork_median.") {
        let select = format!(
            "SELECT cell, {end}({column}) AS value, NULL AS low, NULL AS high\nFROM fork_medians\nGROUP BY cell"
        );
        return Some(said(&["fork_medians"], &select));
    }
    let percent = key.strip_prefix('p')?;
    // Tails are told only with an interval.
    let value = match percent {
        "50" => "quantile_disc(ns, 0.50)".to_owned(),
        _ => format!("CASE WHEN any_value(low) IS NOT NULL THEN quantile_disc(ns, 0.{percent}) END"),
    };
    let select = format!(
        "\
SELECT cell, {value} AS value, max(ns) FILTER (rank = low) AS low, max(ns) FILTER (rank = high) AS high
FROM (
  SELECT cell, {column} AS ns, row_number() OVER (PARTITION BY cell ORDER BY {column}) AS rank,
    count(*) OVER (PARTITION BY cell) AS n
  FROM counted
) LEFT JOIN (SELECT n, low, high FROM quantile_ranks WHERE percent = {percent}) USING (n)
GROUP BY cell"
    );
    Some(said(&["counted", "quantile_ranks"], &select))
}

const WITHIN_SESSION: &str = "\
SELECT cell, quantile_disc(difference_ns, 0.5) AS value,
  max(difference_ns) FILTER (rank = low) AS low, max(difference_ns) FILTER (rank = high) AS high
FROM (
  SELECT cell, difference_ns, row_number() OVER (PARTITION BY cell ORDER BY difference_ns) AS rank,
    count(*) OVER (PARTITION BY cell) AS n
  FROM counted
) JOIN resample_ranks USING (n)
GROUP BY cell";

fn of_difference(key: &str) -> Option<Said> {
    Some(match key {
        "median" => said(
            &["medians", "headline"],
            "SELECT cell, difference_ns AS value, low, high\nFROM medians JOIN headline USING (cell)",
        ),
        "median.within_session" => said(&["counted", "resample_ranks"], WITHIN_SESSION),
        "of_medians" => said(
            &["medians"],
            "SELECT cell, subject_ns - baseline_ns AS value, NULL AS low, NULL AS high\nFROM medians",
        ),
        "fork_mean" => said(
            &["fork_medians"],
            "SELECT cell, avg(difference_ns) AS value, NULL AS low, NULL AS high\n\
             FROM fork_medians\nGROUP BY cell\nHAVING count(*) > 1",
        ),
        "slower_share" => {
            let select = format!(
                "\
SELECT cell, share AS value, low, high
FROM (
  SELECT cell, count(*) FILTER (difference_ns > 0) / count(*) AS share FROM counted GROUP BY cell
) LEFT JOIN (
  SELECT cell, greatest(low, 0) AS low, least(high, 1) AS high
  FROM (
{}
  )
  WHERE cell IN (SELECT cell FROM shares GROUP BY cell HAVING min(share) < max(share))
) USING (cell)",
                indented(&indented(&student_t("shares", "share", "cell")))
            );
            said(&["counted", "shares", "student_t"], &select)
        }
        "ratio" => said(
            &["medians", "log_ratio"],
            "SELECT cell, CASE WHEN baseline_ns > 0 THEN subject_ns / baseline_ns END AS value, exp(low) AS low, exp(high) AS high\n\
             FROM medians LEFT JOIN log_ratio USING (cell)",
        ),
        "order_effect" => said(
            &["order_effects", "student_t"],
            &student_t("order_effects", "effect_ns", "cell"),
        ),
        "autocorrelation" => said(
            &["autocorrelation"],
            "SELECT cell, r AS value, NULL AS low, NULL AS high\nFROM autocorrelation",
        ),
        "trips" => said(
            &["medians", "distances"],
            "SELECT cell, difference_ns / distance_ns AS value, NULL AS low, NULL AS high\n\
             FROM medians JOIN distances USING (cell)\nWHERE distance_ns > 0",
        ),
        "budget_share" => said(
            &["medians", "settings"],
            "SELECT cell, difference_ns / settings.value::BIGINT AS value, NULL AS low, NULL AS high\n\
             FROM medians, settings\nWHERE section = 'figures' AND key = 'debounce'",
        ),
        _ => return None,
    })
}

/// `subject.write.p50`, `baseline.write.share`, `difference.write`, `difference.whole`.
fn of_steps(key: &str) -> Option<Said> {
    let words: Vec<&str> = key.split('.').collect();
    Some(match *words.as_slice() {
        ["difference", "whole"] => said(
            &["step_parts"],
            "SELECT cell, sum(part_ns) / count(DISTINCT (fork, previewer, pair)) AS value, NULL AS low, NULL AS high\n\
             FROM step_parts\nWHERE is_middle\nGROUP BY cell",
        ),
        ["difference", step] => said(
            &["step_parts"],
            &format!(
                "\
SELECT cell, coalesce(sum(part_ns) FILTER (is_middle AND step = '{step}'), 0)
  / count(DISTINCT (fork, previewer, pair)) FILTER (is_middle) AS value, NULL AS low, NULL AS high
FROM step_parts
GROUP BY cell
HAVING count(*) FILTER (step = '{step}') > 0"
            ),
        ),
        [side, step, "p50"] => said(
            &["step_times"],
            &format!(
                "SELECT cell, quantile_disc(ns, 0.5) AS value, NULL AS low, NULL AS high\n\
                 FROM step_times\nWHERE side = '{side}' AND step = '{step}'\nGROUP BY cell"
            ),
        ),
        [side, step, "share"] => said(
            &["step_times"],
            &format!(
                "\
SELECT cell, CASE sum(ns) WHEN 0 THEN 0 ELSE sum(ns) FILTER (step = '{step}') / sum(ns) END AS value,
  NULL AS low, NULL AS high
FROM step_times
WHERE side = '{side}'
GROUP BY cell
HAVING count(*) FILTER (step = '{step}') > 0"
            ),
        ),
        _ => return None,
    })
}

fn of_noise(key: &str) -> Option<Said> {
    Some(match key {
        "noise_floor" => said(
            &["controls", "headline"],
            "SELECT controls.cell, greatest(abs(low), abs(high)) AS value, NULL AS low, NULL AS high\n\
             FROM controls JOIN headline ON headline.cell = control",
        ),
        "noise_factor" => said(
            &["controls", "log_ratio"],
            "SELECT controls.cell, exp(greatest(abs(low), abs(high))) AS value, NULL AS low, NULL AS high\n\
             FROM controls JOIN log_ratio ON log_ratio.cell = control",
        ),
        _ => return None,
    })
}

fn of_sizes(key: &str) -> Option<Said> {
    let column = match key {
        "fixed" => "fixed_ns",
        "per_plan" => "per_plan_ns",
        _ => return None,
    };
    Some(Said {
        needs: vec!["lines", "student_t"],
        select: student_t("lines", column, "id"),
        over_sizes: true,
    })
}

/// The query that gives one figure of a run, ready to be pasted into DuckDB; `None` where SQL can't say it.
pub fn query(id: &str, sources: &Sources) -> Option<String> {
    let (of, key) = id.split_once("].").map(|(of, key)| (format!("{of}]"), key))?;
    let said = say(key).filter(|_| !sources.is_empty())?;
    let mut needs = said.needs.clone();
    if !said.over_sizes {
        needs.push("cells");
    }
    let steps: Vec<String> = needed(&needs)
        .iter()
        .map(|view| {
            let select = view.select(sources, Directory::Path(&sources.directory));
            format!("{} AS (\n{}\n)", view.name, indented(&select))
        })
        .collect();
    let joined = if said.over_sizes {
        ""
    } else {
        " JOIN cells USING (cell)"
    };
    Some(format!(
        "WITH {}\nSELECT value, low, high\nFROM (\n{}\n){joined}\nWHERE id = {};\n",
        steps.join(",\n"),
        indented(&said.select),
        quoted(&of)
    ))
}

pub(super) fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
