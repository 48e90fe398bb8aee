"""Workload `primitives` as one table: a row for each primitive, a column for each build."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaling.analysis.comparison import Compared
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.table.empty_loop import EMPTY, PARAMETER, PRIMITIVES
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.report.tables.grid import Cell, Grid
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT

NOTE = (
    "The empty loop is subtracted from all rows but its own, which shows what the machine gives. "
    "A row near 1 does no more in N threads than in one: all wait for what they share."
)


@dataclass(frozen=True, slots=True)
class Primitives:
    """The rows at `workers` threads on one loop: by primitive and arm, the gain over one thread,
    and the ratio to as many processes.
    """

    workers: int
    sizing: str
    loop: str
    gains: dict[str, dict[str, Ratio]]
    over_processes: dict[str, dict[str, Ratio]]

    @property
    def arms(self) -> list[str]:
        """The arms with a gain, in the order of the study."""
        return list(dict.fromkeys(arm for row in self.gains.values() for arm in row))

    @property
    def title(self) -> str:
        """What is compared."""
        return f"{PRIMITIVES}: gain of {self.workers} threads over one, {self.loop}"


def primitives(results: StudyResults) -> Iterator[Primitives]:
    """The rows of a study, in its order: for each sizing, and each loop; without gains none."""
    for sweep in results.sweeps:
        if (sweep.section.curves[0].key.workload, sweep.parameter) != (PRIMITIVES, PARAMETER):
            continue
        named = {
            id(each): str(value) for value, each in zip(sweep.values, sweep.sections, strict=True)
        }
        found: dict[str, list[Compared]] = {}
        for compared in results.judged:
            if id(compared.section) in named and not compared.is_across_loops:
                found.setdefault(compared.loop, []).append(compared)
        for loop, several in found.items():
            n = max(each.headline_n for each in several)
            rows = {named[id(each.section)]: each for each in several}
            gains = {name: _by_arm(each, "gain", n) for name, each in rows.items()}
            over = {name: _by_arm(each, OVER_PROCESSES, n) for name, each in rows.items()}
            if any(gains.values()):
                yield Primitives(n, sweep.section.sizing, loop, gains, over)


def _by_arm(compared: Compared, question: str, n: int) -> dict[str, Ratio]:
    """The ratios of throughput of N threads that answer a question."""
    found = compared.ratios.where(question, THROUGHPUT)
    return {each.of.arm: each for each in found if (each.of.model, each.of.workers) == (THREADS, n)}


def primitives_grid(rows: Primitives) -> Grid:
    """A row for each primitive: the gain on every arm, then the ratios to processes."""
    over = list(dict.fromkeys(arm for row in rows.over_processes.values() for arm in row))
    headings = [*rows.arms, *(f"{arm} over processes" for arm in over)]
    cells: list[list[Cell]] = [
        [
            f"{name} (the loop)" if name == EMPTY else name,
            *(gains.get(arm, formats.BLANK) for arm in rows.arms),
            *(rows.over_processes[name].get(arm, formats.BLANK) for arm in over),
        ]
        for name, gains in rows.gains.items()
    ]
    return Grid(rows.title, [PARAMETER, *headings], cells, note=NOTE)
