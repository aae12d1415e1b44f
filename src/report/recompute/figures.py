import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

COLUMNS = ["cell", "fork", "previewer", "pair", "phase", "status", "subject_first", "subject_ns", "baseline_ns"]


def nearest_rank(values, percent):
    """The value at rank ceil(q · n) of the sorted values, in whole numbers; None where there are none."""
    n = len(values)
    if n == 0:
        return None
    rank = -(-n * percent // 100)
    return int(np.sort(values)[rank - 1])


def over_forks(values):
    """Mean of one value a fork, and its 95 % interval by Student's t; no interval below two forks."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 2:
        return (values.mean() if n else None), None, None
    mean = values.mean()
    half_width = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return mean, mean - half_width, mean + half_width


def order_statistics(values, percent):
    """The 95 % interval of a quantile between two of the values, whatever the distribution (Hahn and Meeker, 1991)."""
    n = len(values)
    if n == 0:
        return None, None
    reached = stats.binom.cdf(np.arange(n + 1), n, percent / 100)
    low = int(np.searchsorted(reached, 0.025, side="right"))
    high = int(np.searchsorted(reached, 0.975, side="left")) + 1
    if low < 1 or high > n:
        return None, None
    ordered = np.sort(values)
    return int(ordered[low - 1]), int(ordered[high - 1])


def pooled_bootstrap(values):
    """The percentile bootstrap of the median with infinitely many resamples.

    A resample's median lies at or below rank k of the sample when at least half of its n draws fall there, each of
    which does with probability k/n: a tail of the binomial.
    """
    n = len(values)
    half = -(-n // 2)
    reached = stats.binom.sf(half - 1, n, np.arange(1, n + 1) / n)
    ordered = np.sort(values)
    low, high = np.searchsorted(reached, [0.025, 0.975], side="left")
    return int(ordered[low]), int(ordered[high])


def autocorrelation(differences):
    """Lag-1 correlation of the ranks; None below ten values or where all are equal."""
    if len(differences) < 10:
        return None
    centred = differences.rank(method="average").to_numpy() - (len(differences) + 1) / 2
    variance = (centred**2).sum()
    return (centred[1:] * centred[:-1]).sum() / variance if variance > 0 else None


def side(times, medians):
    figures = {}
    for percent in (50, 95, 99):
        low, high = order_statistics(times, percent)
        told = percent == 50 or low is not None
        figures[f"p{percent}"] = (nearest_rank(times, percent) if told else None, low, high)
    figures["fork_median.min"] = (min(medians, default=None), None, None)
    figures["fork_median.max"] = (max(medians, default=None), None, None)
    return figures


def cell_figures(forks, measured, pairs, debounce):
    """What a cell shows by itself, from its forks, its measured pairs and those of them that count."""
    by_fork = [fork for _, fork in pairs.groupby("fork")]
    medians = {name: [nearest_rank(fork[name], 50) for fork in by_fork] for name in ("subject_ns", "baseline_ns", "d")}
    figures = {
        "forks": (len(forks), None, None),
        "pairs.ok": (len(pairs), None, None),
        "pairs.uncounted": (len(measured) - len(pairs), None, None),
    }
    for name in ("subject", "baseline"):
        of_side = side(pairs[f"{name}_ns"], medians[f"{name}_ns"])
        figures |= {f"{name}.{key}": told for key, told in of_side.items()}
    trips = pd.concat([forks.distance_before_ns, forks.distance_after_ns]).dropna().astype("int64")
    distance = nearest_rank(trips, 50)
    figures["distance.median"] = (distance, None, None)
    if len(pairs) > 0:
        figures |= difference_figures(pairs, by_fork, medians)
        median = figures["difference.median"][0]
        figures["difference.trips"] = (median / distance if distance else None, None, None)
        figures["difference.budget_share"] = (median / debounce, None, None)
    return figures


def difference_figures(pairs, by_fork, medians):
    median = nearest_rank(pairs.d, 50)
    subject, baseline = nearest_rank(pairs.subject_ns, 50), nearest_rank(pairs.baseline_ns, 50)
    mean, low, high = over_forks(medians["d"])
    figures = {
        "difference.median": (median, low, high),
        "difference.median.within_session": (median, *pooled_bootstrap(pairs.d)),
        "difference.of_medians": (subject - baseline, None, None),
        "difference.fork_mean": (mean if len(by_fork) > 1 else None, None, None),
    }

    shares = [(fork.d > 0).mean() for fork in by_fork]
    _, low, high = over_forks(shares)
    # Equal shares have no spread, and so no interval.
    interval = (max(low, 0.0), min(high, 1.0)) if len(set(shares)) > 1 else (None, None)
    figures["difference.slower_share"] = ((pairs.d > 0).mean(), *interval)

    both = zip(medians["subject_ns"], medians["baseline_ns"])
    _, low, high = over_forks([np.log(s / b) for s, b in both if s > 0 and b > 0])
    interval = (None, None) if low is None else (np.exp(low), np.exp(high))
    figures["difference.ratio"] = (subject / baseline if baseline > 0 else None, *interval)

    effects = []
    for fork in by_fork:
        first, second = fork.d[fork.subject_first], fork.d[~fork.subject_first]
        if len(first) > 0 and len(second) > 0:
            effects.append(nearest_rank(first, 50) - nearest_rank(second, 50))
    figures["difference.order_effect"] = over_forks(effects)

    correlations = [r for r in (autocorrelation(fork.d) for fork in by_fork) if r is not None]
    if correlations:
        r = np.mean(correlations)
        positive = max(r, 0.0)
        figures["difference.autocorrelation"] = (r, None, None)
        figures["pairs.effective"] = (len(pairs) * (1 - positive) / (1 + positive), None, None)
    return figures


def noise(cell, cells, figures):
    """What the control at the same size could have told from nothing."""
    coordinates = cell.id[cell.id.index("[") :]
    same = (cells.kind == "control") & cells.id.str.endswith(coordinates, na=False)
    for control in cells[same].id[:1]:
        _, low, high = figures[control].get("difference.median", (None, None, None))
        if low is None:
            continue
        figures[cell.id]["noise_floor"] = (max(abs(low), abs(high)), None, None)
        _, low, high = figures[control]["difference.ratio"]
        if low is not None:
            figures[cell.id]["noise_factor"] = (np.exp(max(abs(np.log(low)), abs(np.log(high)))), None, None)


def forks_needed(medians, margin):
    """The smallest number of forks whose Student t interval is at most half the margin wide either way."""
    forks = np.arange(2, 100_001)
    half_widths = stats.t.ppf(0.975, forks - 1) * np.std(medians, ddof=1) / np.sqrt(forks)
    enough = forks[half_widths <= margin / 2]
    return int(enough[0]) if len(enough) > 0 else None


def claim(medians, margin):
    """The two-sided p-value of claiming the place, beyond the margin or within it, where the mean lies."""
    n, mean = len(medians), np.mean(medians)
    error = np.std(medians, ddof=1) / np.sqrt(n)
    distance = abs(margin - abs(mean))
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return min(2 * stats.t.sf(distance / error, n - 1), 1.0)


def holm(claims):
    """Adjusts p-values over the cells (Holm, 1979)."""
    adjusted, running = {}, 0.0
    for place, (cell, p) in enumerate(sorted(claims.items(), key=lambda claim: claim[1])):
        running = max(running, min(p * (len(claims) - place), 1.0))
        adjusted[cell] = running
    return adjusted


def judge(cells, medians, margin, figures):
    """The forks that would have been enough, for every cell, and the p-values of the cells that answer the question."""
    claims = {}
    for cell in cells.itertuples():
        of_cell = medians[medians.index.get_level_values("cell") == cell.cell].to_numpy()
        if len(of_cell) < 2:
            continue
        figures[cell.id]["forks_needed"] = (forks_needed(of_cell, margin), None, None)
        if cell.kind == "comparison":
            claims[cell.id] = claim(of_cell, margin)
    for name, p in holm(claims).items():
        figures[name]["verdict.p"] = (p, None, None)


def scaling(cells, fork_medians):
    """A straight line through the sizes for each round of forks, and the mean of the lines."""
    figures = {}
    comparisons = cells[cells.kind == "comparison"]
    schema = comparisons.id.str.extract(r"(,schema=[^],]+)", expand=False).fillna("")
    by = [comparisons.subject, comparisons.baseline, schema]
    for (subject, baseline, schema), of_sides in comparisons.groupby(by, sort=False):
        if len(of_sides) < 2:
            continue
        medians = of_sides.merge(fork_medians, on="cell").pivot(index="fork", columns="plans", values="d")
        rounds = medians.dropna() if medians.shape[1] == len(of_sides) else medians[:0]
        if len(rounds) == 0:
            continue
        sizes = rounds.columns.to_numpy(dtype=float)
        centred = sizes - sizes.mean()
        slopes = (rounds.to_numpy(dtype=float) * centred).sum(axis=1) / (centred**2).sum()
        fixed = rounds.mean(axis=1).to_numpy() - slopes * sizes.mean()
        name = f"scaling[subject={subject},baseline={baseline}{schema}]"
        figures[name] = {"fixed": over_forks(fixed), "per_plan": over_forks(slopes)}
    return figures


def recompute(run):
    """Every figure of the run in this directory: id to value, low and high."""
    cells = pd.read_parquet(run / "cells.parquet").sort_values("cell")
    manifest = pd.read_parquet(run / "manifest.parquet")
    settings = {(row.section, row.key): row.value for row in manifest.itertuples()}
    debounce, margin = int(settings["figures", "debounce"]), int(settings["figures", "margin"])

    forks = pd.concat([pd.read_parquet(run / name) for name in FORKS])
    pairs = pd.concat([pd.read_parquet(run / name, columns=COLUMNS) for name in PAIRS])
    measured = pairs[pairs.phase == "measured"].sort_values(["cell", "fork", "previewer", "pair"])
    # Only a pair that did not end well lacks a time; without those, the columns are whole numbers again.
    counted = measured[measured.status == "ok"].astype({"subject_ns": "int64", "baseline_ns": "int64"})
    counted["d"] = counted.subject_ns - counted.baseline_ns

    figures = {}
    for cell in cells.itertuples():
        of_cell = (table[table.cell == cell.cell] for table in (forks, measured, counted))
        figures[cell.id] = cell_figures(*of_cell, debounce)
    for cell in cells.itertuples():
        noise(cell, cells, figures)
    medians = counted.groupby(["cell", "fork"]).d.apply(nearest_rank, 50)
    judge(cells, medians, margin, figures)
    figures |= scaling(cells, medians.reset_index())
    return {f"{of}.{key}": told for of, told_of in figures.items() for key, told in told_of.items()}


def main():
    run = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["id", "value", "low", "high"])
    for name, told in sorted(recompute(run).items()):
        writer.writerow([name, *("" if number is None else repr(number) for number in map(plain, told))])


def plain(number):
    return number.item() if isinstance(number, np.generic) else number


if __name__ == "__main__":
    main()
