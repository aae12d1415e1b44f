import csv
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

COLUMNS = ["cell", "fork", "previewer", "pair", "phase", "status", "subject_first", "subject_ns", "baseline_ns"]
STEP_NAMES = ["write", "read", "compute", "discard", "exchange"]


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
    own = forks.subject_distance_ns.dropna() if "subject_distance_ns" in forks else []
    trips = own if len(own) > 0 else pd.concat([forks.distance_before_ns, forks.distance_after_ns]).dropna()
    distance = nearest_rank(trips.astype("int64"), 50)
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


def named(cell, keys=("backend", "schema", "delay")):
    """What an id names beside size and sides, as ids over several cells have it."""
    found = (re.search(f",{key}=[^],]+", cell) for key in keys)
    return "".join(match.group() for match in found if match)


def step_figures(steps, pairs):
    """Where a cell's time goes: its counted pairs by step, and the difference taken apart over its middle half."""
    keys = ["fork", "previewer", "pair"]
    sums = steps.groupby(["side", *keys, "step"]).step_ns.sum().unstack("step")
    sums = sums.reindex(columns=[step for step in STEP_NAMES if step in sums])
    sides = {side: sums.loc[side].dropna(how="all") for side in ("subject", "baseline") if side in sums.index}
    both = pairs.set_index(keys).index
    for of_side in sides.values():
        both = both[both.isin(of_side.index)]
    if len(sides) < 2 or len(both) == 0:
        return {}
    sides = {side: of_side.loc[both].astype("Int64") for side, of_side in sides.items()}
    figures = {}
    for side, of_side in sides.items():
        whole = int(of_side.sum().sum())
        for step in of_side:
            times = of_side[step].dropna().astype("int64")
            if len(times) > 0:
                figures[f"steps.{side}.{step}.p50"] = (nearest_rank(times, 50), None, None)
                figures[f"steps.{side}.{step}.share"] = (int(times.sum()) / whole if whole else 0.0, None, None)
    parts = (sides["subject"].fillna(0) - sides["baseline"].fillna(0)).astype("int64")
    order = parts.sum(axis=1).argsort(kind="stable")
    quarter = len(parts) // 4
    middle = parts.iloc[order.to_numpy()[quarter : len(parts) - quarter]]
    for step in middle:
        if sides["subject"][step].notna().any() or sides["baseline"][step].notna().any():
            figures[f"steps.difference.{step}"] = (int(middle[step].sum()) / len(middle), None, None)
    figures["steps.difference.whole"] = (int(middle.sum().sum()) / len(middle), None, None)
    return figures


def wire_figures(wire, previews):
    """What passed the proxy in a cell's measured previews, and how much longer than declared it was held."""
    figures = {}
    for side in ("subject", "baseline"):
        of_side = wire[wire.side == side]
        trips = of_side.groupby(["fork", "previewer", "pair"]).round_trips.sum()
        figures[f"wire.{side}.trips"] = (int(trips.sum()) / previews, None, None)
        if side == "subject":
            least = int(trips.min()) if len(trips) >= previews else 0
            figures["wire.subject.trips.min"] = (least, None, None)
            figures["wire.subject.trips.max"] = (int(trips.max()) if len(trips) > 0 else 0, None, None)
            for way in ("server", "client"):
                moved = int(of_side[of_side.way == f"to-{way}"].bytes.sum())
                figures[f"wire.subject.bytes.to_{way}"] = (moved / previews, None, None)
    figures["wire.added"] = (nearest_rank([added for added in added_by_fork(wire).dropna()], 50), None, None)
    held = wire[wire.declared_ns > 0]
    over = held.held_ns - held.declared_ns
    for percent in (50, 99):
        figures[f"wire.overshoot.p{percent}"] = (nearest_rank(over, percent), None, None)
    return figures


def added_by_fork(wire):
    """What a round trip was longer by in each fork: the median hold each way, added."""
    held = wire.groupby(["fork", "way"]).held_ns.apply(nearest_rank, 50).unstack("way")
    return held.reindex(columns=["to-server", "to-client"]).sum(axis=1, skipna=False)


