"""Which ratios will be asked of a set of cells, so that their cells are measured in turn.

They are those of the questions of the study (`scaling.study.questions`), which are asked here as if
every cell had been measured, and of each A/A pair.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scaling.journal.record import Cell, Region
from scaling.study.plan.groups import Pair
from scaling.study.questions import (
    OVER_PROCESSES,
    THROUGHPUT,
    curve_of,
    every_ratio,
    section_of,
)


class Planned:
    """The cells of a plan, by themselves without region, pinning and twin, as questions need them.

    Capacity is a figure of all rates: no objective is stated here.
    """

    objectives: Sequence[str] = ()

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.planned: Mapping[Cell, Cell] = {_plain(cell): cell for cell in cells if not cell.twin}
        self.cells = _in_sections(self.planned)

    def region(self, cell: Cell) -> Region | None:
        """Where the workers of a cell fit on the machine."""
        return self.planned[cell].region if cell in self.planned else None

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that are planned; each measure is taken to have a value."""
        del measure
        return [each for each in cells if each in self.planned]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Whether a cell is planned; it is taken to be valid in every block."""
        del ends
        return cell in self.planned


def _in_sections(cells: Iterable[Cell]) -> list[Cell]:
    """The cells section by section, loop by loop and curve by curve, N ascending, as results are.

    An entry of a study file may be of several sections, and a section of several entries.
    """
    every = list(cells)
    places: dict[Cell, int] = {}

    def within(cell: Cell) -> tuple[Cell, Cell, Cell]:
        return section_of(cell), section_of(cell).but(loop=cell.loop), curve_of(cell)

    for cell in every:
        for group in within(cell):
            places.setdefault(group, len(places))
    return sorted(every, key=lambda cell: (*map(places.__getitem__, within(cell)), cell.workers))


def pairs(cells: Sequence[Cell]) -> Iterator[Pair]:
    """The pairs among these cells with the same N, each once; A/A pairs come last.

    Threads over processes are primary: they are what a study with both is about.
    """
    scope = Planned(cells)
    found: dict[tuple[Cell, Cell], Pair] = {}
    for asked in every_ratio(scope):
        for over in scope.measured(asked.among):
            if asked.of in scope.planned and asked.of.workers == over.workers:
                both = scope.planned[asked.of], scope.planned[over]
                is_primary = asked.question == OVER_PROCESSES
                found.setdefault(both, Pair(asked.question, *both, is_primary))
    yield from found.values()
    for twin in cells:
        if twin.twin and _plain(twin) in scope.planned:
            yield Pair("A/A", twin, scope.planned[_plain(twin)], primary=True)


def _plain(cell: Cell) -> Cell:
    return cell.but(region=None, pinning=None, twin=False)
