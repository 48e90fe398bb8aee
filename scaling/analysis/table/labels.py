"""Short names for people: how one variant of a workload differs from the others.

A cell has all parameters of a workload; a title needs only those that vary.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from zlib import crc32

import pandas as pd

from scaling.journal.record import Parameters, ParameterValue
from scaling.study.load import CLOSED, RATE

LONGEST_NAME = 120  # file systems take 255 bytes, and more is put around it

type Variant = tuple[str, Mapping[str, ParameterValue]]  # workload and its parameters


def labels(frame: pd.DataFrame) -> dict[Variant, str]:
    """A label for each variant: `echo`, or `echo · payload_bytes=256` where there are several."""
    pairs = frame[["workload", "parameters"]].drop_duplicates().astype(str)
    parameters = map(Parameters.read, pairs["parameters"])
    variants = zip(pairs["workload"], parameters, strict=True)
    return short_labels(variants, simulated=bool(frame["simulated"].any()))


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
