"""Phrases that titles, questions and notes are made of."""

from collections.abc import Iterable, Sequence

from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base.vocabulary import WORKER, WORKERS
from scaling.journal.record import Cell

# What is wrong with a run (`scaling.analysis.validity`) for readers who do not know our words; what
# reads well without its hyphens is not here.
REASONS = {
    "mixed-allocator-state": "malloc in another state than in most runs",
    "not-all-busy": "workers were not busy together",
    "gil-flipped": "the GIL was turned on",
    "settings-lost": "settings were not in effect",
    "throttled": "held back by a CPU quota",
    "machine-busy": "other load on the machine",
    "slices-short": "turns were too short for the loops",
    "garbled": "the record is incomplete",
    "generator-late": "the load generator was late",
    "generator-busy": "the load generator was at its limit",
    "generator-misplaced": "the load generator was on a worker's CPU",
    "load-errors": "requests failed",
}


def reasons_text(words: str) -> str:
    """`requests failed, timed out` of `load-errors, timed-out`."""
    return ", ".join(REASONS.get(word) or word.replace("-", " ") for word in words.split(", "))


def ratios_note(values: Sequence[Estimate], made: str = "ratios paired inside blocks") -> str:
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


def named(of: Cell, *, loop: bool = False) -> str:
    """`2 threads on 3.14t`; with its loop `2 threads on 3.14t with uvloop`."""
    return f"{workers(of)} on {of.arm}{f' with {of.loop}' if loop else ''}"


def builds_of(some: Iterable[Cell]) -> str:
    """`3.14`, of 3.14 and 3.14+mimalloc; `3.14 or 3.14t`."""
    return " or ".join(sorted({of.arm.partition("+")[0] for of in some}))


def workers(of: Cell) -> str:
    """`1 thread`, `2 processes`."""
    noun = worker_noun(of.model) if of.workers == 1 else WORKERS.get(of.model, of.model)
    return f"{of.workers} {noun}"


def worker_noun(model: str) -> str:
    """`thread`, `process`."""
    return WORKER.get(model, "worker")


def stacked(of: Cell) -> str:
    """Arm above model, for a narrow column."""
    return f"{of.arm}\n{of.model}"