def distance_figures(cells, wire, medians, figures, settings):
    """A line through the forks' median differences over what their round trips were longer by, for each size and sides."""
    found = {}
    delayed = cells[(cells.kind == "comparison") & cells.path_delay_ns.notna()]
    by = [delayed.plans, delayed.subject, delayed.baseline, delayed.id.map(lambda cell: named(cell, ("backend", "schema")))]
    for (plans, subject, baseline, further), of_line in delayed.groupby(by, sort=False):
        if len(of_line) < 2:
            continue
        points = []
        for cell in of_line.itertuples():
            added = added_by_fork(wire[wire.cell == cell.cell]).dropna()
            points += [(added[fork], medians[cell.cell, fork]) for fork in added.index if (cell.cell, fork) in medians]
        x, y = np.array(points, dtype=float).T
        line = {"round_trips": (None, None, None), "at_no_delay": (None, None, None)}
        counted = [figures[of].get("wire.subject.trips") and figures[of]["wire.subject.trips"][0] - figures[of]["wire.baseline.trips"][0] for of in of_line.id]
        line["counted"] = (None if None in counted else np.mean(counted), None, None)
        least = figures[of_line.sort_values("path_delay_ns").id.iloc[0]]["distance.median"][0]
        spread = ((x - x.mean()) ** 2).sum()
        slope = ((x - x.mean()) * (y - y.mean())).sum() / spread
        at_zero = y.mean() - slope * x.mean()
        scale = None
        if len(x) > 2:
            residual = ((y - y.mean() - slope * (x - x.mean())) ** 2).sum()
            scale = stats.t.ppf(0.975, len(x) - 2) * np.sqrt(residual / (len(x) - 2))
        line["round_trips"] = around(slope, scale and scale / np.sqrt(spread))
        line["at_no_delay"] = around(at_zero, scale and scale * np.sqrt(1 / len(x) + x.mean() ** 2 / spread))
        for asked in filter(None, (text.strip() for text in settings.get(("figures", "distance_for"), "").split(","))):
            number = float(asked.rstrip("ms%"))
            wanted = number * 1e6 if asked.endswith("ms") else number / 100 * int(settings["figures", "debounce"])
            rise = wanted - y.mean()
            told, low, high = x.mean() + rise / slope + least, None, None
            steep = slope**2 - scale**2 / spread if scale is not None else 0
            if steep > 0:
                middle = x.mean() + slope * rise / steep + least
                half = scale * np.sqrt(rise**2 / spread + steep / len(x)) / steep
                low, high = middle - half, middle + half
            line[f"for[{asked}]"] = (told, low, high)
        found[f"distance[plans={plans},subject={subject},baseline={baseline}{further}]"] = line
    return found


def around(middle, half):
    """A value and its interval, where there is one."""
    return (middle, None, None) if half is None else (middle, middle - half, middle + half)


def read_all(run, files):
    """The rows of these files, in order; None where there are none."""
    return pd.concat([pd.read_parquet(run / name) for name in files]) if files else None


def scaling(cells, fork_medians):
    """A straight line through the sizes for each round of forks, and the mean of the lines."""
    figures = {}
    comparisons = cells[cells.kind == "comparison"]
    by = [comparisons.subject, comparisons.baseline, comparisons.id.map(named)]
    for (subject, baseline, further), of_sides in comparisons.groupby(by, sort=False):
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
        name = f"scaling[subject={subject},baseline={baseline}{further}]"
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
    steps, wire = read_all(run, STEPS), read_all(run, WIRE)
    if steps is not None:
        steps = steps[steps.phase == "measured"]
        for cell in cells.itertuples():
            of_cell = steps[steps.cell == cell.cell], counted[counted.cell == cell.cell]
            if all(len(table) > 0 for table in of_cell):
                figures[cell.id] |= step_figures(*of_cell)
    if wire is not None:
        wire = wire[(wire.phase == "measured") & wire.apart.isna()]
        for cell in cells.itertuples():
            of_cell, previews = wire[wire.cell == cell.cell], int((measured.cell == cell.cell).sum())
            if len(of_cell) > 0 and previews > 0:
                figures[cell.id] |= wire_figures(of_cell, previews)
        figures |= distance_figures(cells, wire, medians, figures, settings)
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
