"""What a plan takes: as rows to print, with what cannot be run and why, and fitted to a time."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from rich.console import RenderableType, group
from rich.table import Table
from rich.text import Text

from scaling.base.errors import UsageError
from scaling.base.formats import duration, listed, plural
from scaling.builds.arms import switched
from scaling.journal.record import Cell, ParameterValue, WorkloadFacts
from scaling.machine.topology import Topology
from scaling.study.controls import arms_with_controls, is_control
from scaling.study.definition import Study
from scaling.study.load import CALIBRATION_WINDOW_S, RATE, calibration_runs, rate_in_words
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import MIB, NOT_COMPARED
from scaling.study.plan.refusals import uneven_shares
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.settle import MUCH, amount, scaled_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What all runs of a plan take, the repeats of the A/A pairs among them.

    `finite` of the `runs` take a time that is not known beforehand; `total_s` is that of the
    others and of the `calibrations`, which are runs before the first; `run_s` is the average of a
    run, and `in_windows` the share of the total that is measured.
    """

    runs: int
    finite: int
    calibrations: int
    calibration_s: float
    run_s: float
    total_s: float
    in_windows: float


def plan_rows(plan: Plan) -> Iterator[list[str]]:
    """What a plan's table has of the cells that differ in nothing but the number of workers."""
    alike: dict[tuple[Cell, str], list[Cell]] = {}
    for each in plan.cells:
        cell = msgspec.structs.replace(each, parameters={}, workers=0)
        facts = plan.workloads[each.workload]
        label = with_parameters(each.workload, each.parameters, facts)
        alike.setdefault((cell, label), []).append(each)
    for (cell, label), cells in alike.items():
        counts = ", ".join(dict.fromkeys(_count_in_words(plan, each) for each in cells))
        seconds = _seconds(plan, cells)
        yield [
            label, cell.arm, cell.loop, cell.model, cell.sizing, counts,
            str(len(cells) * plan.study.blocks),
            "finite" if seconds is None else duration(seconds),
        ]  # fmt: skip


def _count_in_words(plan: Plan, cell: Cell) -> str:
    """`2`, or `2 (2 or 1 connections)` where some workers have more to do than others."""
    shares = uneven_shares(plan.workloads[cell.workload], cell, plan.in_flight(cell))
    return f"{cell.workers} ({shares} each)" if shares else str(cell.workers)


def cost_of(plan: Plan) -> Cost:
    """What a plan takes, as far as that is known beforehand."""
    blocks = plan.study.blocks
    cells = [slot.cell for slot in plan.slots]
    runs = len(cells) * blocks
    windowed = [cell for cell in cells if plan.inside_s(cell) is not None]
    runs_s = sum(_seconds(plan, [cell]) or 0.0 for cell in windowed)
    calibrating = calibration_runs(plan.calibrations)
    calibration_s = sum(
        plan.overhead_s(cell) + plan.study.warmup_s + CALIBRATION_WINDOW_S for cell in calibrating
    )
    return Cost(
        runs=runs,
        finite=runs - len(windowed) * blocks,
        calibrations=len(calibrating),
        calibration_s=calibration_s,
        run_s=runs_s / blocks / len(windowed) if windowed else 0.0,
        total_s=runs_s + calibration_s,
        in_windows=blocks * sum(map(plan.window_s, windowed)) / (runs_s + calibration_s or 1.0),
    )


def _seconds(plan: Plan, cells: Sequence[Cell]) -> float | None:
    """What these cells take in all blocks; None where they are finite."""
    known = [time for time in map(plan.expected_s, cells) if time is not None]
    return sum(known) * plan.study.blocks if len(known) == len(cells) else None


def with_parameters(
    workload: str, parameters: Mapping[str, ParameterValue], facts: WorkloadFacts
) -> str:
    """`echo (payload_bytes=256, api=streams)`: it and what is not at its default."""
    changed = [
        f"{name}={rate_in_words(value) if name == RATE else value}"
        for name, value in parameters.items()
        if value != facts.parameters[name].default
    ]
    return f"{workload} ({', '.join(changed)})" if changed else workload


# ------------------------------------------------------------------------------------ on a terminal
# A plan on a terminal: what is run, what cannot be, and how long it takes.


def one_line(plan: Plan) -> str:
    """What a study is about to cost."""
    cost, pairs, left_out = cost_of(plan), len(plan.repeats), len(plan.refused)
    and_pairs = f" and {plural(pairs, 'A/A pair')}" if pairs else ""
    refused = f"; {plural(left_out, 'combination')} left out" if left_out else ""
    return (
        f"{plan.study.name}: {plural(len(plan.cells), 'cell')}{and_pairs} in "
        f"{plural(plan.study.blocks, 'block')} = {plural(cost.runs, 'run')}{_in_words(cost)}"
        f"{refused}"
    )


def announced(plan: Plan) -> Iterator[str]:
    """What is said of a study before it is measured."""
    yield one_line(plan)
    yield from reservations(plan)


def _in_words(cost: Cost) -> str:
    windowed = f"of {cost.run_s:.1f} s, about {duration(cost.total_s)}"
    finite = "finite: their time is known after the first block"
    if not cost.finite:
        return f" {windowed}"
    if cost.finite == cost.runs:
        return f", {finite}"
    return f": {cost.runs - cost.finite:,} {windowed}; {cost.finite:,} {finite}"


def reservations(plan: Plan) -> Iterator[str]:
    """What makes a study smaller or longer than it looks, one line each."""
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
    """Where the rates come from that are not known before the study begins."""
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
        f"loop before the first run, {plural(cost.calibrations, 'run')}, about "
        f"{duration(cost.calibration_s)}: {'; '.join(tried)}"
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


