"""Notes beside a study's figures, in order of weight.

A note is a function of the study that returns a sentence, or an empty text where there is nothing
to say. To add one, write it and put it into `NOTES`, which says whether a terminal has it, too.
"""

from collections import Counter

import numpy as np
import pandas as pd

from scaling.analysis.builds import build_differences
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
from scaling.report.view.declare import MEASURES, SEPARATOR, Remark, parts_of
from scaling.study.plan.refusals import in_flight, uneven_shares
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, P99, THROUGHPUT
from scaling.study.settle import caveats

BUSY = "machine-busy"  # the reason of runs that other load disturbed
CELL = ("name", "loop", "arm", "model", "workers")
MOST_NAMED = 3  # pairs of cells in a note
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
    "one-process": "one process served nearly all",
}


def reasons_text(words: tuple[str, ...]) -> str:
    """`requests failed, timed out` of `load-errors` and `timed-out`."""
    return ", ".join(REASONS.get(word) or word.replace("-", " ") for word in words)


# ------------------------------------------------------------------------------------------- trust


def warnings(study: Study) -> str:
    """A warning of a study that is simulated or scaled down."""
    return " ".join(caveats(study.line))


def controls(study: Study) -> str:
    """The outcome of the controls."""
    if study.soundness.status == "sound":
        return "Controls hold."
    text = study.soundness.text
    return f"{text.rstrip('.')}." if text else ""


def controls_that_help(study: Study) -> str:
    """Settings that must not help and do: what else is faster here is in doubt, too."""
    ratios = study.ratios[
        (study.ratios["question"] == "setting") & (study.ratios["measure"] == THROUGHPUT)
    ]
    better = ratios[ratios["word"].map(side_of).astype(int) > 0]
    # The question leaves out the last setting.
    added = {arm: str(arm).rpartition("+")[2] for arm in better["arm"].unique()}
    arms = [arm for arm, name in added.items() if name in SETTINGS and SETTINGS[name].control]
    if not arms:
        return ""
    return f"In doubt: {listed(arms)} is a control, which must not help, and is faster than none."


def withheld(study: Study) -> str:
    """The measures and workloads without words, because equal cells differ in them."""
    rows = study.ratios[study.ratios["why"] == EQUAL_DIFFER]
    parts = [
        f"{MEASURES.get(str(measure), str(measure))} ({listed(dict.fromkeys(part['name']))})"
        for measure, part in rows.groupby("measure", sort=False)
    ]
    return f"No words on {listed(parts)}: equal cells differ." if parts else ""


def left_out(study: Study) -> str:
    """The number of runs that were left out, and the most frequent reason."""
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


def missing(study: Study) -> str:
    """The runs that are missing, and the lines of the journal that were skipped."""
    parts = [study.incomplete, *study.skipped]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def disturbed(study: Study) -> str:
    """The number of disturbed runs, and of those with latencies that are upper bounds."""
    used = study.runs.loc[study.runs["valid"], "reasons"]
    busy, late = (sum(reason in reasons for reasons in used) for reason in (BUSY, LATE))
    parts = [f"Disturbed by other load, used: {plural(busy, 'run')}."] if busy else []
    if late:
        late_runs = plural(late, "run")
        parts.append(f"Latencies are upper bounds (load generator late): {late_runs}.")
    return " ".join(parts)


def shared_cores(study: Study) -> str:
    """The most that N workers can gain where they share the cores with the load generator."""
    runs = study.runs[study.runs["valid"] & ~study.runs["twin"] & study.runs["shared_cores"]]
    cell = ["workload", "parameters", "loop", "arm", "model", "workers"]
    bounds = runs.groupby(cell, observed=True)["gain_bound"].median().groupby("workers").max()
    parts = [f"{number(bound)}× at N = {n}" for n, bound in bounds.items() if int(str(n)) > 1]
    return f"Shared cores: N workers gain at most {listed(parts)}." if parts else ""


def uneven(study: Study) -> str:
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
    return f"Not the same for all workers: {listed(parts)}." if parts else ""


def noise(study: Study) -> str:
    """The differences of equal cells: in throughput, or in P99 at a rate."""
    ratios = study.ratios
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
    """A warning of a study without A/A pairs."""
    has_pairs = study.cells["twin"].any()
    return "" if has_pairs else "No A/A pairs were run, so nothing checks the words."


# ------------------------------------------------------------------------------------- how measured


def turns(study: Study) -> str:
    """The questions whose cells were measured in turn, and reasons for the others."""
    ratios = study.ratios[study.ratios["question"] != EQUAL_CELLS]
    reasons = dict(iter(ratios.groupby("why_not_in_turn", sort=False)["question"]))
    if reasons.keys() <= {NO_TURNS, OTHER_N}:
        return ""
    in_turn = reasons.pop("", pd.Series(dtype=object))
    parts = [f"Measured in turn: {listed(in_turn.unique()) if len(in_turn) else 'nothing'}"]
    parts += [f"not: {listed(asked.unique())} ({why})" for why, asked in reasons.items()]
    return f"{'; '.join(parts)}."


def layout(study: Study) -> str:
    """A warning of small differences of two builds, which the layout of code may cause."""
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


def builds(study: Study) -> str:
    """The facts in which the builds of the arms differ and should not."""
    differences = build_differences(study.line).items()
    found = [f"{fact}: {values}" for fact, values in differences]
    return f"The builds differ in more than is compared: {listed(found)}." if found else ""


def refused(study: Study) -> str:
    """The number of combinations that cannot be run."""
    count = len(study.line.refused)
    return f"{plural(count, 'combination')} cannot be run: see the page." if count else ""


def switches(study: Study) -> str:
    """The meaning of the arms' switches."""
    return " ".join(switched(map(str, study.cells["arm"].unique())))


def drift(study: Study) -> str:
    """The drift of the machine's speed during the study."""
    from scaling.analysis.statistics.drift import drift as drift_of

    found = drift_of(study.runs)
    changes = []
    for period, row in found[found["word"].isin(["faster", "slower"])].iterrows():
        low, high = sorted((abs(row["low"]), abs(row["high"])))
        bounds = f"{number(100 * low)}–{number(100 * high)} %"
        amount = number(100 * abs(row["point"]))
        changes.append(f"{amount} % {row['word']} ({bounds}) from {period}")
    if not changes:
        return ""
    return (
        f"The study drifted: runs became {', and '.join(changes)}. Ratios are paired inside "
        "blocks and not affected; absolute figures vary more."
    )


def outliers(study: Study) -> str:
    """The number of runs that are outliers of their cells."""
    count = int((study.runs["outlier"] & study.runs["valid"]).sum())
    if not count:
        return ""
    are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
    return f"{plural(count, 'run')} {are}: labelled, and kept in every figure."


def again(study: Study) -> str:
    """The number of runs that are second attempts."""
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
    return f"Ratios across allocator states, which they include: {listed(names)}." if names else ""


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


NOTES = (
    Remark(warnings),
    Remark(controls),
    Remark(controls_that_help),
    Remark(withheld),
    Remark(left_out),
    Remark(missing),
    Remark(disturbed),
    Remark(shared_cores),
    Remark(noise),
    Remark(without_pairs),
    Remark(uneven),
    Remark(allocator_states),
    Remark(turns, brief=False),
    Remark(builds, brief=False),
    Remark(layout, brief=False),
    Remark(drift, brief=False),
    Remark(collections, brief=False),
    Remark(outliers, brief=False),
    Remark(again, brief=False),
    Remark(refused, brief=False),
    Remark(switches, brief=False),
)
