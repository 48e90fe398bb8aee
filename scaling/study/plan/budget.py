"""A study fitted to a time: its Ns, its whole blocks, its additional blocks of headline groups.

One worker and the largest N with a core for each worker always stay: primary questions are about
them. Other Ns are left out, the least informative first, until enough blocks fit: first Ns above
the number of CPUs, then Ns close to others on a logarithmic scale, all CPUs last.

Additional blocks have the groups with headline ratios only, and come after the whole blocks, as
many as fit: a block of `scaling app` takes 70 s, of which 30 s decide. Everything is chosen before
the study, never by its results.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scaling.base.errors import UsageError
from scaling.base.formats import duration, listed, plural
from scaling.machine.topology import Topology
from scaling.study.definition import Study
from scaling.study.plan.cells import Plan
from scaling.study.plan.table import blocks_in_words, cost_of
from scaling.study.presets import FEWEST_FOR_INTERVAL

# A true ratio of 0.95 between cells that take turns gets its verdict in 92 of 100 studies.
ENOUGH_BLOCKS = 8
# If headline groups have additional blocks: a true 0.90 of `app`, which scatters by 5 % a block, is
# found slower by more than 5 % with nine blocks.
ENOUGH_HEADLINE = 12
FEWEST_WHOLE = 3  # for a median and a range of all else
# Intervals narrow with the root of the number of blocks: more are hardly worth their time.
MOST_BLOCKS = 40
# Share of the time for disturbed runs that are made again: they may take 15 % of the time of the
# other runs (`scaling.run.time_left`).
RESERVE = 0.13


class Blocks(NamedTuple):
    """The number of `whole` blocks, and of additional blocks of `headline` groups."""

    whole: int
    headline: int = 0

    @property
    def are_enough(self) -> bool:
        """True if these blocks are enough, so that no N is left out for more."""
        if not self.headline:
            return self.whole >= ENOUGH_BLOCKS
        return self.whole >= FEWEST_FOR_INTERVAL and sum(self) >= ENOUGH_HEADLINE


def blocks_in(time_s: float, block_s: float, headline_s: float) -> Blocks:
    """The blocks that fit into a time; a whole block takes `block_s`, an additional `headline_s`.

    Headline groups have twice as many blocks as the others. If six whole blocks leave no time for
    that, there are fewer, down to `FEWEST_WHOLE`, until headline groups have `ENOUGH_HEADLINE`.
    """
    if not 0 < headline_s < block_s:
        return Blocks(min(MOST_BLOCKS, int(time_s / block_s)))

    def whole_of(total: int) -> int:
        """The number of whole blocks if headline groups have `total` blocks."""
        return int((time_s - total * headline_s) / (block_s - headline_s))

    whole = min(int(time_s / (block_s + headline_s)), MOST_BLOCKS // 2)
    if whole < FEWEST_FOR_INTERVAL:
        whole = max(FEWEST_WHOLE, min(FEWEST_FOR_INTERVAL, whole_of(ENOUGH_HEADLINE)))
    whole = max(whole, min(MOST_BLOCKS, whole_of(MOST_BLOCKS)))
    left_s = time_s - whole * block_s
    return Blocks(whole, max(0, min(MOST_BLOCKS - whole, int(left_s / headline_s))))


def fitted(study: Study, time_s: float, topology: Topology, make: Callable[..., Plan]) -> Plan:
    """The plan of a study that takes at most `time_s`, as far as known beforehand.

    `make` makes the plan of a study. A run in a group takes longer, and groups depend on the memory
    that is free at the moment. So Ns and blocks are chosen as if all memory were free: the same
    command then is the same study, and resumes it.

    Raises:
        UsageError: the study has finite work, whose time is not known, nothing of it can be run, or
            even the fewest blocks of the fewest cells take longer.
    """
    study = replace(study, time_s=None)
    whole = make(study, free_bytes=math.inf)
    _require_known_time(whole)
    asked = [entry.counts for entry in whole.study.workloads[: len(study.workloads)]]
    every = by_value({n for counts in asked for n in counts}, topology)
    kept, least = len(every), len(_needed(every, topology))

    def blocks_of_first(number: int) -> tuple[Blocks, float]:
        smaller = _with(study, asked, every[:number], topology)
        return _blocks_of(make(smaller, free_bytes=math.inf), time_s)

    blocks, needed_s = _blocks_of(whole, time_s)
    while kept > least and not blocks.are_enough:
        kept -= 1
        blocks, needed_s = blocks_of_first(kept)
    if sum(blocks) < FEWEST_FOR_INTERVAL:
        raise UsageError(
            f"--time: {plural(FEWEST_FOR_INTERVAL, 'block')} at N = "
            f"{listed(map(str, sorted(every[:kept])))} take {duration(needed_s)}, and fewer give "
            f"no interval. Ask for more time, or for less with --workload, --arm or --loop"
        )
    plan = make(_with(study, asked, every[:kept], topology))
    chosen = replace(plan.study, blocks=blocks.whole, headline_blocks=blocks.headline or None)
    left_out = sorted(_own(whole, "workers") - _own(plan, "workers"))
    without = f"N = {listed(map(str, left_out))} left out" if left_out else "no N left out"
    if models := sorted(_own(whole, "model") - _own(plan, "model")):
        without += f", and so {listed(models)}: more time is needed"
    note = f"fitted to {duration(time_s)}: {blocks_in_words(*blocks)}, {without}"
    return replace(plan, study=chosen, fitted=note)


def _blocks_of(plan: Plan, time_s: float) -> tuple[Blocks, float]:
    """The blocks of a plan that fit into a time, and the seconds that the fewest blocks take.

    Raises:
        UsageError: nothing of it can be run.
    """
    plan.require_cells()
    cost = cost_of(plan)
    usable_s = (1 - RESERVE) * time_s - cost.calibration_s
    blocks = blocks_in(usable_s, cost.block_s, cost.headline_s)
    whole = FEWEST_WHOLE if 0 < cost.headline_s < cost.block_s else FEWEST_FOR_INTERVAL
    fewest_s = whole * cost.block_s + (FEWEST_FOR_INTERVAL - whole) * cost.headline_s
    if fewest_s > usable_s:
        blocks = Blocks(0)
    return blocks, (cost.calibration_s + fewest_s) / (1 - RESERVE)


def by_value(counts: Iterable[int], topology: Topology) -> list[int]:
    """Numbers of workers, the most informative about scaling first."""
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
    """The smallest N, and the largest N with a core for each worker."""
    on_cores = [n for n in counts if topology.region(n) == "cores"]
    return list(dict.fromkeys([min(counts), max(on_cores, default=min(counts))]))


def _with(
    study: Study, asked: Iterable[Sequence[int]], counts: Sequence[int], topology: Topology
) -> Study:
    """The study at these Ns; `asked` has the Ns of each entry.

    Every entry also keeps the Ns that it needs, up to the number of CPUs. An entry without any N is
    left out.
    """
    entries = []
    for entry, own in zip(study.workloads, asked, strict=True):
        needed = [n for n in _needed(own, topology) if n <= topology.usable_cpus]
        if kept := [n for n in own if n in (*counts, *needed)]:
            entries.append(replace(entry, workers=tuple(kept)))
    return replace(study, workers=tuple(sorted(counts)), workloads=tuple(entries))


def _require_known_time(plan: Plan) -> None:
    finite = [cell.workload for cell in plan.cells[: plan.asked] if plan.inside_s(cell) is None]
    if finite:
        raise UsageError(
            f"--time: how long finite work takes is not known beforehand "
            f"({listed(dict.fromkeys(finite))}). Give --blocks, and --scale 0.01 for a quick look"
        )


def _own(plan: Plan, field: str) -> set[Any]:
    """The values of a field in the study's own cells, without controls."""
    return {getattr(cell, field) for cell in plan.cells[: plan.asked]}
