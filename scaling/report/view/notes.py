"""Notes on a study's figures, in order of weight.

To add a note, write a function of the study that yields sentences, or the parts of one, and
register it with `@note`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

import numpy as np
import pandas as pd

from scaling.analysis.build_differences import build_differences
from scaling.analysis.statistics.drift import drift as drift_of
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.ratios import EQUAL_DIFFER, NO_TURNS, OTHER_N
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import side_of
from scaling.analysis.validity.finding import watched_cpus
from scaling.analysis.validity.served import LATE
from scaling.base.formats import listed, number, percent, plural, spread
from scaling.builds.arms import build_of, switched
from scaling.builds.settings import SETTINGS
from scaling.journal.record import Machine
from scaling.report.view.declare import MEASURES, SEPARATOR, Note, Remark, parts_of
from scaling.study.plan.refusals import in_flight, uneven_shares
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, P99, THROUGHPUT
from scaling.study.settle import caveats

BUSY = "machine-busy"  # the reason of runs that other load disturbed
CELL = ("name", "loop", "arm", "model", "workers")
MOST_NAMED = 3  # pairs of cells in a note
LAYOUT = 0.04  # difference in speed that the layout of the code of two binaries may cause
FEWEST_COLLECTIONS = 10  # with fewer, their number in a window is mostly chance
GARBAGE = ("garbage_per_request", "heap_objects")  # parameters of a study about the collector

# Reasons of validity (`scaling.analysis.validity`) in plain words; a reason that reads well without
# its hyphens is not listed.
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
    "one-process": "one process served nearly all",
}

NOTES: list[Remark] = []


def note(
    text: str = "", *, brief: bool = True
) -> Callable[[Callable[[Study], Iterable[str]]], Note]:
    """Register a note: the sentences that a function yields, or `text` with the parts it yields.

    A `brief` note is in the answer of a terminal, too.
    """

    def register(parts: Callable[[Study], Iterable[str]]) -> Note:
        @wraps(parts)
        def said(study: Study) -> str:
            found = list(filter(None, parts(study)))
            return text.format(listed(found)) if text and found else " ".join(found)

        NOTES.append(Remark(said, brief))
        return said

    return register


def reasons_text(words: tuple[str, ...]) -> str:
    """`requests failed, timed out` of `load-errors` and `timed-out`."""
    return ", ".join(REASONS.get(word) or word.replace("-", " ") for word in words)


# ------------------------------------------------------------------------------------------- trust


@note()
def warnings(study: Study) -> Iterable[str]:
    """A warning of a study that is simulated or scaled down."""
    return caveats(study.line)


@note()
def controls(study: Study) -> Iterator[str]:
    """The outcome of the controls."""
    if study.soundness.status == "sound":
        yield "Controls hold."
    elif text := study.soundness.text:
        yield f"{text.rstrip('.')}."


@note("In doubt: {} is a control: it must not help, and is faster than no setting.")
def controls_that_help(study: Study) -> Iterator[str]:
    """Controls that are faster than no setting: other settings are in doubt, too."""
    ratios = study.ratios
    of_settings = (ratios["question"] == "setting") & (ratios["measure"] == THROUGHPUT)
    better = ratios.loc[of_settings & (ratios["word"].map(side_of).astype(int) > 0), "arm"]
    for arm in map(str, better.unique()):
        added = SETTINGS.get(arm.rpartition("+")[2])  # the question leaves out the last setting
        if added and added.control:
            yield arm


@note("No words on {}: equal cells differ.")
def withheld(study: Study) -> Iterator[str]:
    """The measures and workloads without words, because equal cells differ in them."""
    rows = study.ratios[study.ratios["why"] == EQUAL_DIFFER]
    for measure, part in rows.groupby("measure", sort=False):
        name = MEASURES.get(str(measure), str(measure))
        yield f"{name} ({listed(dict.fromkeys(part['name']))})"


@note()
def left_out(study: Study) -> Iterator[str]:
    """The number of runs that were left out, and the most frequent reason."""
    runs = study.runs
    reasons = Counter(map(tuple, runs.loc[~runs["valid"], "reasons"]))
    if reasons:
        ((most, _),) = reasons.most_common(1)
        mostly = "mostly: " if len(reasons) > 1 else ""
        yield (
            f"Left out, invalid: {reasons.total():,} of {plural(len(runs), 'run')}, "
            f"{mostly}{reasons_text(most)}."
        )


@note()
def missing(study: Study) -> Iterator[str]:
    """The runs that are missing, and the lines of the journal that were skipped."""
    for part in filter(None, (study.incomplete, *study.skipped)):
        yield f"{part[0].upper()}{part[1:]}."


@note()
def disturbed(study: Study) -> Iterator[str]:
    """The number of disturbed runs, and of those with latencies that are upper bounds."""
    used = study.runs.loc[study.runs["valid"], "reasons"]
    busy, late = (sum(reason in reasons for reasons in used) for reason in (BUSY, LATE))
    if busy:
        yield f"Used although other load disturbed them: {plural(busy, 'run')}."
    if late:
        yield f"Latencies are upper bounds (load generator late): {plural(late, 'run')}."


@note("Shared cores: N workers gain at most {}.")
def shared_cores(study: Study) -> Iterator[str]:
    """The most that N workers can gain where they share the cores with the load generator."""
    runs = study.runs[study.runs["valid"] & ~study.runs["twin"] & study.runs["shared_cores"]]
    cell = ["workload", "parameters", "loop", "arm", "model", "workers"]
    bounds = runs.groupby(cell, observed=True)["gain_bound"].median().groupby("workers").max()
    for n, bound in bounds.items():
        if int(str(n)) > 1:
            yield f"{number(bound)}× at N = {n}"


@note("Noise of equal cells (A/A pairs): {}.")
def noise(study: Study) -> Iterator[str]:
    """The differences of equal cells: in throughput, or in P99 at a rate."""
    ratios = study.ratios
    pairs = ratios[
        (ratios["question"] == EQUAL_CELLS)
        & (ratios["measure"] == np.where(ratios["rate"] > 0, P99, THROUGHPUT))
        & ~ratios["control"]
        & (ratios["n"] >= FEWEST_FOR_INTERVAL)
        & (ratios["low"] > 0)
    ]
    for (workload, measure), part in pairs.groupby(["workload", "measure"], sort=False):
        about = f"{workload}{', P99' if measure == P99 else ''}"
        yield f"{spread(np.maximum(part['high'], 1 / part['low']) - 1)} ({about})"


@note()
def without_pairs(study: Study) -> Iterator[str]:
    """A warning of a study without A/A pairs."""
    if not study.cells["twin"].any():
        yield "No A/A pairs were run, so nothing checks the words."


@note("Work is divided unevenly: {}.")
def uneven(study: Study) -> Iterable[str]:
    """The cells whose work in flight does not divide evenly among the workers."""
    entries = study.line.study.get("workloads", ())
    counts = {each["name"]: each.get("workers") or () for each in entries}
    parts: dict[str, None] = {}
    for cell in study.cells["cell"]:
        facts = study.line.workloads.get(cell.workload)
        if facts is not None:
            total = in_flight(facts, cell, max(counts.get(cell.workload, ()), default=0))
            if shares := uneven_shares(facts, cell, total):
                parts[f"{shares} each at N = {cell.workers} ({cell.workload})"] = None
    return parts


@note("Ratios that include a difference of allocator states: {}.")
def allocator_states(study: Study) -> list[str]:
    """The ratios of two cells whose runs were in different allocator states."""
    cells, ratios = study.cells, study.ratios
    states = cells["allocator_state"]
    pairs = ratios[ratios["question"] != EQUAL_CELLS][["of", "over"]].drop_duplicates()
    own, other = (states.loc[pairs[end]].to_numpy() for end in ("of", "over"))
    pairs = pairs[pd.notna(own) & pd.notna(other) & (own != other)]
    named = {
        at: f"{SEPARATOR.join(parts_of(cells.loc[at].to_dict(), CELL))} ({states[at]})"
        for at in {*pairs["of"], *pairs["over"]}
    }
    ends = zip(pairs["of"], pairs["over"], strict=True)
    names = [f"{named[of]} over {named[over]}" for of, over in ends]
    if len(names) > MOST_NAMED:
        names[MOST_NAMED:] = [f"{len(names) - MOST_NAMED} more"]
    return names


# ------------------------------------------------------------------------------------- how measured


@note(brief=False)
def turns(study: Study) -> Iterator[str]:
    """The questions whose cells were measured in turn, and reasons for the others."""
    ratios = study.ratios[study.ratios["question"] != EQUAL_CELLS]
    reasons = dict(iter(ratios.groupby("why_not_in_turn", sort=False)["question"]))
    if reasons.keys() <= {NO_TURNS, OTHER_N}:
        return
    in_turn = reasons.pop("", pd.Series(dtype=object))
    parts = [f"Measured in turn: {listed(in_turn.unique()) if len(in_turn) else 'nothing'}"]
    parts += [f"not: {listed(asked.unique())} ({why})" for why, asked in reasons.items()]
    yield f"{'; '.join(parts)}."


@note("The builds differ in more than is compared: {}.", brief=False)
def builds(study: Study) -> Iterator[str]:
    """The unwanted differences of the builds."""
    for fact, values in build_differences(study.line).items():
        yield f"{fact}: {values}"


@note(brief=False)
def layout(study: Study) -> Iterator[str]:
    """A warning of small differences of two builds, which the layout of code may cause."""
    rows = study.ratios[study.ratios["measure"].isin([THROUGHPUT, CPU])]
    close = rows[rows["ratio"].between(1 / (1 + LAYOUT), 1 + LAYOUT)]
    of, over = (close[name].astype(str).map(build_of) for name in ("arm", "over_arm"))
    if (of != over).any():
        yield (
            f"A ratio of two builds within {percent(LAYOUT)} of 1 holds for these binaries only: "
            "the layout of their code alone may make as much difference."
        )


@note(
    "The study drifted: runs became {}. Ratios are paired inside blocks and not affected; absolute "
    "figures vary more.",
    brief=False,
)
def drift(study: Study) -> Iterator[str]:
    """The drift of the machine's speed during the study."""
    found = drift_of(study.runs)
    for period, row in found[found["word"].isin(["faster", "slower"])].iterrows():
        low, high = sorted((abs(row["low"]), abs(row["high"])))
        bounds = f"{number(100 * low)}–{number(100 * high)} %"
        yield f"{number(100 * abs(row['point']))} % {row['word']} ({bounds}) from {period}"


