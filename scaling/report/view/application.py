"""The answer of `scaling app`: the configuration to ship for each aim, reasons, and memory."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.pairs import BUILD, SHARING
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.values import MIB
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.formats import number, percent, span
from scaling.base.models import THREADS, is_mixed
from scaling.journal.record import StudyLine
from scaling.report.check import findings
from scaling.report.render.grid import Heading
from scaling.report.view.declare import OF_PEAK, RATIO, Table, fact, figure, ratio
from scaling.report.view.tables import OF
from scaling.study.application import WORKLOAD
from scaling.study.load import RATE, middle
from scaling.study.questions import (
    CAPACITY,
    CPU,
    MEMORY,
    OVER_PROCESSES,
    OVER_SMALLEST_POOL,
    OVER_THREADS,
    P99,
    THROUGHPUT,
)

NOT_DECIDED = "not decided"
AIMS = {THROUGHPUT: "requests/s at peak", MEMORY: "memory, MiB", CPU: "CPU µs a request"}
GIB = 2.0**30

# --------------------------------------------------------------------------------- what to ship


def shipped(study: Study) -> pd.DataFrame:
    """The ratio for each aim: threads over the best processes; and of the best mixed model.

    A row is one of `ratios`, with more columns: `aim`; `mixed`, the mixed model or empty;
    `shared_cpus`, whether there are fewer CPUs than workers; `ship`, the configuration to ship, or
    `not decided`; `places` of the cells that may be shipped. Memory is compared with the processes
    that take least. The cells are on the first loop of the study, at its headline N or the largest
    N of a mixed model; latencies are at the rate that the study states, the middle one of several.
    """
    ratios, loops = study.ratios, study.line.study.get("loops")
    first_loop = str((loops or study.cells["loop"].astype(str).tolist())[0])
    own = ratios[(ratios["workload"] == WORKLOAD) & (ratios["loop"] == first_loop)]
    found = _at_aims(study, own[own["question"] == OVER_PROCESSES])
    between = own[own["question"] == OVER_THREADS]
    left = {}
    for measure, rows in found.groupby("measure", sort=False):
        both = between["of"].isin(rows["of"]) & between["over"].isin(rows["of"])
        others = between[both & (between["measure"] == measure)]
        left[measure] = _left([*rows.to_dict("records"), *others.to_dict("records")])
    names = [list(left[measure].values()) for measure in found["measure"]]
    compared = [tuple(row) for row in found[["of", "over"]].itertuples(index=False)]
    places = [tuple(left[measure]) for measure in found["measure"]]
    places = [some or both for some, both in zip(places, compared, strict=True)]
    return found.assign(
        aim=[_aim(row) for row in found.to_dict("records")],
        mixed=found["model"].astype(str).where(_are_mixed(found), ""),
        shared_cpus=found["region"].eq("oversubscribed").map({True: "shared", False: ""}),
        ship=[each[0] if len(each) == 1 else NOT_DECIDED for each in names],
        places=pd.Series(places, found.index, object),
    )


def _at_aims(study: Study, over_processes: pd.DataFrame) -> pd.DataFrame:
    """The ratios over processes for each aim: of threads, and of the best mixed model."""
    mixed = _are_mixed(over_processes)
    asked = over_processes[mixed | (over_processes["model"] == THREADS)]
    is_main = asked["main"] & (asked["model"] == THREADS)
    if mixed.any():
        is_main = asked["workers"] == _largest_n(over_processes[mixed])
    is_aim = is_main & asked["measure"].isin([THROUGHPUT, MEMORY]) & (asked["rate"] == 0)
    at_n = asked["workers"].isin(asked.loc[is_main, "workers"])
    is_load = at_n & (asked["measure"] == P99) & (asked["rate"] == _rate(study, asked["rate"]))
    is_capacity = is_main & asked["measure"].str.startswith(CAPACITY.format(""))
    found = asked[is_aim | is_load | is_capacity]
    # Memory is compared with fresh and with forked processes: the worse ratio for threads counts.
    found = found.sort_values("ratio", ascending=False, kind="stable")
    return _best_mixed(found.drop_duplicates(["measure", "of"])).sort_index()


def _are_mixed(found: pd.DataFrame) -> "pd.Series[bool]":
    return found["model"].astype(str).map(is_mixed).astype(bool)


def _largest_n(rows: pd.DataFrame) -> int:
    """The largest N with a core for each worker, else the largest."""
    on_cores = rows[rows["region"] == "cores"]
    return int((rows if on_cores.empty else on_cores)["workers"].max())


def _best_mixed(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of threads, and at each aim the best row of mixed models."""
    mixed = _are_mixed(found)
    rows = found[mixed]
    more = rows["measure"].eq(THROUGHPUT) | rows["measure"].str.startswith(CAPACITY.format(""))
    ranked = rows.assign(rank=rows["ratio"].where(~more, -rows["ratio"])).sort_values("rank")
    best = ranked.drop_duplicates("measure").index
    return found[~mixed | found.index.isin(best)]


