"""All plots of a study. To add one, declare it in `PLOTS`: what it selects, and how it is drawn."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scaling.analysis.table.groups import slug
from scaling.analysis.tables.derived import EFFICIENCY, LOSS
from scaling.analysis.tables.ratios import EQUAL_CELLS, GAIN
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.terms import TERMS
from scaling.report.render import draw
from scaling.report.render.style import COLORBLIND, arm_colours
from scaling.report.view.declare import tone
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT

SHOWN = "not twin and not rated"
MOST_ROWS = 40  # of a plot of ratios


@dataclass(frozen=True)
class Plot:
    """A drawing of a study, one for each subject that has what it shows."""

    name: str
    title: str
    drawn: Callable[["Plot", Study], Iterator[tuple[str, Figure]]]
    y: str = ""
    x: str = "workers"
    where: str = ""
    ideal: str = ""
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """A plot that was drawn: the name of its file, its title, and the figure."""

    name: str
    title: str
    figure: Figure


# ------------------------------------------------------------------------------------------ curves


def over_workers(plot: Plot, study: Study) -> Iterator[tuple[str, Figure]]:
    """A measure over N: one figure for each workload, a panel for each loop."""
    found = _selected(plot, study)
    for name, part in found.groupby("name", sort=False):
        if part["workers"].nunique() > 1:
            regions = list(_regions(part))
            yield str(name), _curves(plot, study, part, part["workers"], part["loop"], regions)


def over_rates(plot: Plot, study: Study) -> Iterator[tuple[str, Figure]]:
    """A measure over the rate of an open loop: a panel for each N."""
    found = _selected(plot, study)
    for subject, part in found[found["rate"] > 0].groupby("subject", sort=False):
        if part["rate"].nunique() > 1:
            panels = "N = " + part["workers"].astype(str)
            yield str(subject), _curves(plot, study, part, part["rate"], panels)


def _selected(plot: Plot, study: Study) -> pd.DataFrame:
    where = f"{SHOWN} and measure == {plot.y!r}" + (f" and {plot.where}" if plot.where else "")
    return study.estimates.query(where)


def _curves(
    plot: Plot,
    study: Study,
    found: pd.DataFrame,
    x: "pd.Series[Any]",
    panel: "pd.Series[Any]",
    regions: list[tuple[float, float, str]] | None = None,
) -> Figure:
    shown = study.shown(plot.y)
    medians = found.assign(x=x.astype(float), panel=panel.astype(str), y=found["point"])
    medians[["y", "low", "high"]] *= shown.factor
    heading = shown.heading.format(operation=found["operation"].iloc[0])
    runs = study.measures.long([plot.y])
    runs = runs.merge(medians[["cell", "x", "panel", "arm"]], on="cell")
    return draw.curves(
        draw.Curves(
            title=f"{found['name'].iloc[0]}: {plot.title}",
            xlabel="workers (N)" if plot.x == "workers" else plot.x,
            ylabel=heading,
            medians=medians,
            runs=runs.assign(y=runs["value"] * shown.factor),
            colours=arm_colours(study.line.arms),
            ideal=plot.ideal,
            band=_band(plot.y, found, study),
            regions=regions or (),
        )
    )


def _regions(found: pd.DataFrame) -> Iterator[tuple[float, float, str]]:
    """Where N is on the machine: from half-way between two Ns to half-way to the next."""
    known = found.dropna(subset="region").drop_duplicates("workers").sort_values("workers")
    ns = known["workers"].to_numpy(np.float64)
    if not len(ns):
        return
    edges = [ns[0] - 0.5, *((ns[1:] + ns[:-1]) / 2), ns[-1] + 0.5]
    for region, own in known.groupby("region", sort=False, observed=True):
        inside = np.isin(ns, own["workers"].to_numpy(np.float64))
        first, last = np.flatnonzero(inside)[[0, -1]]
        yield edges[first], edges[last + 1], str(region)


def _band(measure: str, found: pd.DataFrame, study: Study) -> float:
    """How far equal cells of a workload are from each other: the most of all pairs, 0 for none."""
    if study.ratios.empty:
        return 0.0
    noise = THROUGHPUT if measure == EFFICIENCY else measure
    pairs = study.ratios[
        (study.ratios["question"] == EQUAL_CELLS)
        & (study.ratios["measure"] == noise)
        & study.ratios["workload"].isin(found["workload"])
        & (study.ratios["n"] >= FEWEST_FOR_INTERVAL)
    ]
    ends = np.maximum(pairs["high"], 1 / pairs["low"]) - 1
    return float(ends.max()) if len(ends) else 0.0


# ------------------------------------------------------------------------------------------ ratios


def ratios(plot: Plot, study: Study) -> Iterator[tuple[str, Figure]]:
    """The ratios of some questions in one measure, one below the other."""
    if study.ratios.empty:
        return
    found = study.ratios[
        study.ratios["question"].isin(plot.questions)
        & (study.ratios["measure"] == plot.y)
        & ~study.ratios["control"]
    ]
    found = found.query(plot.where) if plot.where else found
    if found.empty:
        return
    about = ["step", "name", "loop", "arm", "model"]
    varying = [name for name in about if found[name].nunique() > 1] or ["name"]
    texts = found[varying].astype(str).to_numpy().tolist()
    names = pd.Series([" · ".join(filter(None, row)) for row in texts], index=found.index)
    rows = found.assign(
        name=names + ", N = " + found["workers"].astype(str),
        tone=found["word"].map(tone),
    )
    yield "", draw.ratios(plot.title, rows.head(MOST_ROWS))


# ------------------------------------------------------------------------------------ time, trade


def losses(plot: Plot, study: Study) -> Iterator[tuple[str, Figure]]:
    """What each term of the workers' time grows by from one worker to N, stacked."""
    measures = {LOSS.format(term.name): term.words for term in TERMS}
    found = study.estimates.query(SHOWN)
    found = found[found["measure"].isin(list(measures)) & (found["rate"] == 0)]
    for name, part in found.groupby("name", sort=False):
        cells = part[["loop", "arm", "model"]].astype(str).agg(" · ".join, axis=1)
        labels = cells + ", N = " + part["workers"].astype(str)
        table = part.assign(label=labels, value=part["point"] * study.shown(plot.y).factor)
        wide = table.pivot(index="label", columns="measure", values="value")
        known = [measure for measure in measures if measure in wide]
        wide = wide.loc[labels.unique().tolist(), known].rename(columns=measures)
        yield (
            str(name),
            draw.stacks(
                f"{name}: {plot.title}", "ns of worker time per operation", wide, COLORBLIND
            ),
        )


