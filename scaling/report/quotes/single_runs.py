"""The single runs beside a journal that a text quotes: a long load of an application, and faults.

    28.1 (3.20–52.0)<!-- shop: soak.growth model=threads -->
    12<!-- shop: fault.lost model=processes fault="one worker killed" -->

The figures of a fault are the fields of `FaultRecord`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from scaling.analysis.served.growth import ends_mib, growth
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.journal.faults import FaultRecord, read_faults
from scaling.journal.soak import SoakRecord, read_soak
from scaling.report.quotes.form import Form
from scaling.report.quotes.source import FAULT_FIELD, QuoteSource

type SingleRun = SoakRecord | FaultRecord

SOAK, FAULT = "soak.", "fault."
RUN_FIELDS = ("arm", "model", "server", "workers")
MIB = "MiB"
OF_A_SOAK: Mapping[str, Callable[[SoakRecord], Estimate]] = {
    "begin": lambda run: median(ends_mib(run)[:1], MIB),
    "gain": lambda run: median(np.diff(ends_mib(run)), MIB),
    "growth": growth,
}
COUNTS = ("requests", "lost", "refused")
OF_A_FAULT = (
    *COUNTS,
    *("back_s", "own_p99_ms", "own_max_ms", "others_p99_ms", "others_max_ms"),
)


def is_of_single_run(measure: str) -> bool:
    """Whether it is a figure of such a run, and not of the journal."""
    return measure.startswith((SOAK, FAULT))


def single_run(source: QuoteSource, folder: Path) -> str:
    """The figure of the one run in a folder of results that a source names.

    Raises:
        UsageError: no such figure, one that is not written so, or no run or several with these
            fields.
    """
    kind, _, name = source.measure.partition(".")
    if source.over or source.form.is_verdict:
        raise UsageError(f"{source.measure} is of a single run: it has no ratio and no verdict")
    if f"{kind}." == SOAK:
        if name not in OF_A_SOAK:
            raise unknown("figure", name, OF_A_SOAK, where=SOAK)
        return source.form.text(OF_A_SOAK[name](_named(source, read_soak(folder))))
    if name not in OF_A_FAULT:
        raise unknown("figure", name, OF_A_FAULT, where=FAULT)
    value = getattr(_named(source, read_faults(folder)), name)
    if name not in COUNTS:
        return source.form.text(median([] if value is None else [value], ""))
    if source.form != Form():
        raise UsageError(f"{source.measure} is a count: it has no as= and no in=")
    return f"{value:,}"


def _named[Run: SingleRun](source: QuoteSource, runs: Sequence[Run]) -> Run:
    wanted = source.cell | ({FAULT_FIELD: source.fault} if source.fault else {})
    for field in source.cell:
        if field not in RUN_FIELDS:
            raise unknown("field", field, RUN_FIELDS, where=source.measure)
    found = [run for run in runs if all(getattr(run, name) == wanted[name] for name in wanted)]
    if len(found) != 1:
        words = " ".join(f"{field}={value}" for field, value in wanted.items())
        which = f" with {words}" if words else ""
        raise UsageError(f"the study has {len(found)} such runs{which}; it must be one")
    return found[0]
