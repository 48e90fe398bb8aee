"""All plots of a study. To add one, declare it in `PLOTS`: what it selects, and how it is drawn."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scaling.analysis.table.groups import slug
from scaling.analysis.table.processes import CPU_OF_SERVICES, ROLES
from scaling.analysis.table.time_terms import TERMS, WHOLE
from scaling.analysis.tables.derived import EFFICIENCY, LOSS
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.ratios import GAIN
from scaling.analysis.tables.study import Study
from scaling.base.formats import number, parameter, plural
from scaling.base.models import PROCESSES, THREADS, kind_of
from scaling.builds.arms import free_arms
from scaling.report.render import draw
from scaling.report.render.draw import Picture
from scaling.report.render.style import COLORBLIND, LINES, arm_colours
from scaling.report.render.svg import svg
from scaling.report.view.answer import of_threads
from scaling.report.view.declare import SEPARATOR, parts_of, tone
from scaling.report.view.notes import machine_text
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT
from scaling.study.settle import scaled_to

type Drawings = Iterator[tuple[str, Picture]]
SHOWN = "not twin and not rated"
OWN = "own"  # the loop of other runtimes, which stand beside every loop
MOST_ROWS = 20  # of a plot of ratios
FEWEST_VALUES, MOST_WORDS = 3, 12  # of a parameter that has a plot
MOST_VARIANTS = 4  # of a workload that have plots of their own
FEW_NS, MANY_NS = 2, 3
MS_PER_S = 1e3


@dataclass(frozen=True)
class Plot:
    """A drawing of a study, one for each subject that has what it shows.

    `fewest` is how many values of x a curve needs.
    """

    name: str
    title: str
    drawn: Callable[["Plot", Study], Drawings]
    y: str = ""
    where: str = ""
    ideal: str = ""
    questions: tuple[str, ...] = ()
    fewest: int = FEW_NS


@dataclass(frozen=True)
class Drawn:
    """A plot that was drawn: the name of its file, its title, the figure, what is seen on it."""

    name: str
    title: str
    figure: Figure
    description: str

    @cached_property
    def svg(self) -> str:
        """The figure as an element of a page, which is a file, too."""
        return svg(self.figure, self.name, self.title)


def caption(study: Study) -> str:
    """`Example CPU, 2 cores, Linux 6.1 · 8 blocks · windows of 1 s · 2026-11-20`."""
    line = study.line
    window = line.study.get("window_s")
    parts = [
        machine_text(line.machine).removesuffix("."),
        plural(int(study.runs["block"].nunique()), "block"),
        f"windows of {number(float(window))} s" if window else "",
        (line.started_at or "")[:10],
        "simulated" if line.simulated else "",
        scaled_to(line.study),
        study.incomplete,
    ]
    return SEPARATOR.join(filter(None, parts))


# ------------------------------------------------------------------------------------------ curves


def over_workers(plot: Plot, study: Study) -> Drawings:
    """A measure over N: a figure for each workload, a row for each loop, a panel for each model."""
    for name, part in _by_name(_selected(plot, study)):
        if part["workers"].nunique() >= plot.fewest:
            loops = [loop for loop in part["loop"].unique() if loop != OWN] or [OWN]
            rows = [part[part["loop"].isin([loop, OWN])].assign(row=loop) for loop in loops]
            found = pd.concat(rows, ignore_index=True)
            found = _threads_first(found.assign(x=found["workers"], panel=found["model"]))
            yield name, _curves(plot, study, found, "workers (N)", regions=regions(part))


def over_rates(plot: Plot, study: Study) -> Drawings:
    """P50 and P99 over the rate of an open loop: a row for each N."""
    found = study.estimates.query(SHOWN)
    found = found[found["measure"].isin(LATENCIES) & (found["rate"] > 0)]
    for workload, part in found.groupby("workload", sort=False, observed=True):
        if part["rate"].nunique() > 1:
            rows = part.assign(
                x=part["rate"],
                row="N = " + part["workers"].astype(str),
                panel=part["measure"].map(LATENCIES),
            )
            limits = [MS_PER_S * each.limit_s for each in study.objectives]
            rows = rows.assign(name=workload).sort_values("panel", kind="stable")
            axes = {"ylabel": "latency, ms", "log_x": True, "limits": limits}
            yield str(workload), _curves(plot, study, rows, "requests per s", **axes)


LATENCIES = {"latency_p50_s": "P50", P99: "P99"}


def over_parameters(plot: Plot, study: Study) -> Drawings:
    """A measure over each parameter that varies while all others stay, at the headline N."""
    found = _selected(plot, study)
    if found.empty:
        return
    found = found[found["workers"] == _headline_n(study, found)]
    each: list[dict[str, Any]]
    each = [dict(cell.parameters) for cell in study.cells["cell"].iloc[found["cell"]]]
    for name in dict.fromkeys(key for known in each for key in known):
        values: Any = [own.get(name) for own in each]
        others: Any = [tuple(x for x in sorted(own.items()) if x[0] != name) for own in each]
        rows = found.assign(value=values, others=others)
        kinds = rows.groupby(["workload", "sizing", "others"], observed=True)
        for (workload, _, fixed), part in kinds:
            if FEWEST_VALUES <= part["value"].nunique() <= MOST_WORDS:
                yield _swept(plot, study, part, name, str(workload), fixed)


def _swept(
    plot: Plot, study: Study, part: pd.DataFrame, name: str, workload: str, fixed: Any
) -> tuple[str, Picture]:
    values = list(part["value"].dropna().unique())
    are_numbers = all(isinstance(each, int | float) for each in values)
    words = [] if are_numbers else [parameter(each) for each in values]
    x = part["value"] if are_numbers else part["value"].map({v: n for n, v in enumerate(values)})
    rows = part.assign(x=x.astype(float), row=part["loop"], panel=part["model"], name=workload)
    rows = _threads_first(rows)
    sizing = str(part["sizing"].iloc[0])
    about = SEPARATOR.join(
        [
            *(f"{key}={parameter(value)}" for key, value in _varying(study, workload, fixed)),
            *([sizing] if study.cells["sizing"].nunique() > 1 else ()),
        ]
    )
    rows["name"] = SEPARATOR.join(filter(None, (workload, about)))
    subject = " ".join(filter(None, (workload, about, "by", name)))
    return subject, _curves(plot, study, rows, name, words=words)


def _threads_first(found: pd.DataFrame) -> pd.DataFrame:
    rank = {model: place for place, model in enumerate(LINES)}
    places = found["model"].astype(str).map(lambda model: rank.get(kind_of(model), len(rank)))
    return found.assign(place=places).sort_values("place", kind="stable")


def _varying(study: Study, workload: str, fixed: Any) -> list[tuple[str, Any]]:
    """Those of a workload's parameters that have several values in the study."""
    every = [dict(each.parameters) for each in study.cells["cell"] if each.workload == workload]
    return [(k, v) for k, v in fixed if len({str(known.get(k)) for known in every}) > 1]


