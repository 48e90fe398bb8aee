"""All plots of a study. To add a plot, declare its selection and its drawing in `PLOTS`."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import slug
from scaling.analysis.table.processes import CPU_OF_SERVICES, ROLES
from scaling.analysis.table.time_terms import TERMS, WHOLE
from scaling.analysis.tables.cells import names
from scaling.analysis.tables.derived import EFFICIENCY, LOSS
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.ratios import GAIN
from scaling.analysis.tables.study import Study
from scaling.base.formats import number, parameter, plural
from scaling.base.models import PROCESSES, THREADS, kind_of
from scaling.builds.arms import free_arms
from scaling.journal.record import Parameters
from scaling.report.render import draw
from scaling.report.render.sheet import Picture
from scaling.report.render.style import COLORBLIND, LINES, arm_colours
from scaling.report.render.svg import Drawing
from scaling.report.view.answer import of_threads
from scaling.report.view.declare import SEPARATOR, named, tone
from scaling.report.view.notes import machine_text
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, CPU_OF_ALL, MEMORY, OVER_PROCESSES, P99, THROUGHPUT
from scaling.study.settle import scaled_to

type Pictures = Iterator[tuple[str, Picture]]  # of each subject
SHOWN = "not twin and not rated"
IS_CLOSED = "rate == 0 and not control"
OWN = "own"  # the loop of other runtimes, which stand beside every loop
WORKERS = "workers (N)"
LATENCIES = {"latency_p50_s": "P50", P99: "P99"}
MOST_ROWS = 20  # of a plot of ratios
FEWEST_VALUES, MOST_WORDS = 3, 12  # of a parameter that has a plot
MOST_VARIANTS = 4  # of a workload that have plots of their own
MANY_NS = 3
MS_PER_S = 1e3
DRAWN = (  # of a curve; the table of estimates has forty columns more, which slow each selection
    *("row", "panel", "x", "y", "low", "high", "bound"),
    *("loop", "arm", "model", "x_low", "x_high", "text"),
)


@dataclass(frozen=True)
class Plot:
    """The declaration of a plot: a picture for each subject that has figures.

    `fewest` is the number of values of x that a curve needs.
    """

    name: str
    title: str
    drawn: Callable[["Plot", Study], Pictures]
    y: str = ""
    where: str = ""
    ideal: str = ""
    questions: tuple[str, ...] = ()
    fewest: int = 2

    def titled(self, shared: list[str]) -> str:
        """The title with the parts that all rows share."""
        return ": ".join(filter(None, (self.title, SEPARATOR.join(shared))))


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


def over_workers(plot: Plot, study: Study) -> Pictures:
    """A measure over N: a figure for each workload, a row for each loop, a panel for each model."""
    for name, part in _by_name(_selected(plot, study)):
        if part["workers"].nunique() >= plot.fewest:
            loops = [loop for loop in part["loop"].unique() if loop != OWN] or [OWN]
            rows = [part[part["loop"].isin([loop, OWN])].assign(row=loop) for loop in loops]
            found = pd.concat(rows, ignore_index=True)
            found = _threads_first(found.assign(x=found["workers"], panel=found["model"]))
            yield name, _curves(plot, study, found, WORKERS, regions=list(regions(part)))


def over_rates(plot: Plot, study: Study) -> Pictures:
    """P50 and P99 over the rate of an open loop: a row for each N."""
    found = study.estimates.query(SHOWN)
    found = found[found["measure"].isin(LATENCIES) & (found["rate"] > 0)]
    for workload, part in found.groupby("workload", sort=False, observed=True):
        if part["rate"].nunique() >= plot.fewest:
            rows = part.assign(
                name=workload,
                x=part["rate"],
                row="N = " + part["workers"].astype(str),
                panel=part["measure"].map(LATENCIES),
            ).sort_values("panel", kind="stable")
            limits = [MS_PER_S * each.limit_s for each in study.objectives]
            axes = {"ylabel": "latency, ms", "log_x": True, "limits": limits}
            yield str(workload), _curves(plot, study, rows, "requests per s", **axes)


def over_parameters(plot: Plot, study: Study) -> Pictures:
    """A measure over each parameter that varies while all others stay, at the headline N."""
    found = _selected(plot, study)
    if found.empty:
        return
    found = found[found["workers"] == _headline_n(study, found)]
    each = [cell.parameters for cell in study.cells["cell"].iloc[found["cell"]]]
    for name in dict.fromkeys(key for known in each for key in known):
        others = [Parameters.of({k: known[k] for k in known if k != name}) for known in each]
        rows = found.assign(parameters=[other.text for other in others])
        rows = rows.assign(name=names(rows), value=[known.get(name) for known in each])
        for label, part in rows.groupby("name", sort=False):
            if FEWEST_VALUES <= part["value"].nunique() <= MOST_WORDS:
                yield f"{label} by {name}", _swept(plot, study, part, name)


def _swept(plot: Plot, study: Study, part: pd.DataFrame, name: str) -> Picture:
    values = list(part["value"].dropna().unique())
    are_numbers = all(isinstance(each, int | float) for each in values)
    words = [] if are_numbers else [parameter(each) for each in values]
    x = part["value"] if are_numbers else part["value"].map({v: n for n, v in enumerate(values)})
    rows = part.assign(x=x.astype(float), row=part["loop"], panel=part["model"])
    return _curves(plot, study, _threads_first(rows), name, words=words)


def trade(plot: Plot, study: Study) -> Pictures:
    """A measure against memory, a panel for each loop: threads without the GIL, and for each other
    model the arm with the highest throughput.
    """
    held = study.estimates.query(f"{SHOWN} and measure == {MEMORY!r}").set_index("cell")
    found = _selected(plot, study)
    found = found[found["cell"].isin(held.index) & (found["loop"] != OWN)]
    free = found["arm"].isin(free_arms(found["arm"].astype(str).unique()))
    best = found.groupby(["name", "loop", "model", "arm"], observed=True)["point"].transform("max")
    most = found.groupby(["name", "loop", "model"], observed=True)["point"].transform("max")
    found = found[np.where(found["model"] == THREADS, free, best == most)]
    ends = {"point": "x", "low": "x_low", "high": "x_high"}
    memory = study.shown(MEMORY)
    x = (held[list(ends)] * memory.factor).rename(columns=ends)
    for name, part in _by_name(found.join(x, on="cell")):
        rows = part.assign(row="", panel=part["loop"].astype(str), text=part["workers"])
        yield name, _curves(plot, study, rows, memory.heading)


def _threads_first(found: pd.DataFrame) -> pd.DataFrame:
    rank = {model: place for place, model in enumerate(LINES)}
    places = found["model"].astype(str).map(lambda model: rank.get(kind_of(model), len(rank)))
    return found.assign(place=places).sort_values("place", kind="stable")


def _headline_n(study: Study, found: pd.DataFrame) -> int:
    """The N of headline ratios; without any the largest N with a core for each worker."""
    ratios = study.ratios
    if ratios["main"].any():
        return int(ratios.loc[ratios["main"] & ~ratios["control"], "workers"].max())
    on_cores = found[found["region"] == "cores"]
    return int((found if on_cores.empty else on_cores)["workers"].max())


def _selected(plot: Plot, study: Study) -> pd.DataFrame:
    where = f"{SHOWN} and measure == {plot.y!r}" + (f" and {plot.where}" if plot.where else "")
    return study.estimates.query(where)


def _by_name(found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each workload with few variants; others only have a plot by parameter."""
    variants = found.groupby("workload", observed=True)["name"].transform("nunique")
    for name, part in found[variants <= MOST_VARIANTS].groupby("name", sort=False):
        yield str(name), part


