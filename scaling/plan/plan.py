"""The plan: which cells a study has, which it cannot have and why, in what order, at what cost."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scaling.arms import parse_arm
from scaling.errors import UsageError
from scaling.journal.identity import cell_key
from scaling.journal.record import SCHEMA, Cell, Description, ParameterValue, WorkloadFacts
from scaling.machine.pinning import cpu_order, pinning
from scaling.machine.topology import Topology, default_worker_counts
from scaling.plan.order import PlannedRun, in_blocks
from scaling.plan.refusals import Refused, refusal
from scaling.study.controls import with_controls
from scaling.study.file import WorkloadEntry
from scaling.study.settle import facts_of, settle
from scaling.study.study import Study

# What a run costs beside warm-up and window, until runs of this study have told: interpreter and
# imports 0.5 s (1 s with aiohttp), closing and recording 0.2 s; see studies/scale.toml.
EXPECTED_OVERHEAD_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A settled study's cells. `workloads` has the facts of each workload of the study, by name.

    The first `asked` of the cells are what the study asks for; the others are the controls that
    were added to it.
    """

    study: Study
    cells: tuple[Cell, ...]
    asked: int
    refused: tuple[Refused, ...]
    workloads: Mapping[str, WorkloadFacts]

    @property
    def runs(self) -> list[PlannedRun]:
        """Every run in the order in which it is to be done."""
        return list(in_blocks(self.cells, self.study.blocks, self.study.seed))

    def run_s(self, overhead_s: float = EXPECTED_OVERHEAD_S) -> float:
        """Seconds that one run takes, `overhead_s` of them beside warm-up and window."""
        return overhead_s + self.study.warmup_s + self.study.window_s

    def total_s(self, overhead_s: float = EXPECTED_OVERHEAD_S) -> float:
        """Seconds that all runs take."""
        return len(self.cells) * self.study.blocks * self.run_s(overhead_s)

    def in_flight(self, cell: Cell) -> int | None:
        """Work in flight over all workers; None where the workload has no parameter for it.

        `weak`: the parameter for each worker. `strong`: what `weak` has at the workload's largest
        number of workers, whatever the cell's own.
        """
        name = self.workloads[cell.workload].in_flight
        each = cell.parameters.get(name) if name is not None else None
        if not isinstance(each, int):
            return None
        return each * (cell.workers if cell.sizing == "weak" else self._most_workers(cell.workload))

    def document(
        self,
        cell: Cell,
        *,
        ticks: int,
        services: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, object]:
        """The JSON document that a child measures `cell` by.

        The window is cut into `ticks` parts; `services` has the addresses of each helper.
        """
        return {
            "schema": SCHEMA,
            "workload": self.workloads[cell.workload].path,
            "parameters": cell.parameters,
            "loop": cell.loop,
            "model": cell.model,
            "workers": cell.workers,
            "in_flight": self.in_flight(cell),
            "warmup_s": self.study.warmup_s,
            "window_s": self.study.window_s,
            "ticks": ticks,
            "services": {name: list(urls) for name, urls in (services or {}).items()},
            "pinning": cell.pinning,
            **parse_arm(cell.arm).cell_fields,
        }

    def require_cells(self) -> None:
        """Make sure that something of what was asked for can be run.

        Raises:
            UsageError: every cell is refused; says the reasons.
        """
        if not self.asked:
            reasons = "; ".join(dict.fromkeys(each.reason for each in self.refused))
            raise UsageError(f"nothing of this study can be run here: {reasons}")

    def _most_workers(self, workload: str) -> int:
        entries = (entry for entry in self.study.workloads if entry.name == workload)
        return max(count for entry in entries for count in entry.workers or ())


def make_plan(study: Study, descriptions: Mapping[str, Description], topology: Topology) -> Plan:
    """Settle the study and list its cells, in the study's own order.

    `descriptions` has the `--describe` document of each arm's environment, by the arm's name.

    Raises:
        UsageError: a name that no arm knows, a parameter that does not fit, or workers that are to
            be pinned where they cannot be.
    """
    asked = settle(study, descriptions, default_worker_counts(topology))
    study = with_controls(asked, descriptions, topology.usable_cores)
    order = cpu_order(topology) if study.pin else ()
    found = list(_every(study, descriptions, topology, order))
    own = _distinct(_every(asked, descriptions, topology, order))
    return Plan(
        study=study,
        cells=_distinct(found),
        asked=len(own),
        refused=tuple(dict.fromkeys(each for each in found if isinstance(each, Refused))),
        workloads={entry.name: facts_of(entry.name, descriptions) for entry in study.workloads},
    )


def _every(
    study: Study,
    descriptions: Mapping[str, Description],
    topology: Topology,
    order: tuple[int, ...],
) -> Iterator[Cell | Refused]:
    """All cells of a settled study and what it cannot have; `order`: of the CPUs to pin to."""
    for entry in study.workloads:
        for arm, model, loop, sizing in itertools.product(
            entry.arms or (), entry.models or (), entry.loops or (), entry.sizing or ()
        ):
            place = {"workload": entry.name, "model": model, "loop": loop, "sizing": sizing}
            for parameters in _sweep(entry):
                reason = refusal(descriptions[arm], parameters, **place)
                if reason is not None:
                    yield Refused(**place, arm=arm, reason=reason)
                    continue
                for workers in entry.workers or ():
                    yield Cell(
                        **place,
                        arm=arm,
                        parameters=parameters,
                        workers=workers,
                        region=topology.region(workers),
                        pinning=pinning(order, workers) if order else None,
                    )


def _distinct(found: Iterable[Cell | Refused]) -> tuple[Cell, ...]:
    """The cells, each once, in the order in which they first come."""
    return tuple({cell_key(each): each for each in found if isinstance(each, Cell)}.values())


def _sweep(entry: WorkloadEntry) -> Iterator[dict[str, ParameterValue]]:
    """Every combination of the values that the parameters take."""
    for values in itertools.product(*entry.parameters.values()):
        yield dict(zip(entry.parameters, values, strict=True))
