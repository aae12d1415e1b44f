"""Holds a run's chain against its Parquet files without preview-cost: links, root, and the digest of each fork's rows.

    chain.py RUN...

The rows go through a Parquet file that DuckDB writes anew, so that what is held is what they say and not their bytes.
The text that is hashed is the one that src/archive/rows_digest.rs documents. Runs without a chain (schema 1.0) are passed
over.
"""

import hashlib
import json
import struct
import sys
import tempfile
from pathlib import Path

import duckdb


TABLES = ("manifest", "cells", "forks", "pairs", "steps", "wire")


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def value(cell):
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return struct.pack(">d", cell).hex()
    if isinstance(cell, str):
        return json.dumps(cell, ensure_ascii=False)
    return str(cell)


def text(rows, names):
    order = sorted(range(len(names)), key=lambda place: names[place].encode())
    line = lambda row: "\t".join(f"{names[place]}={value(row[place])}" for place in order if row[place] is not None)
    return "".join(line(row) + "\n" for row in rows)


def rewritten(table, directory):
    """The rows of a table after another writer had them."""
    path = Path(directory) / table.name
    connection = duckdb.connect()
    connection.execute(f"COPY (FROM '{table}') TO '{path}' (FORMAT parquet, COMPRESSION gzip, ROW_GROUP_SIZE 3000)")
    found = connection.execute(f"FROM '{path}'")
    return [column[0] for column in found.description], found.fetchall()


def entries(run):
    previous, found = None, []
    for place, line in enumerate((run / "chain.jsonl").read_text().splitlines()):
        entry = json.loads(line)
        assert entry["seq"] == place and entry["previous"] == previous, f"{run}: line {place + 1} does not follow"
        previous = sha256(line)
        found.append(entry)
    return found, previous


def check(run):
    chain, root = entries(run)
    with tempfile.TemporaryDirectory() as directory:
        names = [name for name in TABLES if (run / f"{name}.parquet").exists()]
        tables = {name: rewritten(run / f"{name}.parquet", directory) for name in names}
    of = lambda name: sha256(text(tables[name][1], tables[name][0]))
    manifest = next(entry for entry in chain if entry["entry"] == "manifest")
    assert manifest["sha256"] == hashlib.sha256((run / "manifest.toml").read_bytes()).hexdigest()
    assert manifest["settings"] == of("manifest") and manifest["cells"] == of("cells"), f"{run}: manifest or cells"
    keyed = {}
    for name in {"forks", "pairs", "steps", "wire"} & set(tables):
        names, rows = tables[name]
        cell, fork = names.index("cell"), names.index("fork")
        for row in rows:
            keyed.setdefault((name, row[cell], row[fork]), []).append(row)
    forks = [entry for entry in chain if entry["entry"] == "fork"]
    for entry in forks:
        named = {"forks": entry["row"], "pairs": entry["pairs"], "steps": entry.get("steps"), "wire": entry.get("wire")}
        for name, digest in named.items():
            if digest is None:
                continue
            rows = keyed.get((name, entry["cell"], entry["fork"]), [])
            assert sha256(text(rows, tables[name][0])) == digest, f"{run}: {name} of fork {entry['fork']}"
    seal = chain[-1]
    assert seal["entry"] == "seal" and seal["forks"] == len(forks)
    for name, digest in seal["files"].items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest, f"{run}: {name}"
    ledger = run.parent / "LEDGER.jsonl"
    roots = [line.get("root") for line in map(json.loads, ledger.read_text().splitlines()) if line.get("run") == run.name]
    assert root in roots, f"{run}: the ledger has another root"
    print(f"{run.name}: {len(chain)} links, {len(forks)} forks; root {root}")


def main():
    for run in map(Path, sys.argv[1:]):
        if (run / "chain.jsonl").exists():
            check(run)


main()