def _curves(plot: Plot, study: Study, found: pd.DataFrame, xlabel: str, **more: Any) -> Picture:
    """The picture of estimates with `x`, `row` and `panel`; if x is measured, too, without dots."""
    shown, is_measured, over_n = study.shown(plot.y), "x_low" in found, xlabel == WORKERS
    medians = found.assign(y=found["point"])
    medians[["y", "low", "high"]] *= shown.factor
    about = medians[["cell", "measure", "x", "row", "panel", "arm"]]
    about = about.iloc[:0] if is_measured else about
    runs = study.measures.long(found["measure"].unique().tolist())
    runs = runs.merge(about, on=["cell", "measure"])
    what: dict[str, Any] = {
        "ylabel": shown.heading.format(operation=found["operation"].iloc[0]),
        "ideal": plot.ideal if over_n else "",
        "ceiling": _ceiling(medians) if over_n and plot.y == THROUGHPUT else None,
        "band": 0.0 if is_measured else _band(plot.y, found, study),
    }
    return draw.curves(
        draw.Curves(
            title=f"{found['name'].iloc[0]}: {plot.title}",
            caption=caption(study),
            xlabel=xlabel,
            medians=medians.filter(DRAWN),
            runs=runs.assign(y=runs["value"] * shown.factor),
            colours=arm_colours(study.line.arms),
            **what | more,
        )
    )


