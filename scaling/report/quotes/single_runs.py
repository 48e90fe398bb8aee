"""The single runs beside a journal that a text quotes: a long load of an application, and faults.

    28.1 (3.20–52.0)<!-- shop: soak.growth model=threads -->
    12<!-- shop: fault.lost model=processes fault="one worker killed" -->

The figures of a fault are the fields of `FaultRecord`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scaling.analysis.served.growth import ends_mib, growth
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.journal.faults import FaultRecord, read_faults
from scaling.journal.soak import SoakRecord, read_soak
from scaling.report.quotes.source import QuoteSource

type SingleRun = SoakRecord | FaultRecord

SOAK, FAULT = "soak.", "fault."
FIELDS = ("arm", "model", "server", "workers")  # that name a run, and `fault`
MIB = "MiB"
OF_A_SOAK: Mapping[str, Callable[[SoakRecord], Estimate]] = {
    "begin": lambda run: median(ends_mib(run)[:1], MIB),
    "end": lambda run: median(ends_mib(run)[1:], MIB),
    "growth": growth,
}
OF_A_FAULT = (
    *("requests", "lost", "refused", "back_s"),
    *("own_p99_ms", "own_max_ms", "others_p99_ms", "others_max_ms"),
)


def is_of_single_run(measure: str) -> bool:
    """Whether it is a figure of such a run, and not of the journal."""
    return measure.startswith((SOAK, FAULT))


def single_run(source: QuoteSource, folder: Path) -> str:
    """The figure of the one run in a folder of results that a source names.

    Raises:
        UsageError: no such figure, or no run or several with these fields.
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
    if isinstance(value, int):  # a count, as the page has it
        return f"{value:,}"
    return source.form.text(median([] if value is None else [value], ""))


def _named[Run: SingleRun](source: QuoteSource, runs: Sequence[Run]) -> Run:
    wanted = {**source.cell, **source.only}
    names = (*FIELDS, "fault")
    for field in wanted:
        if field not in names:
            raise unknown("field", field, names, where=source.measure)
    found = [run for run in runs if _fields(run, wanted) == wanted]
    if len(found) != 1:
        words = " ".join(f"{field}={value}" for field, value in wanted.items())
        raise UsageError(f"the study has {len(found)} such runs with {words}; it must be one")
    return found[0]


def _fields(run: SingleRun, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(run, name, None) for name in names}