# --------------------------------------------------------------------------------- fitted to a time
# Which Ns a study has that fits a time, and how many blocks, so that it answers first what it is
# about.
#
# One worker and the largest N with a core for each always stay: primary questions are about these.
# Other Ns are left out, the least informative first, until `ENOUGH_BLOCKS` blocks fit: more workers
# than CPUs, then those that lie closest to others on a logarithmic scale, and all CPUs last. What
# time is left then becomes blocks.

# A true ratio of 0.95 between cells that take turns gets its verdict in 92 of 100 studies.
ENOUGH_BLOCKS = 8
# Intervals narrow with the root of the number of blocks: more are hardly worth their time.
MOST_BLOCKS = 40
RESERVE = 0.15  # of the time, for disturbed runs that are made again (`scaling.run.time_left`)


def fitted(study: Study, time_s: float, topology: Topology, make: Callable[..., Plan]) -> Plan:
    """The plan of a study that takes no longer than `time_s`, as far as is known beforehand.

    `make` makes the plan of a study. A run in a group takes longer, and which groups there are
    depends on the memory that is free at the moment: Ns and blocks are chosen as if all of it were,
    so that the same command is the same study, and resumes it.

    Raises:
        UsageError: it has finite work, whose time is not known, nothing of it can be run, or even
            the fewest blocks of the fewest cells take longer.
    """
    study = msgspec.structs.replace(study, time_s=None)
    whole = make(study, free_bytes=math.inf)
    _require_known_time(whole)
    asked = [entry.counts for entry in whole.study.workloads[: len(study.workloads)]]
    every = by_value({n for counts in asked for n in counts}, topology)
    kept, fewest = len(every), len(_needed(every, topology))

    def at_most(number: int) -> tuple[Plan, int, float]:
        """Of so many Ns: the plan, its blocks, and the seconds of the fewest for an interval."""
        plan = make(_with(study, asked, every[:number], topology), free_bytes=math.inf)
        plan.require_cells()
        cost = cost_of(plan)
        before_s = cost.calibration_s
        block_s = (cost.total_s - before_s) / plan.study.blocks
        blocks = int(((1 - RESERVE) * time_s - before_s) / block_s)
        return plan, blocks, (before_s + FEWEST_FOR_INTERVAL * block_s) / (1 - RESERVE)

    plan, blocks, needed_s = at_most(kept)
    while blocks < ENOUGH_BLOCKS and kept > fewest:
        kept -= 1
        plan, blocks, needed_s = at_most(kept)
    if blocks < FEWEST_FOR_INTERVAL:
        raise UsageError(
            f"--time: {plural(FEWEST_FOR_INTERVAL, 'block')} at N = "
            f"{listed(map(str, sorted(every[:kept])))} take {duration(needed_s)}, and fewer give "
            f"no interval. Ask for more time, or for less with --workload, --arm or --loop"
        )
    plan = make(_with(study, asked, every[:kept], topology))
    chosen = msgspec.structs.replace(plan.study, blocks=min(blocks, MOST_BLOCKS))
    left_out = sorted(_own_counts(whole) - _own_counts(plan))
    without = f"N = {listed(map(str, left_out))} left out" if left_out else "no N left out"
    note = f"fitted to {duration(time_s)}: {plural(chosen.blocks, 'block')}, {without}"
    return replace(plan, study=chosen, fitted=note)


def by_value(counts: Iterable[int], topology: Topology) -> list[int]:
    """Numbers of workers, those first that say most about how a program scales on the machine."""
    left = sorted(counts)
    chosen = _needed(left, topology)
    beyond = [n for n in left if topology.region(n) == "oversubscribed" and n not in chosen]
    left = [n for n in left if n not in (*chosen, *beyond)]
    if left and topology.region(left[-1]) == "smt":
        chosen.append(left.pop())  # all CPUs, or as many as the study has
    while left:
        farthest = max(left, key=lambda n: min(abs(math.log(n / other)) for other in chosen))
        chosen.append(farthest)
        left.remove(farthest)
    return [*chosen, *beyond]


def _needed(counts: Sequence[int], topology: Topology) -> list[int]:
    """The least of them, and the largest that has a core for each worker."""
    on_cores = [n for n in counts if topology.region(n) == "cores"]
    return list(dict.fromkeys([min(counts), max(on_cores, default=min(counts))]))


def _with(
    study: Study, asked: Iterable[Sequence[int]], counts: Sequence[int], topology: Topology
) -> Study:
    """The study at these Ns of those that are `asked` of each entry.

    Every entry keeps what it needs, too, unless that exceeds the CPUs; one without any is left out.
    """
    entries = []
    for entry, own in zip(study.workloads, asked, strict=True):
        needed = [n for n in _needed(own, topology) if n <= topology.usable_cpus]
        if kept := [n for n in own if n in (*counts, *needed)]:
            entries.append(msgspec.structs.replace(entry, workers=tuple(kept)))
    return msgspec.structs.replace(study, workers=tuple(sorted(counts)), workloads=tuple(entries))


def _require_known_time(plan: Plan) -> None:
    finite = [cell.workload for cell in plan.cells[: plan.asked] if plan.inside_s(cell) is None]
    if finite:
        raise UsageError(
            f"--time: how long finite work takes is not known beforehand "
            f"({listed(dict.fromkeys(finite))}). Give --blocks, and --scale 0.01 for a quick look"
        )


def _own_counts(plan: Plan) -> set[int]:
    """The Ns at which what the study asks for can be run: controls have others."""
    return {cell.workers for cell in plan.cells[: plan.asked]}