def _rate(study: Study, rates: "pd.Series[float]") -> float:
    """The rate of the latencies, in requests/s; NaN without one."""
    loaded = sorted(set(rates) - {0.0})
    stated = [each for each in loaded if each in _stated_rates(study.line)]
    return middle(stated or loaded) if loaded else math.nan


def _stated_rates(study: StudyLine) -> set[float]:
    """The rates in requests/s that the study names, without those of its grid."""
    known = {name: rate for each in study.calibrations for name, rate in each.rates.items()}
    asked = [
        rate
        for entry in study.study.get("workloads") or ()
        for rate in entry.get("parameters", {}).get(RATE, ())
    ]
    named = (known.get(str(each), each) for each in asked)
    return {float(each) for each in named if isinstance(each, int | float) and each > 0}


def _aim(row: Mapping[Any, Any]) -> str:
    measure, share = str(row["measure"]), row["of_peak"]
    if measure != P99:
        return AIMS.get(measure, measure)
    loaded = "" if math.isnan(share) else f" ({percent(round(share, 2))} of the peak)"
    return f"P99 at {number(row['rate'])}/s{loaded}, ms"


def _left(rows: list[dict[Any, Any]]) -> dict[int, str]:
    """The names, by place, of the cells that may be shipped: their answers are right, and no other
    cell is better.

    Of two cells that are the same, the second is kept, which is simpler: processes need no change
    of the application, and threads less than a mixed model.
    """
    names: dict[int, str] = {}
    out: set[int] = set()
    for row in rows:
        ends = {row["of"]: "", row["over"]: "over_"}
        names |= {place: f"{row[f'{end}arm']} {row[f'{end}model']}" for place, end in ends.items()}
        wrong = {place for place, end in ends.items() if row[f"{end}wrong"]}
        side = side_of(str(row["word"]))
        out |= wrong
        if not wrong and side > 0:
            out.add(row["over"])
        elif not wrong and (side < 0 or row["word"] == SAME):
            out.add(row["of"])
    return {place: name for place, name in names.items() if place not in out}


SHIP = Table(
    "What to ship: N threads or the best processes",
    shipped,
    rows={"": ("aim", "mixed"), "N": ("workers",)},
    columns=(
        *RATIO,
        fact(Heading("ship", left=True), "ship"),
        fact(Heading("over", left=True), "over_model"),
        fact(Heading("CPUs", left=True), "shared_cpus"),
    ),
)


def trade(study: Study) -> str:
    """`Threads: at most 3 % fewer requests for 45 % less memory.`; empty without both ratios."""
    found = shipped(study).query("model == 'threads'").drop_duplicates("measure")
    known = {row["measure"]: row for row in found.to_dict("records")}
    if not {THROUGHPUT, MEMORY} <= known.keys():
        return ""
    bound, memory = known[THROUGHPUT]["at_most_percent"], known[MEMORY]["ratio"]
    if not math.isfinite(bound):
        return ""
    fewer = f"at most {math.ceil(bound)} %" if bound > 0 else "no"  # a bound is rounded up
    word = "less" if memory < 1 else "more"
    return f"Threads: {fewer} fewer requests for {100 * abs(1 - memory):.0f} % {word} memory."


# ------------------------------------------------------------------------------------------- why


def reasons(study: Study) -> pd.DataFrame:
    """The ratios of throughput and CPU time of threads over processes, with their two factors."""
    ratios, found = study.ratios, shipped(study)
    of = found.loc[found["measure"] == THROUGHPUT, "of"]
    aims = ratios["measure"].map({THROUGHPUT: "throughput", CPU: "CPU time"})
    whole = ratios["of"].isin(of) & ratios["question"].isin([OVER_PROCESSES, SHARING])
    build = ratios["of"].isin(study.cells["one"].iloc[of]) & (ratios["question"] == BUILD)
    return ratios.assign(aim=aims)[aims.notna() & (whole | build)]


WHY = Table(
    "Why: the cost of the build for one loop, times the cost of sharing a process",
    reasons,
    rows={"": ("aim",)},
    columns=(
        ratio(Heading("threads over\nprocesses", name="whole"), "", OVER_PROCESSES),
        ratio(Heading("the build,\none loop", name="build"), "", BUILD),
        ratio(Heading("sharing one\nprocess", name="sharing"), "", SHARING),
    ),
)

