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


def fitted(study: Study, time_s: float, topology: Topology, make: Callable[[Study], Plan]) -> Plan:
    """The plan of a study that takes no longer than `time_s`, as far as is known beforehand.

    `make` makes the plan of a study. Where it asks for a precision, no blocks are added for that.

    Raises:
        UsageError: all of its workloads are finite, so that their time is not known, or even the
            fewest blocks of the fewest cells take longer.
    """
    study = msgspec.structs.replace(study, time_s=None, precision=None)
    asked = [entry.counts for entry in make(study).study.workloads[: len(study.workloads)]]
    every = by_value({n for counts in asked for n in counts}, topology)
    kept, fewest = len(every), len(_needed(every, topology))

    def at_most(number: int) -> tuple[Plan, int, float]:
        """Of so many Ns: the plan, its blocks, and the seconds of the fewest for an interval."""
        plan = make(_with(study, asked, every[:number], topology))
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
    chosen = msgspec.structs.replace(plan.study, blocks=min(blocks, MAX_BLOCKS))
    left_out = sorted(set(every) - {cell.workers for cell in plan.cells})
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

    An entry that has none of them keeps what it needs, or is left out if that exceeds the CPUs.
    """
    entries = []
    for entry, own in zip(study.workloads, asked, strict=True):
        needed = [n for n in _needed(own, topology) if n <= topology.usable_cpus]
        if kept := [n for n in own if n in (*counts, *needed)]:
            entries.append(msgspec.structs.replace(entry, workers=tuple(kept)))
    return msgspec.structs.replace(study, workers=tuple(sorted(counts)), workloads=tuple(entries))


def _seconds(plan: Plan) -> tuple[float, float]:
    """What calibrations take before the first block, and one block, without finite work."""
    table = plan_table(plan)
    before_s = table.calibration_s
    block_s = (table.total_s - before_s) / table.blocks
    if not block_s:
        raise UsageError(
            "--time: how long finite work takes is not known beforehand. Give --blocks, and "
            "--scale 0.01 for a quick look"
        )
    return before_s, block_s