def trade(plot: Plot, study: Study) -> Iterator[tuple[str, Figure]]:
    """A measure against memory: one figure for each workload, a point for each configuration."""
    held = study.estimates.query(f"{SHOWN} and measure == {MEMORY!r}").set_index("cell")
    found = _selected(plot, study)
    for name, part in found[found["cell"].isin(held.index)].groupby("name", sort=False):
        own, factor = held.loc[part["cell"]], study.shown(plot.y).factor
        rows = part.assign(
            x=own["point"].to_numpy(),
            x_low=own["low"].to_numpy(),
            x_high=own["high"].to_numpy(),
            y=part["point"] * factor,
            y_low=part["low"] * factor,
            y_high=part["high"] * factor,
            text=part["workers"],
        )
        heading = study.shown(plot.y).heading.format(operation=part["operation"].iloc[0])
        colours = arm_colours(study.line.arms)
        yield str(name), draw.points(f"{name}: {plot.title}", "MiB", heading, rows, colours)


# ------------------------------------------------------------------------------------------- plots

IS_CLOSED = "rate == 0 and not control"

PLOTS = (
    Plot("throughput", "throughput", over_workers, THROUGHPUT, where=IS_CLOSED, ideal="rising"),
    Plot(
        "over-processes",
        "N workers over the best N processes: throughput",
        ratios,
        THROUGHPUT,
        questions=(OVER_PROCESSES,),
    ),
    Plot("p99-over-processes", "P99 over processes", ratios, P99, questions=(OVER_PROCESSES,)),
    Plot("latency", "P99 by rate", over_rates, P99, x="requests per s"),
    Plot("efficiency", "efficiency", over_workers, EFFICIENCY, where=IS_CLOSED, ideal="level"),
    Plot("memory", "memory", over_workers, MEMORY, where=IS_CLOSED),
    Plot("cpu", "CPU time of an operation", over_workers, CPU, where=IS_CLOSED, ideal="level"),
    Plot("gains", "N workers over one: throughput", ratios, THROUGHPUT, questions=(GAIN,)),
    Plot(
        "ladder",
        "What freed the speed: allocator, build, GIL",
        ratios,
        THROUGHPUT,
        questions=("headline", "step"),
    ),
    Plot("versions", "Versions of Python", ratios, THROUGHPUT, questions=("version",)),
    Plot("settings", "What a setting changes", ratios, THROUGHPUT, questions=("setting",)),
    Plot("loops", "Loops over asyncio", ratios, THROUGHPUT, questions=("loop", "runtime")),
    Plot("losses", "where the time goes", losses, LOSS.format("worker")),
    Plot("trade", "throughput against memory", trade, THROUGHPUT, where=IS_CLOSED),
)


def drawings(study: Study, *names: str) -> Iterator[Drawn]:
    """Every plot for which a study has figures, or those of these names."""
    for plot in PLOTS:
        if not names or plot.name in names:
            for subject, figure in plot.drawn(plot, study):
                file = slug(f"{plot.name} {subject}".strip())
                yield Drawn(file, f"{plot.title} · {subject}" if subject else plot.title, figure)
