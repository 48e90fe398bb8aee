"""What must be known beside a study's figures: a list of notes, in order of weight.

A note is a function of the study that returns a sentence, or an empty text where there is nothing
to say. To add one, write it and put it into `NOTES`.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from scaling.analysis.tables.ratios import EQUAL_CELLS, EQUAL_DIFFER
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.turns import NO_TURNS, OTHER_N
from scaling.analysis.validity.served import LATE
from scaling.base.formats import listed, number, percent, plural, spread
from scaling.builds.arms import build_of, switched
from scaling.study.plan.refusals import in_flight, uneven_shares
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT
from scaling.study.settle import caveats

MEASURES = {THROUGHPUT: "throughput", CPU: "CPU time", MEMORY: "memory", P99: "P99"}
BUSY = "machine-busy"  # the reason of runs that other load disturbed
LAYOUT = 0.04  # what the layout of their code alone may make of the speed of two binaries
FEWEST_COLLECTIONS = 10  # with fewer, how they fall into a window is mostly chance
GARBAGE = ("garbage_per_request", "heap_objects")  # parameters of a study about the collector

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


def reasons_text(words: tuple[str, ...]) -> str:
    """`requests failed, timed out` of `load-errors` and `timed-out`."""
    return ", ".join(REASONS.get(word) or word.replace("-", " ") for word in words)


# ------------------------------------------------------------------------------------------- trust


def warnings(study: Study) -> str:
    """That the study is simulated or scaled down."""
    return " ".join(caveats(study.line))


def controls(study: Study) -> str:
    """Whether machine and builds behave as they must."""
    status = study.soundness
    return "Controls hold." if status.status == "sound" else status.text


def withheld(study: Study) -> str:
    """The measures and workloads without words, because equal cells differ in them."""
    if study.ratios.empty:
        return ""
    rows = study.ratios[study.ratios["why"] == EQUAL_DIFFER]
    parts = [
        f"{MEASURES.get(str(measure), str(measure))} ({listed(dict.fromkeys(part['name']))})"
        for measure, part in rows.groupby("measure", sort=False)
    ]
    return f"No words on {listed(parts)}: equal cells differ." if parts else ""


def left_out(study: Study) -> str:
    """How many runs were left out, and the most frequent reason."""
    runs = study.runs
    invalid = runs[~runs["valid"]]
    if invalid.empty:
        return ""
    reasons = Counter(map(tuple, invalid["reasons"]))
    ((most, _),) = reasons.most_common(1)
    mostly = "mostly: " if len(reasons) > 1 else ""
    return (
        f"Left out, invalid: {len(invalid):,} of {plural(len(runs), 'run')}, "
        f"{mostly}{reasons_text(most)}."
    )


def skipped(study: Study) -> str:
    """What was skipped when the journal was read."""
    return f"{'; '.join(study.skipped)}." if study.skipped else ""


def disturbed(study: Study) -> str:
    """How many runs other load disturbed, and which latencies are upper bounds."""
    used = study.runs.loc[study.runs["valid"], "reasons"]
    runs = plural(len(study.runs), "run")
    busy, late = (sum(reason in reasons for reasons in used) for reason in (BUSY, LATE))
    parts = [f"Disturbed by other load, used: {busy:,} of {runs}."] if busy else []
    if late:
        parts.append(f"Latencies are upper bounds (load generator late): {late:,} of {runs}.")
    return " ".join(parts)


def shared_cores(study: Study) -> str:
    """The most that N workers can gain where they share the cores with the load generator."""
    runs = study.runs[study.runs["valid"] & ~study.runs["twin"] & study.runs["shared_cores"]]
    cell = ["workload", "parameters", "loop", "arm", "model", "workers"]
    bounds = runs.groupby(cell, observed=True)["gain_bound"].median().groupby("workers").max()
    parts = [f"{number(bound)}× at N = {n}" for n, bound in bounds.items() if int(str(n)) > 1]
    return f"Shared cores: N workers gain at most {listed(parts)}." if parts else ""


def uneven(study: Study) -> str:
    """Where work in flight does not divide, so that some workers had more of it than others."""
    entries = study.line.study.get("workloads", ())
    counts = {each["name"]: each.get("workers") or () for each in entries}
    parts: dict[str, None] = {}
    for cell in study.cells["cell"]:
        facts = study.line.workloads.get(cell.workload)
        if facts is not None:
            total = in_flight(facts, cell, max(counts.get(cell.workload, ()), default=0))
            if shares := uneven_shares(facts, cell, total):
                parts[f"{shares} each at N = {cell.workers} ({cell.workload})"] = None
    return f"Not the same for all workers: {listed(parts)}." if parts else ""


def noise(study: Study) -> str:
    """How far equal cells are from each other: in throughput, or in P99 at a rate."""
    ratios = study.ratios
    if ratios.empty:
        return ""
    measured = np.where(ratios["rate"] > 0, P99, THROUGHPUT)
    pairs = ratios[
        (ratios["question"] == EQUAL_CELLS)
        & (ratios["measure"] == measured)
        & ~ratios["control"]
        & (ratios["n"] >= FEWEST_FOR_INTERVAL)
        & (ratios["low"] > 0)
    ]
    parts = [
        f"{spread(np.maximum(part['high'], 1 / part['low']) - 1)} "
        f"({workload}{', P99' if measure == P99 else ''})"
        for (workload, measure), part in pairs.groupby(["workload", "measure"], sort=False)
    ]
    return f"Noise of equal cells (A/A pairs): {listed(parts)}." if parts else ""


def without_pairs(study: Study) -> str:
    """That nothing shows how much equal cells differ."""
    has_pairs = study.cells["twin"].any()
    return "" if has_pairs else "No A/A pairs were run, so nothing checks the words."


# ------------------------------------------------------------------------------------- how measured


def turns(study: Study) -> str:
    """Of which questions the cells were measured in turn, and of which not and why."""
    if study.ratios.empty:
        return ""
    ratios = study.ratios[study.ratios["question"] != EQUAL_CELLS]
    reasons = dict(iter(ratios.groupby("why_not_in_turn", sort=False)["question"]))
    if reasons.keys() <= {NO_TURNS, OTHER_N}:
        return ""
    in_turn = reasons.pop("", pd.Series(dtype=object))
    parts = [f"Measured in turn: {listed(in_turn.unique()) if len(in_turn) else 'nothing'}"]
    parts += [f"not: {listed(asked.unique())} ({why})" for why, asked in reasons.items()]
    return f"{'; '.join(parts)}."


def layout(study: Study) -> str:
    """That a small difference of two builds may be due to the layout of their code."""
    if study.ratios.empty:
        return ""
    rows = study.ratios[study.ratios["measure"].isin([THROUGHPUT, CPU])]
    close = rows[rows["ratio"].between(1 / (1 + LAYOUT), 1 + LAYOUT)]
    builds = (close[name].astype(str).map(build_of) for name in ("arm", "over_arm"))
    of, over = builds
    if not (of != over).any():
        return ""
    return (
        f"A ratio of two builds within {percent(LAYOUT)} of 1 holds for these binaries only: the "
        "layout of their code alone may make as much difference."
    )


def refused(study: Study) -> str:
    """How many combinations cannot be run."""
    count = len(study.line.refused)
    return f"{plural(count, 'combination')} cannot be run: see the page." if count else ""


def switches(study: Study) -> str:
    """What switches of arms mean."""
    return " ".join(switched(map(str, study.cells["arm"].unique())))


def drift(study: Study) -> str:
    """Whether the machine became faster or slower during the study."""
    from scaling.analysis.statistics.drift import drift as drift_of

    return drift_of(study.runs).text


def outliers(study: Study) -> str:
    """How many runs are outliers of their cells."""
    count = int((study.runs["outlier"] & study.runs["valid"]).sum())
    if not count:
        return ""
    are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
    return f"{plural(count, 'run')} {are}: labelled, and kept in every figure."


def again(study: Study) -> str:
    """How many runs are second attempts."""
    count = int(study.cells["again"].sum())
    if not count:
        return ""
    return f"{plural(count, 'run')} made again: invalid or disturbed at first."


def collections(study: Study) -> str:
    """The cells in which the collector ran too rarely to show what it costs."""
    cells = study.cells[~study.cells["twin"] & ~study.cells["rated"]]
    if not any(cell.parameters.get(name) for cell in cells["cell"] for name in GARBAGE):
        return ""
    counts = study.measures.column("gc_collections")[:, cells.index]
    with np.errstate(invalid="ignore"):
        known = np.isfinite(counts).any(axis=0)
        few = np.where(known, np.nanmedian(np.where(known, counts, 0), axis=0), np.inf)
    arms = study.line.arms
    names = {
        f"{row.workers} {row.model} on {row.arm}"
        for row, count in zip(cells.itertuples(), few, strict=True)
        if count < FEWEST_COLLECTIONS and "nogc" not in arms[str(row.arm)].settings
    }
    return f"Fewer than 10 collections in a window: {listed(sorted(names))}." if names else ""


def allocator_states(study: Study) -> str:
    """The curves whose runs at some N were in another allocator state than with one worker."""
    cells = study.cells
    one = cells["one"]
    first = cells["allocator_state"].reindex(one).to_numpy()
    own = cells["allocator_state"].to_numpy()
    differ = (one >= 0).to_numpy() & pd.notna(first) & pd.notna(own) & (first != own)
    names = dict.fromkeys(
        f"{row.loop} · {row.arm} · {row.model}, N = {row.workers}"
        for row in cells[differ & ~cells["twin"]].itertuples()
    )
    if not names:
        return ""
    return f"Another allocator state than at N = 1, so gains include that: {listed(names)}."


NOTES = (
    warnings,
    controls,
    withheld,
    left_out,
    skipped,
    disturbed,
    shared_cores,
    uneven,
    turns,
    noise,
    without_pairs,
    layout,
    allocator_states,
    drift,
    collections,
    outliers,
    again,
    refused,
    switches,
)


def notes_of(study: Study) -> Iterator[str]:
    """Every note that has something to say, in order of weight."""
    for note in NOTES:
        if text := note(study):
            yield text