CONFIGURATIONS = Table(
    "Every configuration",
    "estimates",
    where=f"workload == {WORKLOAD!r} and not twin and not rated",
    rows=OF,
    columns=(
        figure(Heading("requests/s", name="throughput_per_s"), THROUGHPUT),
        figure(Heading("P50 ms", name="p50_ms"), "latency_p50_s"),
        figure(Heading("P99 ms", name="p99_ms"), P99),
        OF_PEAK,
        figure(Heading("CPU µs", name="cpu_us_per_request"), CPU),
        figure(Heading("MiB", name="memory_mib"), MEMORY),
        figure(Heading("MiB a worker", name="mib_per_extra_worker"), EXTRA_WORKER),
    ),
)

FINDINGS = Table(
    "What the check found wrong",
    findings,
    rows={"finding": ("finding",), "where": ("where",)},
    columns=(
        fact(Heading("first request", left=True), "request"),
        fact(Heading("what happens", left=True, wrap=True), "message"),
        fact(Heading("what to do", left=True, wrap=True), "remedy"),
    ),
)

POOLS = Table(
    "How many threads each loop's pool should have: over the smallest pool",
    "ratios",
    where=f"question == {OVER_SMALLEST_POOL!r} and workload == {WORKLOAD!r} and model == 'threads'",
    rows=OF | {"measure": ("measure",)},
    columns=RATIO,
)

APPLICATION = (SHIP, WHY, POOLS, FINDINGS)

# ------------------------------------------------------------------------------------------ memory

MANY_TIMES = 4  # the number of measured workers, for bounds of memory


def _memory(study: Study) -> pd.DataFrame:
    """The memory of the configurations at the peak with the most workers, in MiB, by place.

    Columns: those of `cells`; `first` with one worker, `held` with all; `extra` (`least` to `most`)
    of each further worker.
    """
    cells = study.cells
    own = cells[(cells["workload"] == WORKLOAD) & (cells["rate"] == 0) & ~cells["twin"]]
    memory, extra = (
        study.estimates[study.estimates["measure"] == measure].set_index("cell")
        for measure in (MEMORY, EXTRA_WORKER)
    )
    held, added = memory["point"], extra[["point", "low", "high"]]
    added = added.set_axis(["extra", "least", "most"], axis=1)
    found = own.assign(first=held.reindex(own["one"]).to_numpy(), held=held.reindex(own.index))
    rows: pd.DataFrame = found.join(added)[own["workers"] == own["workers"].max()]
    return rows


def fitting(study: Study, memory_bytes: float) -> str:
    """`Workers in 2 GiB, extrapolated from N ≤ 2: 3.14t threads 880–920, …`.

    The range is that of the interval of an extra worker's memory.
    """
    start = f"Workers in {number(memory_bytes / GIB)} GiB"
    known = []
    rows = _memory(study)
    for row in rows[rows["least"] > 0].to_dict("records"):
        room = max(0.0, memory_bytes / MIB - row["first"])
        few, many = (f"{bool(room) + math.floor(room / row[end]):,}" for end in ("most", "least"))
        count = few if few == many else span(few, many)
        known.append(f"{row['arm']} {row['model']} {count}")
    if not known:
        return f"{start}: not known."
    return f"{start}, extrapolated from N ≤ {rows['workers'].max()}: {', '.join(known)}."


def copied_on_write(study: Study) -> str:
    """Memory of forked workers before and after the load, and its bounds for more workers.

    Forked workers share pages until they write to them. The lower bound of N workers adds the
    memory that an extra one took here, the upper bound is the memory of N fresh processes.
    """
    rows = _memory(study)
    idle = study.measures.column("idle_pss_bytes")
    for place, row in rows[rows["model"] == "forked"].iterrows():
        before = idle[:, int(str(place))]
        fresh = rows[(rows["model"] == "processes") & (rows["arm"] == row["arm"])]
        if fresh.empty or not np.isfinite(before).any():
            continue
        many = MANY_TIMES * row["workers"]
        least = row["first"] + (many - 1) * row["extra"]
        most = many * float(fresh["first"].iloc[0])
        figures = [np.nanmedian(before) / MIB, row["held"], min(least, most), most]
        idle_mib, held, few, much = map(number, figures)
        return (
            f"{row['arm']} forked: {idle_mib} MiB before the load, {held} after it; "
            f"N = {many}: {few} (as here) to {much} (as fresh processes)."
        )
    return ""
