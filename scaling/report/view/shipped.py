"""The configuration of an application to ship: threads, processes or undecided, by aim."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.formats import number, percent
from scaling.base.models import THREADS
from scaling.journal.record import StudyLine
from scaling.study.application import WORKLOAD
from scaling.study.load import RATE, middle
from scaling.study.questions import CAPACITY, CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT

NOT_DECIDED = "not decided"
AIMS = {THROUGHPUT: "requests/s at peak", MEMORY: "memory, MiB", CPU: "CPU µs a request"}


def shipped(study: Study) -> pd.DataFrame:
    """A row of `ratios` for each aim: N threads over the processes that are best at it.

    Columns besides: `aim`, and `ship`, the configuration to ship, or that it is not decided. Memory
    is compared with the processes that take least. What is compared is on the first loop that the
    study names, at its headline N; latency is at the rate that the study states, the one in the
    middle of several.
    """
    ratios = study.ratios
    asked = ratios[
        (ratios["question"] == OVER_PROCESSES)
        & (ratios["workload"] == WORKLOAD)
        & (ratios["model"] == THREADS)
        & (ratios["loop"] == _first_loop(study))
    ]
    is_aim = asked["main"] & asked["measure"].isin([THROUGHPUT, MEMORY]) & (asked["rate"] == 0)
    at_n = asked["workers"].isin(asked.loc[asked["main"], "workers"])
    is_load = at_n & (asked["measure"] == P99) & (asked["rate"] == _rate(study, asked["rate"]))
    is_capacity = asked["main"] & asked["measure"].str.startswith(CAPACITY.format(""))
    found = asked[is_aim | is_load | is_capacity]
    # Of memory over fresh and over forked processes the one that is worse for threads.
    found = found.sort_values("ratio", ascending=False, kind="stable")
    found = found.drop_duplicates(["measure", "of"]).sort_index()
    return found.assign(
        aim=[_aim(row) for row in found.to_dict("records")],
        ship=[_ship(row) for row in found.to_dict("records")],
    )


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


def _ship(row: Mapping[Any, Any]) -> str:
    ends = [f"{row[end + 'arm']} {row[end + 'model']}" for end in _ends(row)]
    return ends[0] if len(ends) == 1 else NOT_DECIDED


def ends_to_ship(row: Mapping[Any, Any]) -> list[int]:
    """The places of the cells to ship: one where it is decided, else both that are compared."""
    places = {"": "of", "over_": "over"}
    return [row[places[end]] for end in _ends(row) or places]


def _ends(row: Mapping[Any, Any]) -> list[str]:
    """The prefixes of the sides of a ratio that may be shipped: none where both answer wrongly.

    Of two that are the same, processes: nothing has to be changed for these.
    """
    right = [end for end in ("", "over_") if not row[f"{end}wrong"]]
    side = side_of(str(row["word"]))
    if len(right) < len(("of", "over")):
        return right
    if side > 0:
        return [""]
    return ["over_"] if side < 0 or row["word"] == SAME else right
