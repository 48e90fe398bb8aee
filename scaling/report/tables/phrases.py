"""Phrases that titles, questions and notes are made of."""

from collections.abc import Iterable

from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base.vocabulary import WORKER, WORKERS


def ratios_note(values: list[Estimate], made: str = "ratios paired inside blocks") -> str:
    """What stands beside the figures of a section, and how its ratios were made."""
    kind = bounds_kind(values)
    if not kind:
        return "Single runs: their spread is not known."
    few = [value.coverage is None for value in values if value.n]
    if not any(few):
        return f"Medians with {kind}, {made}."
    single = " Without bounds: a single run." if any(value.n == 1 for value in values) else ""
    if all(few):
        return f"Medians with {kind}, {made}: too few for a verdict.{single}"
    return (
        f"Medians with {kind}, {made}. Where it is a range, runs are too few for a verdict.{single}"
    )


def named(of: Configuration) -> str:
    """`2 threads on 3.14t`; across loops `2 threads on 3.14t with uvloop`."""
    return f"{workers(of)} on {of.arm}{f' with {of.loop}' if of.loop else ''}"


def builds_of(some: Iterable[Configuration]) -> str:
    """`3.14`, of 3.14 and 3.14+mimalloc; `3.14 or 3.14t`."""
    return " or ".join(sorted({of.arm.partition("+")[0] for of in some}))


def workers(of: Configuration) -> str:
    """`1 thread`, `2 processes`."""
    noun = worker_noun(of.model) if of.workers == 1 else WORKERS.get(of.model, of.model)
    return f"{of.workers} {noun}"


def worker_noun(model: str) -> str:
    """`thread`, `process`."""
    return WORKER.get(model, "worker")


def stacked(of: Configuration) -> str:
    """Arm above model, for a narrow column."""
    return f"{of.arm}\n{of.model}"
