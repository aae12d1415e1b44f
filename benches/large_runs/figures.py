"""The quantiles of analyze that DuckDB can compute: nine a cell, three medians a fork."""

import os
import sys

import duckdb

database = duckdb.connect()
database.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
database.execute(
    """
    CREATE VIEW counted AS
    SELECT cell, fork, subject_ns, baseline_ns, subject_ns - baseline_ns AS difference_ns
    FROM read_parquet($pairs) WHERE phase = 'measured' AND status = 'ok'
    """.replace("$pairs", "'" + sys.argv[1].replace("'", "''") + "'")
)
cells = database.execute(
    """
    SELECT cell, count(*),
        quantile_disc(subject_ns, [0.5, 0.95, 0.99]),
        quantile_disc(baseline_ns, [0.5, 0.95, 0.99]),
        quantile_disc(difference_ns, [0.5, 0.95, 0.99])
    FROM counted GROUP BY cell ORDER BY cell
    """
).fetchall()
forks = database.execute(
    """
    SELECT cell, fork, quantile_disc(subject_ns, 0.5), quantile_disc(baseline_ns, 0.5), quantile_disc(difference_ns, 0.5)
    FROM counted GROUP BY cell, fork ORDER BY cell, fork
    """
).fetchall()
for row in cells + forks:
    print(*row)
