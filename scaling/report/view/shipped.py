"""The configuration of an application to ship: threads, processes, mixed or undecided, by aim."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.formats import number, percent
from scaling.base.models import THREADS, is_mixed
from scaling.journal.record import StudyLine
from scaling.study.application import WORKLOAD
from scaling.study.load import RATE, middle
from scaling.study.questions import (
    CAPACITY,
    CPU,
    MEMORY,
    OVER_PROCESSES,
    OVER_THREADS,
    P99,
    THROUGHPUT,
)

NOT_DECIDED = "not decided"
AIMS = {THROUGHPUT: "requests/s at peak", MEMORY: "memory, MiB", CPU: "CPU µs a request"}


def shipped(study: Study) -> pd.DataFrame:
    """A row of `ratios` for each aim: N threads over the processes that are best at it; and one for
    the best mixed model, where the study has any.

    Columns besides: `aim`; `mixed`, the mixed model, if it is one; `shared_cpus`, whether there are
    fewer CPUs than workers; `ship`, the configuration to ship, or that it is not decided; `places`
    of the cells that may be shipped. Memory is compared with the processes that take least. What is
    compared is on the first loop that the study names, at its headline N, or the largest N that is
    mixed; latency is at the rate that the study states, the one in the middle of several.
    """
    ratios = study.ratios
    own = ratios[(ratios["workload"] == WORKLOAD) & (ratios["loop"] == _first_loop(study))]
    found = _at_aims(study, own[own["question"] == OVER_PROCESSES])
    between = own[own["question"] == OVER_THREADS]
    left = {
        measure: _left([*_records(rows), *_records(_between(between, rows))])
        for measure, rows in found.groupby("measure", sort=False)
    }
    names = [list(left[measure].values()) for measure in found["measure"]]
    both = [tuple(row) for row in found[["of", "over"]].itertuples(index=False)]
    places = [tuple(left[measure]) for measure in found["measure"]]
    return found.assign(
        aim=[_aim(row) for row in _records(found)],
        mixed=found["model"].astype(str).where(_are_mixed(found), ""),
        shared_cpus=found["region"].eq("oversubscribed").map({True: "shared", False: ""}),
        ship=[each[0] if len(each) == 1 else NOT_DECIDED for each in names],
        places=pd.Series([a or b for a, b in zip(places, both, strict=True)], found.index, object),
    )


def _at_aims(study: Study, over_processes: pd.DataFrame) -> pd.DataFrame:
    """The ratios over processes that decide: a row for threads at each aim, and one for the best
    mixed model.
    """
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
    # Of memory over fresh and over forked processes the one that is worse for threads.
    found = found.sort_values("ratio", ascending=False, kind="stable")
    return _best_mixed(found.drop_duplicates(["measure", "of"])).sort_index()


def _are_mixed(found: pd.DataFrame) -> "pd.Series[bool]":
    return found["model"].astype(str).map(is_mixed).astype(bool)


def _records(found: pd.DataFrame) -> list[dict[Any, Any]]:
    return found.to_dict("records")


def _largest_n(rows: pd.DataFrame) -> int:
    """The largest N with a core for each worker, else the largest."""
    on_cores = rows[rows["region"] == "cores"]
    return int((rows if on_cores.empty else on_cores)["workers"].max())


def _best_mixed(found: pd.DataFrame) -> pd.DataFrame:
    """Of the rows of mixed models at each aim the best one; and all of threads."""
    mixed = _are_mixed(found)
    rows = found[mixed]
    more = rows["measure"].eq(THROUGHPUT) | rows["measure"].str.startswith(CAPACITY.format(""))
    ranked = rows.assign(rank=rows["ratio"].where(~more, -rows["ratio"])).sort_values("rank")
    best = ranked.drop_duplicates("measure").index
    return found[~mixed | found.index.isin(best)]


def _between(over_threads: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """What is known of these cells over each other, in the same measure."""
    same = over_threads["of"].isin(rows["of"]) & over_threads["over"].isin(rows["of"])
    return over_threads[same & over_threads["measure"].isin(rows["measure"])]


def _first_loop(study: Study) -> str:
    loops = study.line.study.get("loops") or study.cells["loop"].astype(str).tolist()
    return str(loops[0])


def _rate(study: Study, rates: "pd.Series[float]") -> float:
    """The rate that latencies are at, in requests/s; NaN without one."""
    loaded = sorted(set(rates) - {0.0})
    stated = [each for each in loaded if each in _stated_rates(study.line)]
    return middle(stated or loaded) if loaded else math.nan


def _stated_rates(study: StudyLine) -> set[float]:
    """The rates in requests/s that the study names one by one, those of its grid left out."""
    known = {name: rate for each in study.calibrations for name, rate in each.rates.items()}
    asked = [
        rate
        for entry in study.study.get("workloads") or ()
        for rate in entry.get("parameters", {}).get(RATE, ())
    ]
    named = (known.get(str(each), each) for each in asked)
    return {float(each) for each in named if isinstance(each, int | float) and each > 0}


def _aim(row: Mapping[Any, Any]) -> str:
    measure = str(row["measure"])
    if measure == P99:
        share = row["of_peak"]
        loaded = "" if math.isnan(share) else f" ({percent(round(share, 2))} of the peak)"
        return f"P99 at {number(row['rate'])}/s{loaded}, ms"
    return AIMS.get(measure, measure)


def _left(rows: list[dict[Any, Any]]) -> dict[int, str]:
    """The cells of some ratios that may be shipped, place and name: those that answer rightly and
    that no other one beats.

    Of two that are the same the second is left, which is simpler: nothing has to be changed for
    processes, and less for threads.
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
