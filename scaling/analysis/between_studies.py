"""The same cells in two studies: yesterday's and today's, side by side.

Their runs were not made in the same blocks, so nothing pairs them, and whatever else changed is
shown beside the figures. What is compared is in `scaling.study.questions.two_studies`, the rule in
`scaling.analysis.ratios`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from scaling.analysis.ratios import Ratios, ratios
from scaling.analysis.results import StudyResults
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import Cell, StudyLine
from scaling.study.questions import two_studies

# Options that may differ between two studies without any cell being measured differently. With
# strong sizing the largest N of a workload is not one of them: it decides what is in flight.
HARMLESS = frozenset(
    {"name", "preset", "blocks", "seed", "arms", "workloads", "models", "loops", "sizing", "margin"}
    | {"workers", "aa_pairs"}
)


class Across:
    """A study and an earlier one, `then`: the cells they share, their ratios, what else differs.

    Only cells are compared that `keep` lets pass. All verdicts are exploratory.
    """

    def __init__(
        self, then: StudyResults, now: StudyResults, keep: Callable[[Cell], bool] | None = None
    ) -> None:
        self.then = then
        self.now = now
        self._keep = keep or (lambda _: True)

    @cached_property
    def cells(self) -> list[Cell]:
        """Those of both, in the later one's order."""
        earlier = set(self.then.blocks.cells)
        return [each for each in self.now.blocks.cells if each in earlier and self._keep(each)]

    @cached_property
    def ratios(self) -> Ratios:
        """Now over then, cell by cell."""
        now, then = self.now.blocks, self.then.blocks
        asked = (each for each in two_studies(now, then) if self._keep(each.of))
        return ratios(now, asked, then=then)

    def is_measured(self, cell: Cell) -> bool:
        """Whether both studies have a valid run of a cell."""
        both = (study.points.get(cell) for study in (self.then, self.now))
        return all(point is not None and point.throughput.n for point in both)

    def without_run(self, study: StudyResults) -> list[str]:
        """The names of the cells of both in which one of the studies has no valid run."""
        points, names = study.points, study.names
        return [names[each] for each in self.cells if not points[each].throughput.n]

    @property
    def across_states(self) -> list[Cell]:
        """The cells whose runs were in different allocator states in the two studies."""

        def states(cell: Cell) -> set[str | None]:
            return {each.points[cell].allocator_state for each in (self.then, self.now)}

        measured = filter(self.is_measured, self.cells)
        return [cell for cell in measured if len(states(cell) - {None}) > 1]

    @property
    def differences(self) -> tuple[str, ...]:
        """What else is not the same in both."""
        return _comparable(self.now.study).differences(_comparable(self.then.study))

    @property
    def is_backwards(self) -> bool:
        """Whether the study called the earlier one was begun after the other."""
        began = [each.study.started_at for each in (self.then, self.now)]
        return None not in began and began != sorted(map(str, began))


def _comparable(study: StudyLine) -> Identity:
    same = identity_of(study)
    options = {name: value for name, value in same.study.items() if name not in HARMLESS}
    if largest := _dealt_out_over(same.study):
        options["workers"] = largest
    return replace(same, study=options)


def _dealt_out_over(study: Mapping[str, Any]) -> dict[str, int]:
    """The largest N of each workload that has strong sizing, as a settled study names them."""
    entries = study.get("workloads") or []
    strong = {entry["name"] for entry in entries if "strong" in (entry.get("sizing") or ())}
    largest: dict[str, int] = {}
    for entry in entries:
        if (name := entry["name"]) in strong:
            largest[name] = max([largest.get(name, 1), *(entry.get("workers") or ())])
    return largest
