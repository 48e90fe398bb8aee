"""The phrases that sentences about figures are made of: the verdict first, then the number."""

from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.base.vocabulary import WORKER


def opening(value: RatioVerdict) -> str:
    """The verdict as a sentence begins with it: `Faster`, `Inconclusive (3 blocks)`."""
    verdict = value.verdict
    if verdict.word == "same":
        return f"Same within {formats.percent(verdict.margin)}"
    told = f"{verdict.word[0].upper()}{verdict.word[1:]}"
    few = value.coverage is None
    return f"{told} ({formats.plural(value.n, 'block')})" if few else told


def spoken(value: Estimate, unit: str = " times") -> str:
    """`1.93 times (1.90–1.96)`."""
    beside = value.bounds
    number = f"{formats.number(value.point)}{unit}"
    return f"{number} ({beside})" if beside else number


def besides(value: RatioVerdict, unit: str) -> str:
    """A further figure of a sentence: `faster, 1.93× (1.90–1.96)`.

    Where blocks are too few the sentence has begun with that, and it is not said again.
    """
    number = spoken(value, unit)
    return number if value.coverage is None else f"{value.verdict.word}, {number}"


def ratios_note(values: list[Estimate], made: str = "ratios paired inside blocks") -> str:
    """What stands in brackets beside the figures of a section, and how its ratios were made."""
    kind = bounds_kind(values)
    if not kind:
        return "Single runs: nothing is known of their spread."
    few = any(value.coverage is None for value in values if value.n)
    warning = ": too few for a verdict" if few else ""
    return f"In brackets the {kind}, {made}{warning}."


def doing(of: Configuration) -> str:
    """`1 thread on 3.14t does`, `2 processes on 3.14 do`."""
    return f"{workers(of)} on {of.arm} {'does' if of.workers == 1 else 'do'}"


def named(of: Configuration) -> str:
    """`2 threads on 3.14t`; across loops `2 threads on 3.14t with uvloop`."""
    return f"{workers(of)} on {of.arm}{f' with {of.loop}' if of.loop else ''}"


def workers(of: Configuration) -> str:
    """`1 thread`, `2 processes`."""
    noun = WORKER.get(of.model, "worker") if of.workers == 1 else of.model
    return f"{of.workers} {noun}"
