"""A plan for the terminal: its cells, what cannot be run and why, and the time that it takes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
from rich.console import RenderableType, group
from rich.table import Table
from rich.text import Text

from scaling.base.formats import duration, listed, plural
from scaling.builds.arms import switched
from scaling.journal.record import Cell, ParameterValue, WorkloadFacts
from scaling.study.controls import arms_with_controls, is_control
from scaling.study.load import RATE, calibration_runs, rate_in_words
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import MIB, NOT_COMPARED
from scaling.study.plan.order import Slot
from scaling.study.plan.refusals import uneven_shares
from scaling.study.settle import MUCH, amount, scaled_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The number and the time of all runs of a plan, A/A pairs among them.

    The time of the `finite` runs is not known beforehand. `total_s` is the time of the others and
    of the `calibrations`, which are runs in the first block. `block_s` is the time of a whole
    block, `headline_s` of an additional block of headline groups, `run_s` the mean of a run.
    `in_windows` is the share of the total that is measured.
    """

    runs: int
    finite: int
    calibrations: int
    calibration_s: float
    block_s: float
    headline_s: float
    run_s: float
    total_s: float
    in_windows: float


def plan_rows(plan: Plan) -> Iterator[list[str]]:
    """The rows of a plan's table: one for cells that differ only in the number of workers."""
    alike: dict[tuple[Cell, str], list[Cell]] = {}
    times = plan.times
    for each in plan.cells:
        cell = msgspec.structs.replace(each, parameters={}, workers=0)
        facts = plan.workloads[each.workload]
        label = with_parameters(each.workload, each.parameters, facts)
        alike.setdefault((cell, label), []).append(each)
    for (cell, label), cells in alike.items():
        counts = ", ".join(dict.fromkeys(_count_in_words(plan, each) for each in cells))
        runs = [times[Slot(each)] for each in cells]
        expected_s = [plan.expected_s(each) for each in cells]
        is_finite = None in expected_s
        seconds = sum(n * (each_s or 0) for n, each_s in zip(runs, expected_s, strict=True))
        yield [
            label, cell.arm, cell.loop, cell.model, cell.sizing, counts, str(sum(runs)),
            "finite" if is_finite else duration(seconds),
        ]  # fmt: skip


def _count_in_words(plan: Plan, cell: Cell) -> str:
    """`2`, or `2 (2 or 1 connections each)` if the work cannot be divided evenly."""
    shares = uneven_shares(plan.workloads[cell.workload], cell, plan.in_flight(cell))
    return f"{cell.workers} ({shares} each)" if shares else str(cell.workers)


def cost_of(plan: Plan) -> Cost:
    """The cost of a plan, as far as known beforehand."""
    known: dict[Cell, float] = {}
    for cell in plan.cells:
        if (expected_s := plan.expected_s(cell)) is not None:
            known[cell] = expected_s
    times = plan.times
    timed = [(slot.cell, count) for slot, count in times.items() if slot.cell in known]
    runs_s = sum(count * known[cell] for cell, count in timed)
    windowed = sum(count for _, count in timed)
    windows_s = sum(count * plan.window_s(cell) for cell, count in timed)
    calibrating = calibration_runs(plan.calibrations)
    calibration_s = sum(map(plan.calibration_s, calibrating))
    return Cost(
        runs=times.total(),
        finite=times.total() - windowed,
        calibrations=len(calibrating),
        calibration_s=calibration_s,
        block_s=sum(known.get(slot.cell, 0.0) for slot in plan.slots),
        headline_s=sum(known.get(slot.cell, 0.0) for slot in plan.headline_slots),
        run_s=runs_s / windowed if windowed else 0.0,
        total_s=runs_s + calibration_s,
        in_windows=windows_s / (runs_s + calibration_s or 1.0),
    )


def with_parameters(
    workload: str, parameters: Mapping[str, ParameterValue], facts: WorkloadFacts
) -> str:
    """`echo (payload_bytes=256, api=streams)`: a workload and parameters that are no defaults."""
    changed = [
        f"{name}={rate_in_words(value) if name == RATE else value}"
        for name, value in parameters.items()
        if value != facts.parameters[name].default
    ]
    return f"{workload} ({', '.join(changed)})" if changed else workload


# ------------------------------------------------------------------------------------ on a terminal


def one_line(plan: Plan) -> str:
    """The cells, runs and time of a study, in a line."""
    cost, pairs, left_out = cost_of(plan), len(plan.repeats), len(plan.refused)
    and_pairs = f" and {plural(pairs, 'A/A pair')}" if pairs else ""
    refused = f"; {plural(left_out, 'combination')} left out" if left_out else ""
    alone = plan.study.headline_blocks if plan.headline_slots else 0
    blocks = blocks_in_words(plan.study.blocks, alone)
    return (
        f"{plan.study.name}: {plural(len(plan.cells), 'cell')}{and_pairs} in "
        f"{blocks} = {plural(cost.runs, 'run')}{_in_words(cost)}{refused}"
    )


