//! The list of steps.

use super::view::{View, over_forks, view};

/// Every step, each after those that it reads. The first ones read files, and `student_t` is a table of constants.
pub(super) const STEPS: &[View] = &[
    view(
        "cells",
        &[],
        "The grid.",
        "SELECT cell, id, kind, plans, subject, baseline FROM {cells}",
    ),
    view(
        "settings",
        &[],
        "The manifest, with its defaults filled in.",
        "SELECT section, key, value FROM {manifest}",
    ),
    view(
        "forks",
        &[],
        "The processes that measured.",
        "SELECT cell, fork, distance_before_ns, distance_after_ns, {own_distance} FROM {forks}",
    ),
    view(
        "measured",
        &[],
        "The pairs after the warm-up, whatever became of them.",
        "\
SELECT cell, fork, previewer, pair, status, subject_first, subject_ns, baseline_ns
FROM {pairs}
WHERE phase = 'measured'",
    ),
    view(
        "counted",
        &["measured"],
        "The pairs that count, with subject minus baseline.",
        "\
SELECT cell, fork, previewer, pair, subject_first, subject_ns, baseline_ns, subject_ns - baseline_ns AS difference_ns
FROM measured
WHERE status = 'ok'",
    ),
    view(
        "medians",
        &["counted"],
        "A cell's medians over all its pairs. quantile_disc of a literal is nearest rank: the value at rank ceil(q · n).",
        "\
SELECT cell, count(*) AS n,
  quantile_disc(subject_ns, 0.5) AS subject_ns,
  quantile_disc(baseline_ns, 0.5) AS baseline_ns,
  quantile_disc(difference_ns, 0.5) AS difference_ns
FROM counted
GROUP BY cell",
    ),
    view(
        "fork_medians",
        &["counted"],
        "The same, fork by fork.",
        "\
SELECT cell, fork,
  quantile_disc(subject_ns, 0.5) AS subject_ns,
  quantile_disc(baseline_ns, 0.5) AS baseline_ns,
  quantile_disc(difference_ns, 0.5) AS difference_ns
FROM counted
GROUP BY cell, fork",
    ),
    view(
        "student_t",
        &[],
        "The 97.5 % quantile of Student's t: DuckDB has no such function. The values are those of scipy.stats.t.ppf.",
        "SELECT * FROM (VALUES {t}) AS quantiles(freedom, t)",
    ),
    over_forks(
        "headline",
        &["fork_medians", "student_t"],
        "Student's t on the forks' median differences.",
        "fork_medians",
        "difference_ns",
    ),
    view(
        "log_ratios",
        &["fork_medians"],
        "The logarithm of the forks' ratios of medians.",
        "\
SELECT cell, ln(subject_ns / baseline_ns) AS log_ratio
FROM fork_medians
WHERE subject_ns > 0 AND baseline_ns > 0",
    ),
    over_forks(
        "log_ratio",
        &["log_ratios", "student_t"],
        "Student's t on them.",
        "log_ratios",
        "log_ratio",
    ),
    view(
        "quantile_ranks",
        &["medians"],
        "\
Ranks between which a quantile lies with 95 %, whatever the distribution: of n values, Binomial(n, q) lie at or below
it. What is ten standard deviations away from the expected number is left out of the sum.",
        "\
SELECT n, percent,
  min(k) FILTER (reached > 0.025) AS low,
  min(k) FILTER (reached >= 0.975) + 1 AS high
FROM (
  SELECT n, percent, k, sum(exp(
      lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * ln(percent / 100) + (n - k) * ln(1 - percent / 100)
    )) OVER (PARTITION BY n, percent ORDER BY k) AS reached
  FROM (
    SELECT n, percent, unnest(generate_series(
      greatest(0, CAST(floor(n * percent / 100 - 10 * sqrt(n)) AS BIGINT)),
      least(n, CAST(ceil(n * percent / 100 + 10 * sqrt(n)) AS BIGINT)))) AS k
    FROM (SELECT DISTINCT n FROM medians), (VALUES (50), (95), (99)) AS quantiles(percent)
  )
)
GROUP BY n, percent
HAVING low >= 1 AND high <= n",
    ),
    view(
        "resample_ranks",
        &["medians"],
        "\
Ranks of the percentile bootstrap of the median with infinitely many resamples: a resample's median lies at or below
rank k when at least half of its n draws do, each with probability k / n. Ranks are tried within two standard
deviations around the middle, and the sum stops ten standard deviations above.",
        "\
SELECT n,
  min(k) FILTER (reached >= 0.025) AS low,
  min(k) FILTER (reached >= 0.975) AS high
FROM (
  SELECT n, k, sum(CASE WHEN k < n THEN exp(
      lgamma(n + 1) - lgamma(hits + 1) - lgamma(n - hits + 1) + hits * ln(k / n) + (n - hits) * ln(1 - k / n)
    ) ELSE CAST(hits = n AS INTEGER) END) AS reached
  FROM (
    SELECT n, k, unnest(generate_series((n + 1) // 2, least(n, k + 5 * CAST(ceil(sqrt(n)) AS BIGINT)))) AS hits
    FROM (
      SELECT n, unnest(generate_series(
        greatest(1, (n + 1) // 2 - CAST(ceil(sqrt(n)) AS BIGINT) - 2),
        least(n, (n + 1) // 2 + CAST(ceil(sqrt(n)) AS BIGINT) + 2))) AS k
      FROM (SELECT DISTINCT n FROM medians)
    )
  )
  GROUP BY n, k
)
GROUP BY n",
    ),
    view(
        "order_effects",
        &["counted"],
        "A fork's median difference with the subject first, less that with the baseline first.",
        "\
SELECT cell, fork,
  quantile_disc(difference_ns, 0.5) FILTER (subject_first)
  - quantile_disc(difference_ns, 0.5) FILTER (NOT subject_first) AS effect_ns
FROM counted
GROUP BY cell, fork",
    ),
    view(
        "shares",
        &["counted"],
        "The share of a fork's pairs in which the subject took longer.",
        "\
SELECT cell, fork, count(*) FILTER (difference_ns > 0) / count(*) AS share
FROM counted
GROUP BY cell, fork",
    ),
    view(
        "centred_ranks",
        &["counted"],
        "Ranks of a fork's differences less their mean; equal differences share the mean of their ranks.",
        "\
SELECT cell, fork, previewer, pair,
  rank() OVER (PARTITION BY cell, fork ORDER BY difference_ns)
  + (count(*) OVER (PARTITION BY cell, fork, difference_ns) - 1) / 2
  - (count(*) OVER (PARTITION BY cell, fork) + 1) / 2 AS rank
FROM counted",
    ),
    view(
        "autocorrelation",
        &["centred_ranks"],
        "The correlation of neighbouring ranks, mean over the forks with ten pairs or more.",
        "\
SELECT cell, avg(r) AS r
FROM (
  SELECT cell, fork, sum(rank * previous) / sum(rank * rank) AS r
  FROM (
    SELECT cell, fork, rank, lag(rank) OVER (PARTITION BY cell, fork ORDER BY previewer, pair) AS previous
    FROM centred_ranks
  )
  GROUP BY cell, fork
  HAVING count(*) >= 10 AND sum(rank * rank) > 0
)
GROUP BY cell",
    ),
    view(
        "distances",
        &["forks"],
        "The nearest-rank median of the distances before and after the pairs, or of the subject's own where it has one.",
        "\
SELECT cell, coalesce(quantile_disc(own_ns, 0.5), quantile_disc(distance_ns, 0.5)) AS distance_ns
FROM (
  SELECT cell, distance_before_ns AS distance_ns, subject_distance_ns AS own_ns FROM forks
  UNION ALL SELECT cell, distance_after_ns, NULL FROM forks
)
WHERE distance_ns IS NOT NULL OR own_ns IS NOT NULL
GROUP BY cell",
    ),
    view(
        "step_times",
        &["counted"],
        "\
How long each step took in the counted pairs; a step that a preview comes back to counts with its sum. Pairs of which one
side has no steps are left out.",
        "\
SELECT * FROM (
  SELECT cell, fork, previewer, pair, side, step, sum(step_ns)::BIGINT AS ns
  FROM {steps} JOIN (SELECT cell, fork, previewer, pair FROM counted) USING (cell, fork, previewer, pair)
  WHERE phase = 'measured'
  GROUP BY cell, fork, previewer, pair, side, step
)
QUALIFY count(*) FILTER (side = 'subject') OVER (PARTITION BY cell, fork, previewer, pair) > 0
  AND count(*) FILTER (side = 'baseline') OVER (PARTITION BY cell, fork, previewer, pair) > 0",
    ),
    view(
        "step_parts",
        &["step_times"],
        "\
What each step adds to its pair's difference, and whether the pair is one of the middle half: a quarter of the pairs is
taken off at either end of the differences; among equals, the order of the archive decides.",
        "\
SELECT cell, fork, previewer, pair, step, part_ns, rank > n // 4 AND rank <= n - n // 4 AS is_middle
FROM (
  SELECT cell, fork, previewer, pair, step, sum(CASE side WHEN 'subject' THEN ns ELSE -ns END) AS part_ns
  FROM step_times
  GROUP BY cell, fork, previewer, pair, step
) JOIN (
  SELECT cell, fork, previewer, pair, count(*) OVER (PARTITION BY cell) AS n,
    row_number() OVER (PARTITION BY cell ORDER BY difference_ns, fork, previewer, pair) AS rank
  FROM (
    SELECT cell, fork, previewer, pair, sum(CASE side WHEN 'subject' THEN ns ELSE -ns END) AS difference_ns
    FROM step_times
    GROUP BY cell, fork, previewer, pair
  )
) USING (cell, fork, previewer, pair)",
    ),
    view(
        "controls",
        &["cells"],
        "The control at each cell's size.",
        "\
SELECT cells.cell, min(controls.cell) AS control
FROM cells JOIN cells AS controls ON controls.kind = 'control'
  AND controls.plans = cells.plans AND controls.subject = cells.subject
  AND regexp_replace(controls.id, '^[a-z]+', '') = regexp_replace(cells.id, '^[a-z]+', '')
GROUP BY cells.cell",
    ),
    view(
        "lines",
        &["cells", "fork_medians"],
        "\
Least squares through the sizes, for each round of forks that every size has.",
        "\
SELECT 'scaling[subject=' || subject || ',baseline=' || baseline || further || ']' AS id,
  regr_intercept(difference_ns, plans) AS fixed_ns,
  regr_slope(difference_ns, plans) AS per_plan_ns
FROM fork_medians JOIN (
  SELECT *, count(*) OVER (PARTITION BY subject, baseline, further) AS sizes
  FROM (
    SELECT *, regexp_extract(id, ',backend=[^],]+') || regexp_extract(id, ',schema=[^],]+')
      || regexp_extract(id, ',delay=[^],]+') AS further
    FROM cells WHERE kind = 'comparison'
  )
) USING (cell)
WHERE sizes >= 2
GROUP BY subject, baseline, further, sizes, fork
HAVING count(*) = sizes",
    ),
];