def _ceiling(medians: pd.DataFrame) -> pd.DataFrame | None:
    """The best processes at each N; None if there are no other models."""
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
    """The largest difference of a workload's equal cells; 0 without pairs.

    Latencies have no band: it would hide the curves.
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

ROW = ("name", "loop", "arm", "model", "workers", "step")


def ratios(plot: Plot, study: Study) -> Pictures:
    """The ratios of some questions at the headline N in one measure, one below the other."""
    every = study.ratios
    asked = every["question"].isin(plot.questions) & (every["measure"] == plot.y)
    found = every[asked & ~every["control"]]
    if found["main"].any():
        found = found[found["workers"].isin(found.loc[found["main"], "workers"])]
    if found.empty:
        return
    found = of_threads(found) if GAIN in plot.questions else found
    by_arm = found["name"].nunique() > MOST_ROWS // 2 and found["arm"].nunique() > 1
    keys = [key for key in ROW if not (by_arm and key == "arm")]
    own, shared = named(found.to_dict("records"), keys)
    rows = found.assign(name=own, panel="", tone=found["word"].map(tone))
    rows = rows if by_arm else rows.head(MOST_ROWS)
    colours = arm_colours(study.line.arms)
    yield "", draw.ratios(plot.titled(shared), caption(study), rows, colours)


# ------------------------------------------------------------------------------------------- parts


def losses(plot: Plot, study: Study) -> Pictures:
    """The growth of each term of the workers' time from one worker to N, stacked: threads without
    the GIL at the headline N, and the processes that they are compared with.
    """
    measures = {LOSS.format(term.name): term.words for term in TERMS}
    found = study.estimates.query(SHOWN)
    for name, part in _by_name(found[found["cell"].isin(_asked(study))]):
        rows, title = _stacked(plot, study, part, measures)
        if len(rows):
            label = "ns of worker time per operation"
            yield name, draw.stacks(title, caption(study), label, rows, COLORBLIND)


PARTS = {CPU: "application", **dict(zip(CPU_OF_SERVICES, ROLES, strict=True))}


def parts(plot: Plot, study: Study) -> Pictures:
    """The CPU time of a request in the application and in each service, stacked, at the headline N,
    smallest first.
    """
    found = study.estimates.query(f"{SHOWN} and {IS_CLOSED}")
    found = found[found["cell"].isin(found.loc[found["measure"].isin(CPU_OF_SERVICES), "cell"])]
    if found.empty:
        return
    found = found[found["workers"] == _headline_n(study, found)]
    for workload, part in found.groupby("workload", observed=True):
        rows, title = _stacked(plot, study, part, PARTS)
        total = rows.drop(columns=["low", "high"]).sum(axis=1)
        rows, label = rows.iloc[np.argsort(total)], "CPU µs of a request"
        yield str(workload), draw.stacks(title, caption(study), label, rows, COLORBLIND)


def _stacked(
    plot: Plot, study: Study, found: pd.DataFrame, measures: Mapping[str, str]
) -> tuple[pd.DataFrame, str]:
    """A row per cell with a column for each of `measures` and the interval; and a title."""
    found = found[found["measure"].isin([*measures, plot.y])]
    if found.empty:
        return found, ""
    cells = found.drop_duplicates("cell").set_index("cell")
    own, shared = named(cells.to_dict("records"), ROW[:-1])
    wide = found.pivot(index="cell", columns="measure", values="point").loc[cells.index]
    known = [measure for measure in measures if measure in wide]
    wide = wide[known].rename(columns=dict(measures))
    wide = wide.join(found[found["measure"] == plot.y].set_index("cell")[["low", "high"]])
    return study.shown(plot.y).factor * wide.set_axis(own), plot.titled(shared)


def _asked(study: Study) -> set[Hashable]:
    """The cells of the headline ratios of threads, and those that they are compared with."""
    ratios = study.ratios
    asked = ratios["question"].isin([GAIN, OVER_PROCESSES]) & (ratios["measure"] == THROUGHPUT)
    main = of_threads(ratios[ratios["main"] & ~ratios["control"] & asked])
    return {*main["of"], *main.loc[main["question"] == OVER_PROCESSES, "over"]}


# ------------------------------------------------------------------------------------------- plots


def _of_workers(name: str, title: str, y: str, ideal: str = "", fewest: int = MANY_NS) -> Plot:
    return Plot(name, title, over_workers, y, where=IS_CLOSED, ideal=ideal, fewest=fewest)


def _of_ratios(name: str, title: str, *questions: str, y: str = THROUGHPUT) -> Plot:
    return Plot(name, title, ratios, y, questions=questions)


OVER = "N workers over the best N processes"
PLOTS = (
    _of_workers("throughput", "throughput", THROUGHPUT, "rising", fewest=2),
    _of_ratios("over-processes", f"{OVER}: throughput", OVER_PROCESSES),
    _of_ratios("p99-over-processes", f"{OVER}: P99", OVER_PROCESSES, y=P99),
    _of_ratios("gains", "N workers over one: throughput", GAIN),
    Plot("latency", "latency by rate", over_rates, P99),
    _of_workers("efficiency", "efficiency", EFFICIENCY, "level"),
    _of_workers("memory", "memory", MEMORY),
    _of_workers("cpu", "CPU time of an operation", CPU),
    Plot("sweep", "throughput by parameter", over_parameters, THROUGHPUT, where=IS_CLOSED),
    _of_ratios("ladder", "What freed the speed: allocator, build, GIL", "headline", "step"),
    _of_ratios("versions", "Versions of Python", "version"),
    _of_ratios("settings", "What a setting changes", "setting"),
    _of_ratios("loops", "Loops over asyncio", "loop", "runtime"),
    Plot("losses", "where the time goes", losses, LOSS.format(WHOLE.name)),
    Plot("cpu-by-part", "CPU time by part", parts, CPU_OF_ALL),
    Plot("trade", "throughput against memory", trade, THROUGHPUT, where=IS_CLOSED),
)


def drawings(study: Study, *wanted: str) -> Iterator[Drawing]:
    """Every plot for which a study has figures, or those of these names."""
    for plot in PLOTS:
        if not wanted or plot.name in wanted:
            for subject, picture in plot.drawn(plot, study):
                title = f"{plot.title} · {subject}" if subject else plot.title
                yield Drawing(slug(f"{plot.name} {subject}".strip()), title, *picture)