def blocks_in_words(blocks: int, alone: int | None) -> str:
    """`3 blocks and 9 of the headline groups alone`."""
    more = f" and {alone:,} of the headline groups alone" if alone else ""
    return f"{plural(blocks, 'block')}{more}"


def _in_words(cost: Cost) -> str:
    windowed = f"of {cost.run_s:.1f} s, about {duration(cost.total_s)}"
    finite = "finite: their time is known after the first block"
    if not cost.finite:
        return f" {windowed}"
    if cost.finite == cost.runs:
        return f", {finite}"
    return f": {cost.runs - cost.finite:,} {windowed}; {cost.finite:,} {finite}"


def reservations(plan: Plan) -> Iterator[str]:
    """Reasons why a study is smaller or longer than expected, one line each."""
    study = plan.study
    if plan.fitted:
        yield plan.fitted
    if study.scale != 1:
        yield scaled_to(study.document)
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
    """The calibrations that decide rates."""
    needed = plan.calibrations
    if not needed:
        return
    cost = cost_of(plan)
    names = listed(dict.fromkeys(each.workload for each in needed))
    rates = max(len(each.names) for each in needed)
    tried = dict.fromkeys(
        f"{cell.model} on {cell.arm}, N = {cell.workers}"
        for each in needed
        for cell in each.candidates
    )
    yield (
        f"{names}: {plural(rates, 'rate')} from {plural(len(needed), 'calibration')} in a closed "
        f"loop in the first block, {plural(cost.calibrations, 'run')}, about "
        f"{duration(cost.calibration_s)}: {'; '.join(tried)}"
    )


def _wholes(plan: Plan) -> Iterator[str]:
    """Workloads that do more operations than asked for, since they do whole groups."""
    found: set[str] = set()
    for cell in plan.cells:
        facts = plan.workloads[cell.workload]
        whole = cell.parameters.get(facts.whole) if facts.whole is not None else None
        asked = amount(facts, cell.parameters)
        if isinstance(whole, int) and whole > asked:
            found.add(
                f"{cell.workload}: {facts.whole}={whole:,} is more than the {asked:,} asked for; "
                f"one whole {facts.whole} is run"
            )
    yield from sorted(found)


def aa_pairs_line(plan: Plan) -> str:
    """The A/A pairs of the plan."""
    if not plan.repeats:
        return "no A/A pairs: run-to-run noise will not be measured"
    pairs = plural(len(plan.repeats), "cell")
    are, them = ("is", "it") if len(plan.repeats) == 1 else ("are", "them")
    return (
        f"{pairs} {are} run twice in every block (A/A pairs) to measure the noise; "
        f"--no-aa-pairs leaves {them} out"
    )


def controls_line(plan: Plan) -> str:
    """The controls of the plan."""
    added = dict.fromkeys(cell.workload for cell in plan.cells[plan.asked :])
    if added:
        cells = plural(len(plan.cells) - plan.asked, "cell")
        return f"{cells} of these are controls ({', '.join(added)}); --no-controls leaves them out"
    ran = {(c.workload, c.arm) for c in plan.cells if is_control(c.workload, c.parameters)}
    if own := arms_with_controls(plan.study.arms, ran):
        return f"the study has its own controls, on {listed(own)}"
    if not plan.study.controls:
        return "no controls: faults of the machine or the builds will not be noticed"
    return "no controls: they need two cores"


def turns_lines(plan: Plan) -> Iterator[str]:
    """The cells that are measured in turn, and reasons for the others."""
    if not plan.study.alternate:
        yield "no cells are measured in turn: each run is made after the other (--no-alternate)"
        return
    if in_turn := [group.slots for group in plan.in_turn]:
        mib = max(sum(plan.needs[slot.cell] for slot in slots) for slots in in_turn) / MIB
        yield (
            f"{plural(sum(map(len, in_turn)), 'cell')} are measured in turn, in "
            f"{plural(len(in_turn), 'group')} of up to {max(map(len, in_turn))}, which may need "
            f"{mib:,.0f} MiB at once; --no-alternate measures one after the other"
        )
    reasons: dict[str, dict[str, None]] = {}
    for each in plan.groups:
        if each.alone not in ("", NOT_COMPARED):
            reasons.setdefault(each.alone, {})[each.slots[0].cell.workload] = None
    for reason, workloads in reasons.items():
        yield f"not in turn: {listed(workloads)}: {reason}"


@group()
def plan_view(plan: Plan) -> Iterator[RenderableType]:
    """The cells, the refusals with their reasons, and the sum."""
    cells = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("workload", "arm", "loop", "model", "sizing"):
        cells.add_column(heading, overflow="fold")
    cells.add_column("N")
    cells.add_column("runs", justify="right")
    cells.add_column("time", justify="right")
    for row in plan_rows(plan):
        cells.add_row(*row)
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
    cost = cost_of(plan)
    measured = f", {cost.in_windows:.0%} of it in windows" if not cost.finite else ""
    yield Text(f"\n{one_line(plan)}{measured}", style="bold")
