"""The answer in words: the verdict first, then the number, then its interval.

A workload's scaling and memory, then what its arms and models come to against each other. Of many
ways the scaling of threads without the GIL is told, which is what is asked; of a study that has
none, that of every way.
"""

from collections.abc import Iterator

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.gain import subjects
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.page.parts import Block
from scaling.report.page.short import SpokenOf, short_grids
from scaling.report.tables.margins import floors
from scaling.report.tables.measures import again
from scaling.report.tables.phrases import doing, opening, ratios_note, spoken, workers
from scaling.report.tables.sentences import answers, states
from scaling.study.controls import CONTROLS


def answer_blocks(results: StudyResults) -> list[Block]:
    """A table of all, then a block for each section and loop.

    There is none for controls, unless there is nothing else.
    """
    configurations = {each.runs.title: each for each in results.compared}
    asked = [each for each in results.paired if each.curves[0].key.workload not in CONTROLS]
    chosen = [
        (each, configurations.get(each.title), _spoken_of(each, results))
        for each in asked or results.paired
    ]
    blocks = [Block("In short", grids=short_grids(chosen)), *(_block(*each) for each in chosen)]
    return [block for block in blocks if not block.is_empty]


def _block(runs: Paired, compared: Compared | None, told: list[SpokenOf]) -> Block:
    words = [*map(_scaling, told), *_memory([each.curve for each in told])]
    shown: list[Estimate] = [each.speedup for each in told]
    notes = []
    if compared is not None:
        words += answers(compared)
        shown += [ratio.value for ratio in compared.ratios]
        notes = [*floors(compared), *states(compared)]
    points = [point for curve in runs.curves for point in curve.points]
    return Block(
        runs.title, words, notes=[ratios_note(shown), *notes, *again(points)] if words else []
    )


def _spoken_of(runs: Paired, results: StudyResults) -> list[SpokenOf]:
    """The curves to speak of, each with the verdict on what more workers gain."""
    return [
        SpokenOf(curve, point, results.gains[curve.key, point.workers])
        for curve, point in _telling(runs)
    ]


def _telling(runs: Paired) -> Iterator[tuple[Curve, Point]]:
    """Each curve with its point at the N that tells most: the largest that has a core for each
    worker, or else the largest.
    """
    for curve in subjects(runs):
        several = [point for point in curve.points if point.workers > 1 and point.speedup.n]
        on_cores = [point for point in several if point.region == "cores"]
        if several:
            yield curve, (on_cores or several)[-1]


def _scaling(told: SpokenOf) -> str:
    """What N workers do of what one does."""
    key, point = told.curve.key, told.point
    shown, one = (Configuration(key.arm, key.model, n) for n in (point.workers, 1))
    share = formats.percent(point.efficiency.point)
    beyond = "" if point.region == "cores" else ", with more workers than cores"
    return (
        f"{opening(told.speedup)}: {doing(shown)} {spoken(told.speedup)} what {workers(one)} does, "
        f"{share} of the ideal{beyond}."
    )


def _memory(curves: list[Curve]) -> Iterator[str]:
    for curve in curves:
        if curve.slope.n:
            extra = workers(Configuration(curve.key.arm, curve.key.model, 1)).removeprefix("1 ")
            unit = f" MiB ({curve.memory_kind})"
            yield f"Memory: an extra {extra} on {curve.key.arm} takes {spoken(curve.slope, unit)}."
