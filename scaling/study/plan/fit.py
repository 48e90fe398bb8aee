"""A study that fits a time: which Ns it has, and how many blocks, so that it answers first what it
is about.

One worker and the largest N with a core for each always stay: primary questions are about these.
Other Ns are left out, the least informative first, until `ENOUGH_BLOCKS` blocks fit: more workers
than CPUs, then those that lie closest to others on a logarithmic scale, and all CPUs last. What
time is left then becomes blocks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import msgspec

from scaling.base.errors import UsageError
from scaling.base.formats import duration, listed, plural
from scaling.machine.topology import Topology
from scaling.study.definition import MAX_BLOCKS, Study
from scaling.study.plan.cells import Plan
from scaling.study.plan.table import plan_table
from scaling.study.presets import FEWEST_FOR_INTERVAL

# A true ratio of 0.95 between cells that take turns gets its verdict in 92 of 100 studies.
ENOUGH_BLOCKS = 8
RESERVE = 0.15  # of the time, for disturbed runs that are made again (`scaling.run.time_left`)


def fitted(study: Study, time_s: float, topology: Topology, make: Callable[..., Plan]) -> Plan:
    """The plan of a study that takes no longer than `time_s`, as far as is known beforehand.

    `make` makes the plan of a study. A run in a group takes longer, and which groups there are
    depends on the memory that is free at the moment: Ns and blocks are chosen as if all of it were,
    so that the same command is the same study, and resumes it. Where the study asks for a
    precision, no blocks are added for that.

    Raises:
        UsageError: it has finite work, whose time is not known, nothing of it can be run, or even
            the fewest blocks of the fewest cells take longer.
    """
    study = msgspec.structs.replace(study, time_s=None, precision=None)
    whole = make(study, free_bytes=math.inf)
    _require_known_time(whole)
    asked = [entry.counts for entry in whole.study.workloads[: len(study.workloads)]]
    every = by_value({n for counts in asked for n in counts}, topology)
    kept, fewest = len(every), len(_needed(every, topology))

    def at_most(number: int) -> tuple[Plan, int, float]:
        """Of so many Ns: the plan, its blocks, and the seconds of the fewest for an interval."""
        plan = make(_with(study, asked, every[:number], topology), free_bytes=math.inf)
        plan.require_cells()
        before_s, block_s = _seconds(plan)
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
    chosen = msgspec.structs.replace(plan.study, blocks=min(blocks, MAX_BLOCKS))
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


def _seconds(plan: Plan) -> tuple[float, float]:
    """What calibrations take before the first block, and one block."""
    table = plan_table(plan)
    before_s = table.calibration_s
    return before_s, (table.total_s - before_s) / table.blocks
