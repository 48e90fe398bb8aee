"""A plan as rows to print: what is run, how often, for how long, and what is not and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType, group
from rich.table import Table
from rich.text import Text

from scaling.base.formats import duration, listed, percent, plural
from scaling.builds.arms import switched
from scaling.journal.record import Cell, ParameterValue, WorkloadFacts
from scaling.study.controls import arms_with_controls, is_control
from scaling.study.load import CALIBRATION_WINDOW_S, RATE, calibration_runs, rate_in_words
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import MIB, NOT_COMPARED
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.settle import MUCH, amount, scaled_to


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """Cells that differ in nothing but the number of workers: `cell`, with `parameters` in words.

    `seconds` are of all blocks; None for a finite workload: its time is not known beforehand.
    """

    cell: Cell
    parameters: str
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

    rows: tuple[PlanRow, ...]
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
    alike: dict[tuple[Cell, str], list[Cell]] = {}
    for each in plan.cells:
        cell = each.but(parameters={}, workers=0, pinning=None)
        alike.setdefault((cell, changed_parameters(each, plan.workloads)), []).append(each)
    rows = tuple(
        PlanRow(
            cell=cell,
            parameters=parameters,
            workers=tuple(dict.fromkeys(cell.workers for cell in cells)),
            runs=len(cells) * blocks,
            seconds=_seconds(plan, cells),
        )
        for (cell, parameters), cells in alike.items()
    )
    runs = len(plan.every_cell) * blocks
    windowed = [cell for cell in plan.every_cell if plan.inside_s(cell) is not None]
    runs_s = sum(_seconds(plan, [cell]) or 0.0 for cell in windowed)
    calibrating = calibration_runs(plan.calibrations)
    calibration_s = sum(
        plan.overhead_s(cell) + plan.study.warmup_s + CALIBRATION_WINDOW_S for cell in calibrating
    )
    return PlanTable(
        rows=rows,
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


# ------------------------------------------------------------------------------------ on a terminal
# A plan on a terminal: what is run, what cannot be, and how long it takes.


def one_line(plan: Plan) -> str:
    """What a study is about to cost."""
    table, pairs, left_out = plan_table(plan), len(plan.repeats), len(plan.refused)
    and_pairs = f" and {plural(pairs, 'A/A pair')}" if pairs else ""
    refused = f"; {plural(left_out, 'combination')} left out" if left_out else ""
    return (
        f"{plan.study.name}: {plural(len(plan.cells), 'cell')}{and_pairs} in "
        f"{plural(table.blocks, 'block')} = {plural(table.runs, 'run')}{_cost(table)}{refused}"
    )


def _cost(table: PlanTable) -> str:
    windowed = f"of {table.run_s:.1f} s, about {duration(table.total_s)}"
    finite = "finite: their time is known after the first block"
    if not table.finite:
        return f" {windowed}"
    if table.finite == table.runs:
        return f", {finite}"
    return f": {table.runs - table.finite:,} {windowed}; {table.finite:,} {finite}"


def reservations(plan: Plan) -> Iterator[str]:
    """What makes a study smaller or longer than it looks, one line each."""
    study = plan.study
    if plan.fitted:
        yield plan.fitted
    if study.scale != 1:
        yield scaled_to(study.document)
    if study.precision is not None:
        most = max(study.blocks, study.max_blocks)
        few = f": too few, an interval needs {FEWEST_FOR_INTERVAL}"
        yield (
            f"blocks are added until every headline ratio is within ± {percent(study.precision)}, "
            f"up to {plural(most, 'block')}{few if most < FEWEST_FOR_INTERVAL else ''}"
        )
    yield from _calibrations(plan)
    yield from switched(study.arms)
    yield from _wholes(plan)
    finite = [cell for cell in plan.cells if plan.workloads[cell.workload].finite]
    each = max(
        (amount(plan.workloads[cell.workload], cell.parameters) for cell in finite), default=0
    )
    if each >= MUCH:
        yield f"{each:,} per worker can take hours in total; for a quick look: --scale 0.01"


def _calibrations(plan: Plan) -> Iterator[str]:
    """Where the rates come from that are not known before the study begins."""
    needed = plan.calibrations
    if not needed:
        return
    table = plan_table(plan)
    names = listed(dict.fromkeys(each.workload for each in needed))
    rates = max(len(each.names) for each in needed)
    tried = dict.fromkeys(
        f"{cell.model} on {cell.arm}, N = {cell.workers}"
        for each in needed
        for cell in each.candidates
    )
    yield (
        f"{names}: {plural(rates, 'rate')} from {plural(len(needed), 'calibration')} in a closed "
        f"loop before the first run, {plural(table.calibrations, 'run')}, about "
        f"{duration(table.calibration_s)}: {'; '.join(tried)}"
    )


def _wholes(plan: Plan) -> Iterator[str]:
    """Workloads that round their work up to whole groups of operations."""
    found: set[str] = set()
    for cell in plan.cells:
        facts = plan.workloads[cell.workload]
        whole = cell.parameters.get(facts.whole) if facts.whole is not None else None
        asked = amount(facts, cell.parameters)
        if isinstance(whole, int) and whole > asked:
            found.add(
                f"{cell.workload}: {facts.whole}={whole:,} is more than the {asked:,} asked for; "
                f"one whole {facts.whole} is done"
            )
    yield from sorted(found)


def aa_pairs_line(plan: Plan) -> str:
    """How the plan measures noise."""
    if not plan.repeats:
        return "no A/A pairs: run-to-run noise will not be measured"
    pairs = plural(len(plan.repeats), "cell")
    are, them = ("is", "it") if len(plan.repeats) == 1 else ("are", "them")
    return (
        f"{pairs} {are} run twice in every block (A/A pairs) to measure the noise; "
        f"--no-aa-pairs leaves {them} out"
    )


def controls_line(plan: Plan) -> str:
    """How the plan checks that machine and builds behave as they must."""
    added = dict.fromkeys(cell.workload for cell in plan.cells[plan.asked :])
    if added:
        cells = plural(len(plan.cells) - plan.asked, "cell")
        return f"{cells} of these are controls ({', '.join(added)}); --no-controls leaves them out"
    ran = {(c.workload, c.arm) for c in plan.cells if is_control(c.workload, c.parameters)}
    if own := arms_with_controls(plan.study.arms, ran):
        return f"the study has its own controls, on {listed(own)}"
    if not plan.study.controls:
        return "no controls: problems of the machine or the builds will not be noticed"
    return "no controls: they need two cores"


def turns_lines(plan: Plan) -> Iterator[str]:
    """Which cells are measured in turn, what that needs, and which are not and why."""
    if not plan.study.alternate:
        yield "no cells are measured in turn: each run is made after the other (--no-alternate)"
        return
    if plan.groups:
        cells = sum(map(len, plan.groups))
        most = max(map(len, plan.groups))
        mib = max(sum(plan.needs[cell] for cell in group) for group in plan.groups) / MIB
        yield (
            f"{plural(cells, 'cell')} are measured in turn, in {plural(len(plan.groups), 'group')} "
            f"of up to {most}, which may need {mib:,.0f} MiB at once; --no-alternate measures one "
            f"after the other"
        )
    reasons: dict[str, dict[str, None]] = {}
    for cell, reason in plan.alone.items():
        if reason != NOT_COMPARED:
            reasons.setdefault(reason, {})[cell.workload] = None
    for reason, workloads in reasons.items():
        yield f"not in turn: {listed(workloads)}: {reason}"


@group()
def plan_view(plan: Plan) -> Iterator[RenderableType]:
    """The cells, the refusals with their reasons, and the sum."""
    table = plan_table(plan)
    cells = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("workload", "arm", "loop", "model", "sizing"):
        cells.add_column(heading, overflow="fold")
    cells.add_column("N")
    cells.add_column("runs", justify="right")
    cells.add_column("time", justify="right")
    for row in table.rows:
        cell = row.cell
        label = f"{cell.workload} ({row.parameters})" if row.parameters else cell.workload
        counts = ", ".join(map(str, row.workers))
        cells.add_row(
            label, cell.arm, cell.loop, cell.model, cell.sizing, counts, str(row.runs),
            "finite" if row.seconds is None else duration(row.seconds),
        )  # fmt: skip
    yield cells
    if plan.refused:
        yield Text("\ncannot be run", style="bold")
    for refused in plan.refused:
        arms = ", ".join(refused.arms)
        what = f"{refused.workload} · {refused.loop} · {arms} · {refused.model}"
        yield Text(f"  {what}: {refused.reason}")
    yield Text()
    for remark in (
        *reservations(plan),
        controls_line(plan),
        aa_pairs_line(plan),
        *turns_lines(plan),
    ):
        yield Text(remark, style="dim")
    if plan.study.pin:
        yield Text("each worker is pinned to a CPU of its own", style="dim")
    measured = f", {table.in_windows:.0%} of it in windows" if not table.finite else ""
    yield Text(f"\n{one_line(plan)}{measured}", style="bold")
