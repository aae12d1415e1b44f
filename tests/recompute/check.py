"""Holds a run's figures against what DuckDB and pandas make of its Parquet files.

    check.py PROGRAM RUN...

For each run, the program writes recompute.sql and recompute.py, both are run, and every figure that a script does not
declare as left out must come out as `analyze --format json` tells it: counts and order statistics to the last bit, the
rest to 1e-12 of the figure's largest number. The query of `--explain` is run as well, for each kind of figure.
"""

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

TOLERANCE = 1e-12
NUMBERS = ("value", "low", "high")
# What is measured or counted, and nothing computed from it: the last bit must be the same.
EXACT = re.compile(
    r"\.(forks|forks_needed|pairs\.(ok|uncounted)|(subject|baseline)\.(p50|p95|p99|fork_median\.(min|max))"
    r"|difference\.(median\.within_session|of_medians)|distance\.median"
    r"|steps\.(subject|baseline)\.\w+\.p50|wire\.(added|overshoot\.p\d+|subject\.trips\.(min|max)))$"
)
EXACT_VALUE = re.compile(r"\.difference\.median$")


def program(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def left_out(script):
    """Key to what the script says that it leaves out, `figure` or `interval`."""
    return dict(re.findall(r"^(?:--|#) left out: (\S+) \((figure|interval)\):", script, re.MULTILINE))


def is_meant(wanted, key):
    """Whether a key is the one that is left out; `steps.*` stands for all that begin so."""
    return key.startswith(wanted[:-1]) if wanted.endswith("*") else key == wanted


def by_duckdb(run, script):
    connection = duckdb.connect()
    connection.execute(f"SET VARIABLE run = '{run}'")
    rows = connection.execute(script).fetchall()
    return {row[0]: dict(zip(NUMBERS, row[1:])) for row in rows}


def by_pandas(run, path):
    rows = csv.DictReader(io.StringIO(program(sys.executable, "-W", "error", path, run)))
    number = lambda text: float(text) if text else None
    return {row["id"]: {name: number(row[name]) for name in NUMBERS} for row in rows}


def by_explanation(binary, run, ids):
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    found = {}
    for figure in ids:
        told = program(binary, "analyze", run, "--explain", figure)
        if "\nWITH " in told:
            rows = connection.execute("WITH " + told.split("\nWITH ", 1)[1]).fetchall()
            if len(rows) > 1:
                sys.exit(f"{run}: the query of {figure} gives {len(rows)} rows")
            found[figure] = dict(zip(NUMBERS, rows[0])) if rows else {}
    return found


class Comparison:
    def __init__(self, name):
        self.name, self.figures, self.exact, self.numbers, self.exact_numbers = name, 0, 0, 0, 0
        self.left_out, self.faults = 0, []

    def compare(self, figures, found, left_out):
        for unknown in sorted(set(found) - {figure["id"] for figure in figures}):
            self.faults.append(f"{self.name}: {unknown} is no figure of the program")
        for figure in figures:
            key = re.split(r"\]\.", figure["id"], maxsplit=1)[1]
            part = next((part for wanted, part in left_out.items() if is_meant(wanted, key)), None)
            if part == "figure":
                self.left_out += 1
                continue
            names = NUMBERS[:1] if part == "interval" else NUMBERS
            self.one(figure, found.get(figure["id"], {}), names)

    def one(self, figure, found, names):
        told = {name: figure[name] for name in names}
        scale = max((abs(number) for number in told.values() if number is not None), default=0)
        same = True
        for name, number in told.items():
            other = found.get(name)
            if number is None and other is None:
                continue
            self.numbers += 1
            if number == other:
                self.exact_numbers += 1
                continue
            same = False
            exact = EXACT.search(figure["id"]) or (name == "value" and EXACT_VALUE.search(figure["id"]))
            if number is None or other is None or exact or not abs(number - other) <= TOLERANCE * scale:
                self.faults.append(f"{self.name}: {figure['id']} {name}: the program says {number!r}, it is {other!r}")
        if any(number is not None for number in told.values()):
            self.figures += 1
            self.exact += same

    def tell(self):
        print(
            f"  {self.name:<10}{self.figures} figures compared, {self.exact} equal to the last bit; "
            f"{self.numbers} numbers, {self.exact_numbers} equal to the last bit; {self.left_out} left out"
        )
        return self.faults


def one_of_each(figures):
    """The figures of the first cell, of the first control and of the first sides over the sizes."""
    first = {}
    for figure in figures:
        kind, of = re.match(r"(\w+)(\[.*?\])\.", figure["id"]).groups()
        first.setdefault(kind, of)
    return [figure for figure in figures if any(figure["id"].startswith(kind + of) for kind, of in first.items())]


def check(binary, run):
    figures = json.loads(program(binary, "analyze", run, "--format", "json"))["runs"][0]["figures"]
    print(f"{run}: {len(figures)} figures")
    with tempfile.TemporaryDirectory() as directory:
        program(binary, "recompute", run, "--out", directory)
        sql, python = Path(directory, "recompute.sql"), Path(directory, "recompute.py")
        says = {
            "DuckDB": (by_duckdb(run, sql.read_text()), left_out(sql.read_text())),
            "pandas": (by_pandas(run, python), left_out(python.read_text())),
        }
        explained = one_of_each(figures)
        ids = [figure["id"] for figure in explained]
        says["--explain"] = (by_explanation(binary, run, ids), left_out(sql.read_text()))
    faults = []
    for name, (found, missing) in says.items():
        comparison = Comparison(name)
        comparison.compare(explained if name == "--explain" else figures, found, missing)
        faults += [f"{run}: {fault}" for fault in comparison.tell()]
    return faults


def check_nearest_rank():
    """quantile_disc of a literal is the value at rank ceil(q · n), for even n and q = 0.5 too."""
    connection = duckdb.connect()
    faults = []
    for n in range(1, 1_001):
        query = "SELECT quantile_disc(i, 0.5), quantile_disc(i, 0.95), quantile_disc(i, 0.99) FROM range(1, ?) AS r(i)"
        found = connection.execute(query, [n + 1]).fetchone()
        expected = tuple(-(-n * percent // 100) for percent in (50, 95, 99))
        if found != expected:
            faults.append(f"quantile_disc of {n} values gives ranks {found}, nearest rank is {expected}")
    print("quantile_disc is nearest rank for 1 to 1000 values at 0.5, 0.95 and 0.99" if not faults else "")
    return faults


def main():
    binary, *runs = sys.argv[1:]
    if not runs:
        sys.exit("usage: check.py PROGRAM RUN...")
    faults = check_nearest_rank()
    for run in runs:
        faults += check(binary, run)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
