"""A plan as rows to print: what is run, how often, for how long, and what is not and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaling.journal.record import Cell, ParameterValue, RefusedCells, WorkloadFacts
from scaling.study.load import RATE
from scaling.study.plan.cells import Plan
from scaling.study.rates import CALIBRATION_WINDOW_S, calibration_runs, rate_in_words


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
class PlanTable:
    """The rows of a plan and its sums, which count the repeats of the A/A pairs, too.

    `finite` of the `runs` take a time that is not known beforehand; `total_s` is that of the
    others and of the `calibrations`, which are runs before the first; `run_s` is the average of a
    run, and `in_windows` the share of the total that is measured.
    """

    name: str
    rows: tuple[PlanRow, ...]
    refused: tuple[RefusedCells, ...]
    cells: int
    aa_pairs: int
    blocks: int
    runs: int
    finite: int
    calibrations: int
    calibration_s: float
    run_s: float
    total_s: float
    in_windows: float


def plan_table(plan: Plan) -> PlanTable:
    """The plan's rows, in the study's order."""
    blocks = plan.study.blocks
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
            workers=tuple(dict.fromkeys(cell.workers for cell in cells)),
            runs=len(cells) * blocks,
            seconds=_seconds(plan, cells),
        )
        for (workload, parameters, arm, model, loop, sizing), cells in alike.items()
    )
    runs = len(plan.every_cell) * blocks
    windowed = [cell for cell in plan.every_cell if plan.inside_s(cell) is not None]
    runs_s = sum(_seconds(plan, [cell]) or 0.0 for cell in windowed)
    calibrating = calibration_runs(plan.calibrations)
    calibration_s = sum(
        plan.overhead_s(cell) + plan.study.warmup_s + CALIBRATION_WINDOW_S for cell in calibrating
    )
    return PlanTable(
        name=plan.study.name,
        rows=rows,
        refused=refused_cells(plan),
        cells=len(plan.cells),
        aa_pairs=len(plan.repeats),
        blocks=blocks,
        runs=runs,
        finite=runs - len(windowed) * blocks,
        calibrations=len(calibrating),
        calibration_s=calibration_s,
        run_s=runs_s / blocks / len(windowed) if windowed else 0.0,
        total_s=runs_s + calibration_s,
        in_windows=len(windowed) * blocks * plan.study.window_s / (runs_s + calibration_s or 1.0),
    )


def _seconds(plan: Plan, cells: Sequence[Cell]) -> float | None:
    """What these cells take in all blocks; None where they are finite."""
    times = [plan.inside_s(cell) for cell in cells]
    known = [
        time + plan.overhead_s(cell)
        for cell, time in zip(cells, times, strict=True)
        if time is not None
    ]
    return sum(known) * plan.study.blocks if len(known) == len(cells) else None


def changed_parameters(cell: Cell, workloads: Mapping[str, WorkloadFacts]) -> str:
    """The cell's parameters that are not at their defaults: `payload_bytes=256, api=streams`."""
    known = workloads[cell.workload].parameters
    changed: dict[str, ParameterValue] = {
        name: rate_in_words(value) if name == RATE else value
        for name, value in cell.parameters.items()
        if value != known[name].default
    }
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def refused_cells(plan: Plan) -> tuple[RefusedCells, ...]:
    """What the plan leaves out, and why."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in plan.refused:
        key = (each.workload, each.model, each.loop, each.sizing, each.reason)
        alike.setdefault(key, []).append(each.arm)
    return tuple(
        RefusedCells(
            workload=workload,
            arms=tuple(arms),
            model=model,
            loop=loop,
            sizing=sizing,
            reason=reason,
        )
        for (workload, model, loop, sizing, reason), arms in alike.items()
    )
