"""Groups of runs (sections, curves, cells), kinds of runs, and the labels of cells.

A label is short, for people: a cell has all parameters of a workload, a title needs only those that
vary.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from zlib import crc32

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags
from scaling.analysis.validity.served import LATE
from scaling.base.models import MODELS, kind_of
from scaling.base.vocabulary import SIZINGS
from scaling.journal.record import Cell, Parameters, ParameterValue, StudyLine
from scaling.study.load import CLOSED, RATE, open_loop_rate

SECTION = ["workload", "parameters", "sizing"]
CURVE = [*SECTION, "loop", "arm", "model"]
CELL = [*CURVE, "workers"]
P99_LEAVES_OUT = 0.01  # of the requests, the slowest


def fell_behind(frame: pd.DataFrame) -> Flags:
    """Flags of runs in which the server fell behind: their latencies are lower bounds."""
    return np.array(["saturated" in reasons for reasons in frame["reasons"]], np.bool_)


def p99_is_bound(frame: pd.DataFrame) -> Flags:
    """Flags of runs whose P99 is a lower bound of that of all requests.

    The server fell behind, or declined more requests than a P99 leaves out: these have no latency.
    """
    due = frame["offered_per_s"] * frame["window_s"]
    declines = (frame["load_declined"] > P99_LEAVES_OUT * due).to_numpy(np.bool_)
    return np.asarray(fell_behind(frame) | declines)


def sent_late(frame: pd.DataFrame) -> Flags:
    """Flags of runs with a late load generator: their latencies are upper bounds."""
    return np.array([LATE in reasons for reasons in frame["reasons"]], np.bool_)


def in_open_loop(frame: pd.DataFrame) -> Flags:
    """Flags of runs that were loaded at a rate: their throughput is the schedule's."""
    loaded = frame["offered_per_s"].notna().to_numpy()
    if not loaded.any():
        return loaded
    places, texts = pd.factorize(frame["parameters"])
    has_rate = [open_loop_rate(Parameters.read(str(text))) is not None for text in texts]
    return np.asarray(np.array(has_rate, np.bool_)[places] & loaded)


def in_order(study: StudyLine) -> Callable[[Cell], tuple[object, ...]]:
    """The order in which cells are shown: workloads and arms as the study names them, parameters by
    value, N ascending.
    """
    workloads, arms = list(study.workloads), list(study.arms)

    def rank(cell: Cell) -> tuple[object, ...]:
        return (
            _place(cell.workload, workloads),
            _by_value(cell.parameters),
            _place(cell.sizing, SIZINGS),
            Parameters.of(cell.parameters).text,
            cell.loop,
            _place(cell.arm, arms),
            _place(kind_of(cell.model), MODELS),
            cell.model,
            cell.workers,
        )

    return rank


def _place(name: str, order: Iterable[str]) -> tuple[int, str]:
    """The place of a name in an order; unknown names after the known ones, by alphabet."""
    known = list(order)
    return (known.index(name), "") if name in known else (len(known), name)


def _by_value(parameters: Mapping[str, object]) -> tuple[tuple[str, float, str], ...]:
    """Parameters so that they sort by value: 256 before 1024, words by alphabet."""
    return tuple(
        (name, float(value), "")
        if isinstance(value, int | float)
        else (name, float("inf"), str(value))
        for name, value in parameters.items()
    )


# ------------------------------------------------------------------------------------------- labels

LONGEST_NAME = 120  # file systems take 255 bytes, and more is put around it

type Variant = tuple[str, Mapping[str, ParameterValue]]  # workload and its parameters


def short_labels(every: Iterable[Variant], *, simulated: bool) -> dict[Variant, str]:
    """The workload, and those of its parameters that differ among the variants given. A rate is
    `closed loop` or `at 400/s`.

    If the runs are `simulated`, the label says so: it is in the title of every table and plot.
    """
    by_workload: dict[str, list[Mapping[str, ParameterValue]]] = defaultdict(list)
    for workload, parameters in every:
        by_workload[workload].append(parameters)
    short = {}
    for workload, sets in by_workload.items():
        names = dict.fromkeys(name for each in sets for name in each)
        varying = [name for name in names if len({repr(p.get(name)) for p in sets}) > 1]
        for parameters in sets:
            parts = [parameter(name, parameters[name]) for name in varying if name in parameters]
            name = f"simulated {workload}" if simulated else workload
            short[workload, parameters] = " · ".join([name, *parts])
    return short


def slug(label: str) -> str:
    """A label as part of a file name: `echo · payload_bytes=256` → `echo-payload_bytes-256`.

    A very long one is cut, and ends with a number of its own instead.
    """
    name = re.sub(r"[^\w.+]+", "-", label, flags=re.ASCII).strip("-.") or "workload"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}-{crc32(label.encode()):08x}"


def parameter(name: str, value: object) -> str:
    """A parameter with its value, in words; a rate as above."""
    if name == RATE and isinstance(value, int | float):
        return "closed loop" if value == CLOSED else f"at {value:.12g}/s"
    return f"{name}={plain(value)}"


def plain(value: object) -> str:
    """A value as a study file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