def _headline_n(study: Study, found: pd.DataFrame) -> int:
    """The N of headline ratios; the largest on cores of its own where there is none."""
    ratios = study.ratios
    if ratios["main"].any():
        return int(ratios.loc[ratios["main"] & ~ratios["control"], "workers"].max())
    on_cores = found[found["region"] == "cores"]
    return int((found if on_cores.empty else on_cores)["workers"].max())


def _selected(plot: Plot, study: Study) -> pd.DataFrame:
    where = f"{SHOWN} and measure == {plot.y!r}" + (f" and {plot.where}" if plot.where else "")
    return study.estimates.query(where)


def _by_name(found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each workload; those with many variants have a plot by parameter alone."""
    variants = found.groupby("workload", observed=True)["name"].transform("nunique")
    for name, part in found[variants <= MOST_VARIANTS].groupby("name", sort=False):
        yield str(name), part


def _curves(
    plot: Plot, study: Study, found: pd.DataFrame, xlabel: str, regions: Any = (), **more: Any
) -> Picture:
    shown = study.shown(plot.y)
    medians = found.assign(y=found["point"])
    medians[["y", "low", "high"]] *= shown.factor
    runs = study.measures.long(found["measure"].unique().tolist())
    about = ["cell", "measure", "x", "row", "panel", "arm"]
    runs = runs.merge(medians[about], on=["cell", "measure"])
    what = draw.Curves(
        title=f"{found['name'].iloc[0]}: {plot.title}",
        caption=caption(study),
        xlabel=xlabel,
        medians=medians,
        runs=runs.assign(y=runs["value"] * shown.factor),
        colours=arm_colours(study.line.arms),
        ideal=plot.ideal if xlabel.startswith("workers") else "",
        ceiling=_ceiling(medians) if plot.y == THROUGHPUT and not more else None,
        band=_band(plot.y, found, study),
        regions=list(regions),
        **{"ylabel": shown.heading.format(operation=found["operation"].iloc[0]), **more},
    )
    return draw.curves(what)


def _ceiling(medians: pd.DataFrame) -> pd.DataFrame | None:
    """The processes that are best at each N, where there are others beside them."""
    are = medians["model"].isin(PROCESSES) & (medians["loop"] != OWN)
    if not are.any() or are.all():
        return None
    return medians[are].groupby(["row", "x"], sort=False, observed=True)["y"].max().reset_index()


def regions(found: pd.DataFrame) -> Iterator[tuple[float, float, str]]:
    """The regions of the machine: from half-way between two Ns to half-way to the next."""
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
    """The largest difference of a workload's equal cells, of all pairs; 0 for none.

    Latencies have none: theirs would hide the curves.
    """
    if measure == P99:
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


def ratios(plot: Plot, study: Study) -> Drawings:
    """The ratios of some questions at the headline N in one measure, one below the other."""
    found = study.ratios[
        study.ratios["question"].isin(plot.questions)
        & (study.ratios["measure"] == plot.y)
        & ~study.ratios["control"]
    ]
    main = found[found["main"]]
    found = found[found["workers"].isin(main["workers"])] if len(main) else found
    found = found.query(plot.where) if plot.where else found
    if len(found):
        found = of_threads(found) if GAIN in plot.questions else found
        yield "", _ratios(plot, study, found)


ROW = ("name", "loop", "arm", "model", "workers", "step")


def _ratios(plot: Plot, study: Study, found: pd.DataFrame) -> Picture:
    by_arm = found["name"].nunique() > MOST_ROWS // 2 and found["arm"].nunique() > 1
    keys = [key for key in ROW if not (by_arm and key == "arm")]
    names, shared = _named(found, keys)
    rows = found.assign(name=names, tone=found["word"].map(tone))
    if not by_arm:
        rows = rows.head(MOST_ROWS)
    title = ": ".join(filter(None, (plot.title, SEPARATOR.join(shared))))
    return draw.ratios(title, caption(study), rows, arm_colours(study.line.arms))


def _named(found: pd.DataFrame, keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """A name for each row, of what not all rows share; and what they share."""
    every = [parts_of(row, keys) for _, row in found.iterrows()]
    if len(every) == 1:
        return [every[0][0]], every[0][1:]
    shared = [each for each in every[0] if all(each in others for others in every)]
    return [SEPARATOR.join(each for each in some if each not in shared) for some in every], shared


# ------------------------------------------------------------------------------------ time, trade


def losses(plot: Plot, study: Study) -> Drawings:
    """The growth of each term of the workers' time from one worker to N, stacked: of threads
    without the GIL at the headline N, and of the processes beside them.
    """
    measures = {LOSS.format(term.name): term.words for term in TERMS}
    found = study.estimates.query(SHOWN)
    found = found[found["cell"].isin(_asked(study))]
    for name, part in _by_name(found):
        rows, title = _stacked(plot, study, part, measures, LOSS.format(WHOLE.name))
        if len(rows):
            label = "ns of worker time per operation"
            yield name, draw.stacks(title, caption(study), label, rows, COLORBLIND)


PARTS = {CPU: "application", **dict(zip(CPU_OF_SERVICES, ROLES, strict=True))}


def parts(plot: Plot, study: Study) -> Drawings:
    """The CPU time of a request in the application and in each service beside it, stacked: the
    least first, at the headline N.
    """
    found = study.estimates.query(f"{SHOWN} and {IS_CLOSED}")
    found = found[found["cell"].isin(found.loc[found["measure"].isin(CPU_OF_SERVICES), "cell"])]
    if found.empty:
        return
    found = found[found["workers"] == _headline_n(study, found)]
    for workload, part in found.groupby("workload", observed=True):
        rows, title = _stacked(plot, study, part, PARTS, plot.y)
        total = rows.drop(columns=["low", "high"]).sum(axis=1)
        rows, label = rows.iloc[np.argsort(total)], "CPU µs of a request"
        yield str(workload), draw.stacks(title, caption(study), label, rows, COLORBLIND)


def _stacked(
    plot: Plot, study: Study, found: pd.DataFrame, measures: Mapping[str, str], whole: str
) -> tuple[pd.DataFrame, str]:
    """A row per cell, a column for each of `measures` by its name, and the ends of the whole; and a
    title with what the cells share.
    """
    found = found[found["measure"].isin([*measures, whole])]
    if found.empty:
        return found, ""
    cells = found.drop_duplicates("cell").set_index("cell")
    names, shared = _named(cells, ("name", "loop", "arm", "model", "workers"))
    wide = found.pivot(index="cell", columns="measure", values="point").loc[cells.index]
    known = [measure for measure in measures if measure in wide]
    wide = wide[known].rename(columns=dict(measures))
    wide = wide.join(found[found["measure"] == whole].set_index("cell")[["low", "high"]])
    title = ": ".join(filter(None, (plot.title, SEPARATOR.join(shared))))
    return study.shown(whole).factor * wide.set_axis(names), title


def _asked(study: Study) -> set[Hashable]:
    """The cells of the headline ratios of threads, and those that they are compared with."""
    ratios = study.ratios
    asked = ratios["question"].isin([GAIN, OVER_PROCESSES]) & (ratios["measure"] == THROUGHPUT)
    main = of_threads(ratios[ratios["main"] & ~ratios["control"] & asked])
    return {*main["of"], *main.loc[main["question"] == OVER_PROCESSES, "over"]}


def trade(plot: Plot, study: Study) -> Drawings:
    """A measure against memory: a panel for each loop; threads without the GIL, and of the other
    models the arm that does most.
    """
    held = study.estimates.query(f"{SHOWN} and measure == {MEMORY!r}").set_index("cell")
    found = _selected(plot, study)
    found = found[found["cell"].isin(held.index) & (found["loop"] != OWN)]
    free = found["arm"].isin(free_arms(found["arm"].astype(str).unique()))
    best = found.groupby(["name", "loop", "model", "arm"], observed=True)["point"].transform("max")
    most = found.groupby(["name", "loop", "model"], observed=True)["point"].transform("max")
    found = found[np.where(found["model"] == THREADS, free, best == most)]
    for name, part in _by_name(found):
        own, factor = held.loc[part["cell"]], study.shown(plot.y).factor
        rows = part.assign(
            panel=part["loop"].astype(str),
            x=own["point"].to_numpy(),
            x_low=own["low"].to_numpy(),
            x_high=own["high"].to_numpy(),
            y=part["point"] * factor,
            y_low=part["low"] * factor,
            y_high=part["high"] * factor,
            text=part["workers"],
        )
        rows[["x", "x_low", "x_high"]] *= study.shown(MEMORY).factor
        heading = study.shown(plot.y).heading.format(operation=part["operation"].iloc[0])
        labels = (study.shown(MEMORY).heading, heading)
        title = f"{name}: {plot.title}"
        colours = arm_colours(study.line.arms)
        yield name, draw.points(title, caption(study), labels, rows, colours)


# ------------------------------------------------------------------------------------------- plots

IS_CLOSED = "rate == 0 and not control"
OVER = "N workers over the best N processes"

PLOTS = (
    Plot("throughput", "throughput", over_workers, THROUGHPUT, where=IS_CLOSED, ideal="rising"),
    Plot("over-processes", f"{OVER}: throughput", ratios, THROUGHPUT, questions=(OVER_PROCESSES,)),
    Plot("p99-over-processes", f"{OVER}: P99", ratios, P99, questions=(OVER_PROCESSES,)),
    Plot("gains", "N workers over one: throughput", ratios, THROUGHPUT, questions=(GAIN,)),
    Plot("latency", "latency by rate", over_rates, P99),
    Plot(
        "efficiency",
        "efficiency",
        over_workers,
        EFFICIENCY,
        where=IS_CLOSED,
        ideal="level",
        fewest=MANY_NS,
    ),
    Plot("memory", "memory", over_workers, MEMORY, where=IS_CLOSED, fewest=MANY_NS),
    Plot("cpu", "CPU time of an operation", over_workers, CPU, where=IS_CLOSED, fewest=MANY_NS),
    Plot("sweep", "throughput by parameter", over_parameters, THROUGHPUT, where=IS_CLOSED),
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
    Plot("cpu-by-part", "CPU time by part", parts, "stack_cpu_s_per_op"),
    Plot("trade", "throughput against memory", trade, THROUGHPUT, where=IS_CLOSED),
)


def drawings(study: Study, *names: str) -> Iterator[Drawn]:
    """Every plot for which a study has figures, or those of these names."""
    for plot in PLOTS:
        if not names or plot.name in names:
            for subject, found in plot.drawn(plot, study):
                file = slug(f"{plot.name} {subject}".strip())
                title = f"{plot.title} · {subject}" if subject else plot.title
                yield Drawn(file, title, found.figure, found.description)