@note("Fewer than 10 collections in a window: {}.", brief=False)
def collections(study: Study) -> list[str]:
    """The cells in which the collector ran too rarely to show its cost."""
    cells = study.cells[~study.cells["twin"] & ~study.cells["rated"]]
    if not any(cell.parameters.get(name) for cell in cells["cell"] for name in GARBAGE):
        return []
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
    return sorted(names)


@note(brief=False)
def outliers(study: Study) -> Iterator[str]:
    """The number of runs that are outliers of their cells."""
    if count := int((study.runs["outlier"] & study.runs["valid"]).sum()):
        are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
        yield f"{plural(count, 'run')} {are}: labelled, and kept in every figure."


@note(brief=False)
def again(study: Study) -> Iterator[str]:
    """The number of runs that are second attempts."""
    if count := int(study.cells["again"].sum()):
        yield f"{plural(count, 'run')} made again: invalid or disturbed at first."


@note(brief=False)
def refused(study: Study) -> Iterator[str]:
    """The number of combinations that cannot be run."""
    if count := len(study.line.refused):
        yield f"{plural(count, 'combination')} cannot be run: see the page."


@note(brief=False)
def switches(study: Study) -> Iterable[str]:
    """The meaning of the arms' switches."""
    return switched(map(str, study.cells["arm"].unique()))


def machine_text(machine: Machine) -> str:
    """`Example CPU, 2 cores, 4 CPUs, 2 NUMA nodes, virtual machine (kvm), Linux 6.1`."""
    cores, cpus = machine.physical_cores, machine.usable_cpus
    nodes, slower = machine.numa_nodes or 1, machine.efficiency_cpus or 0
    not_all_ours = machine.logical_cpus and watched_cpus(machine) is None
    virtual = machine.virtualised
    parts = [
        machine.cpu_model or "",
        plural(cores, "core") if cores else "",
        plural(cpus, "usable CPU") if cpus and cpus != cores else "",
        f"CPU quota {machine.cpu_quota:g}" if machine.cpu_quota else "",
        "other programs' use of them unknown" if not_all_ours else "",
        plural(nodes, "NUMA node") if nodes > 1 else "",
        plural(slower, "efficiency CPU") if slower else "",
        f"virtual machine ({virtual})" if virtual not in (None, "unknown") else "",
        "virtual machine" if virtual == "unknown" else "",
        machine.kernel or "",
    ]
    return f"{', '.join(part for part in parts if part)}."
