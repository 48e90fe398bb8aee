"""Which cell of a study is profiled, and the cell with one worker that it is compared with."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scaling.analysis.table.groups import parameter, plain, short_labels
from scaling.analysis.table.load import Rows
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.runtimes.runtime import RUNTIMES
from scaling.journal.record import Cell, RunLine, StudyLine
from scaling.run.progress import run_in_words
from scaling.study.controls import is_control
from scaling.study.questions import curve_of

MOST_LISTED = 8


@dataclass(frozen=True)
class Chosen:
    """A cell with N workers and the same with one.

    `efficiency` is the throughput of N over N times that of one in the study, `per_s` that of N.
    """

    alone: Cell
    several: Cell
    efficiency: float
    per_s: float

    @property
    def text(self) -> str:
        """`echo · uvloop · 3.14t · 2 threads · connections=16`."""
        return cell_text(self.several)


def cell_text(cell: Cell) -> str:
    """A cell with all its parameters, in words that can be asked for one by one."""
    parameters = (parameter(name, value) for name, value in cell.parameters.items())
    return " · ".join([run_in_words(cell), *parameters])


def choose(head: StudyLine, runs: Sequence[RunLine], asked: str | None) -> Chosen:
    """The cell that has all words of `asked`; of several, and without any, the one that loses most.

    Without `asked` it is one of threads on a free-threaded build, at the largest N that has a core
    for each worker, and neither a control nor in an open loop, whose throughput is the schedule's.

    Raises:
        UsageError: there is none; says which there are.
    """
    known = _cells(head, runs)
    words = set((asked or "").replace("·", " ").replace(",", " ").split())
    if asked is None:
        fitting = [each for each in known if _is_default(each.several)]
        # The last of a curve has the largest N.
        fitting = list({curve_of(each.several): each for each in fitting}.values())
    else:
        fitting = [each for each in known if words <= _words(each.several)]
    if fitting:
        return min(fitting, key=lambda each: each.efficiency)
    if not known:
        raise UsageError(
            "no cell of this study can be profiled: it needs valid runs of CPython at N = 1 and at "
            "a larger N"
        )
    nearest = sorted(known, key=lambda each: (-len(words & _words(each.several)), _order(each)))
    names = _names([each.several for each in nearest])
    there = "; ".join([*names[:MOST_LISTED], *["…"] * (len(names) > MOST_LISTED)])
    what = f"no cell has all of {asked!r}" if asked else "no cell of threads without the GIL"
    raise UsageError(f"{what}; name one by some of its words: {there}")


def _names(cells: Sequence[Cell]) -> list[str]:
    """The cells in words, with the parameters in which some of one workload differ."""
    variants = [(cell.workload, cell.parameters) for cell in cells]
    short = short_labels(variants, simulated=False)
    return [
        run_in_words(cell) + short[variant].removeprefix(cell.workload)
        for cell, variant in zip(cells, variants, strict=True)
    ]


def _order(each: Chosen) -> tuple[bool, float]:
    """What loses most comes first, controls last."""
    cell = each.several
    return is_control(cell.workload, cell.parameters), each.efficiency


def _is_default(cell: Cell) -> bool:
    return (
        parse_arm(cell.arm).without_gil
        and cell.model == "threads"
        and cell.region in (None, "cores")
        and not is_control(cell.workload, cell.parameters)
        and not cell.parameters.get("rate_per_s")
    )


def _words(cell: Cell) -> set[str]:
    text = cell_text(cell).replace(" · ", " ")
    given = {f"{name}={plain(value)}" for name, value in cell.parameters.items()}
    return {*text.split(), *given, f"N={cell.workers}", cell.workload.rpartition(":")[2]}


def _cells(head: StudyLine, runs: Sequence[RunLine]) -> list[Chosen]:
    """Every cell with several workers whose curve also has one, by N, with its efficiency."""
    rows = Rows(runs, head)
    found: dict[Cell, list[float]] = defaultdict(list)
    for line, per_s, valid in zip(runs, rows["throughput_per_s"], rows["valid"], strict=True):
        outside = line.record is not None and line.record.outside is not None
        if valid and not line.cell.twin and not outside and line.cell.arm not in RUNTIMES:
            found[line.cell].append(float(per_s))
    per_s_of = {cell: median(values) for cell, values in found.items()}
    of_one = {curve_of(cell): cell for cell in per_s_of if cell.workers == 1}
    several = sorted((cell for cell in per_s_of if cell.workers > 1), key=lambda cell: cell.workers)
    return [
        Chosen(one, cell, _ratio(per_s_of[cell], cell.workers * per_s_of[one]), per_s_of[cell])
        for cell in several
        if (one := of_one.get(curve_of(cell)))
    ]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
