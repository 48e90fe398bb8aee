"""A plan as rows to print: what is run, how often, for how long, and what is not and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.journal.record import Cell, ParameterValue, WorkloadFacts
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """Cells that differ in nothing but the number of workers; `seconds` are of all blocks.

    None for a finite workload: its time is not known beforehand.
    """

    workload: str
    parameters: str
    arm: str
    model: str
    loop: str
    sizing: str
    workers: tuple[int, ...]
    runs: int
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """What is refused on these arms for one reason."""

    workload: str
    arms: tuple[str, ...]
    model: str
    loop: str
    sizing: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """The rows of a plan and its sums, which count the repeats of the A/A pairs, too.

    `finite` of the `runs` take a time that is not known beforehand; `total_s` is that of the
    others, each of which takes `run_s`, and `in_windows` the share of it that is measured.
    """

    name: str
    rows: tuple[PlanRow, ...]
    refused: tuple[RefusedRow, ...]
    cells: int
    aa_pairs: int
    blocks: int
    runs: int
    finite: int
    run_s: float
    total_s: float
    in_windows: float


def plan_table(plan: Plan, overhead_s: float = EXPECTED_OVERHEAD_S) -> PlanTable:
    """The plan's rows, in the study's order; `overhead_s` is a run's time beside its window."""
    blocks = plan.study.blocks
    run_s = overhead_s + plan.study.warmup_s + plan.study.window_s
    alike: dict[tuple[str, ...], list[Cell]] = {}
    for cell in plan.cells:
        changed = changed_parameters(cell, plan.workloads)
        key = (cell.workload, changed, cell.arm, cell.model, cell.loop, cell.sizing)
        alike.setdefault(key, []).append(cell)
    rows = tuple(
        PlanRow(
            workload=workload,
            parameters=parameters,
            arm=arm,
            model=model,
            loop=loop,
            sizing=sizing,
            workers=tuple(cell.workers for cell in cells),
            runs=len(cells) * blocks,
            seconds=None if plan.inside_s(cells[0]) is None else len(cells) * blocks * run_s,
        )
        for (workload, parameters, arm, model, loop, sizing), cells in alike.items()
    )
    runs = len(plan.every_cell) * blocks
    finite = sum(plan.inside_s(cell) is None for cell in plan.every_cell) * blocks
    return PlanTable(
        name=plan.study.name,
        rows=rows,
        refused=_refused_rows(plan),
        cells=len(plan.cells),
        aa_pairs=len(plan.repeats),
        blocks=blocks,
        runs=runs,
        finite=finite,
        run_s=run_s,
        total_s=(runs - finite) * run_s,
        in_windows=plan.study.window_s / run_s,
    )


def changed_parameters(cell: Cell, workloads: Mapping[str, WorkloadFacts]) -> str:
    """The cell's parameters that are not at their defaults: `payload_bytes=256, api=streams`."""
    known = workloads[cell.workload].parameters
    changed: dict[str, ParameterValue] = {
        name: value for name, value in cell.parameters.items() if value != known[name].default
    }
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def _refused_rows(plan: Plan) -> tuple[RefusedRow, ...]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in plan.refused:
        key = (each.workload, each.model, each.loop, each.sizing, each.reason)
        alike.setdefault(key, []).append(each.arm)
    return tuple(
        RefusedRow(
            workload=workload,
            arms=tuple(arms),
            model=model,
            loop=loop,
            sizing=sizing,
            reason=reason,
        )
        for (workload, model, loop, sizing, reason), arms in alike.items()
    )
