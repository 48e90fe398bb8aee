"""The answer in words: the verdict first, then the number, then its interval.

A workload's scaling and memory, then what its arms and models come to against each other. Of many
ways the scaling of threads without the GIL is told, which is what is asked; of a study that has
none, that of every way.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from scaling import wording
from scaling.analysis.comparison import Compared
from scaling.analysis.curves import Curve, Point
from scaling.analysis.estimate import Estimate
from scaling.analysis.families import families
from scaling.analysis.paired import Paired, Way, paired
from scaling.analysis.verdict import ask, judged
from scaling.journal.record import StudyLine
from scaling.report.parts import Block
from scaling.study.controls import CONTROLS
from scaling.tables.measures import again
from scaling.tables.sentences import (
    answers,
    basis,
    doing,
    floors,
    opening,
    spoken,
    states,
    workers,
)


def answer_blocks(
    frame: pd.DataFrame, study: StudyLine, compared: Sequence[Compared]
) -> list[Block]:
    """A block for each section and loop; none for controls, unless there is nothing else."""
    ways = {each.runs.title: each for each in compared}
    every = paired(frame, study)
    asked = [each for each in every if each.curves[0].key.workload not in CONTROLS]
    blocks = [_block(each, ways.get(each.title)) for each in asked or every]
    return [block for block in blocks if block.words]


def _block(runs: Paired, compared: Compared | None) -> Block:
    told = list(_telling(runs))
    words = [*_scaling(runs, told), *_memory([curve for curve, _ in told])]
    shown: list[Estimate] = [point.speedup for _, point in told]
    notes = []
    if compared is not None:
        words += answers(compared)
        shown += [ratio.value for ratio in compared.ratios]
        notes = [*floors(compared), *states(compared)]
    points = [point for curve in runs.curves for point in curve.points]
    return Block(runs.title, words, notes=[basis(shown), *notes, *again(points)] if words else [])


def _telling(runs: Paired) -> Iterator[tuple[Curve, Point]]:
    """The curves to tell of, each with its point at the N that tells most: the largest that has a
    core for each worker, or else the largest.
    """
    free = {family.free for family in families(runs.arms)}
    wanted = [c for c in runs.curves if c.key.arm in free and c.key.model == "threads"]
    for curve in wanted or runs.curves:
        several = [point for point in curve.points if point.workers > 1 and point.speedup.n]
        on_cores = [point for point in several if point.region == "cores"]
        if several:
            yield curve, (on_cores or several)[-1]


def _scaling(runs: Paired, told: list[tuple[Curve, Point]]) -> Iterator[str]:
    """What N workers do of what one does; the verdicts of a section and loop are one family."""
    margin = runs.margin("throughput")
    speedups = (curve.values["speedup"][:, curve.workers.index(p.workers)] for curve, p in told)
    verdicts = judged([ask(values, margin) for values in speedups])
    for (curve, point), verdict in zip(told, verdicts, strict=True):
        key = curve.key
        way, one = (Way(key.arm, key.model, n) for n in (point.workers, 1))
        share = wording.percent(point.efficiency.point)
        beyond = "" if point.region == "cores" else ", with more workers than cores"
        yield (
            f"{opening(verdict)}: {doing(way)} {spoken(verdict)} what {workers(one)} does, "
            f"{share} of the ideal{beyond}."
        )


def _memory(curves: list[Curve]) -> Iterator[str]:
    for curve in curves:
        if curve.slope.n:
            extra = workers(Way(curve.key.arm, curve.key.model, 1)).removeprefix("1 ")
            unit = f" MiB ({curve.memory_kind})"
            yield f"Memory: an extra {extra} on {curve.key.arm} takes {spoken(curve.slope, unit)}."
